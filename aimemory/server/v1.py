"""`/api/v1`: the operations of `api.Memory` as JSON over HTTP."""

import dataclasses
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from aimemory.api import Memory
from aimemory.errors import UserError
from aimemory.model.answers import Caller
from aimemory.server.hook import read_body
from aimemory.server.listen import peer_of

Reindex = Callable[[], AsyncIterator[dict[str, Any]]]
"""Rebuilds the index and yields its progress."""


class Api:
    """The routes. stop: asks the daemon to stop."""

    def __init__(self, memory: Memory, reindex: Reindex, stop: Callable[[], None]) -> None:
        self._memory = memory
        self._reindex = reindex
        self._stop = stop

    def routes(self) -> list[Route]:
        return [
            Route("/api/v1/status", self.status),
            Route("/api/v1/search", self.search, methods=["POST"]),
            Route("/api/v1/recent", self.recent),
            Route("/api/v1/page", self.read, methods=["GET"]),
            Route("/api/v1/page", self.write, methods=["POST"]),
            Route("/api/v1/brief", self.brief),
            Route("/api/v1/where", self.where),
            Route("/api/v1/projects", self.projects),
            Route("/api/v1/projects/alias", self.alias, methods=["POST"]),
            Route("/api/v1/reindex", self.reindex, methods=["POST"]),
            Route("/api/v1/stop", self.stop, methods=["POST"]),
        ]

    async def status(self, request: Request) -> Response:
        return JSONResponse(await self._memory.status())

    async def search(self, request: Request) -> Response:
        given = await _body(request, {
            "query": str, "project": str, "cwd": str, "kind": str, "limit": int, "cursor": str, "harness": str,
            "session": str, "since": str, "until": str, "observations": bool, "after": int,
        })  # fmt: skip
        found = await self._memory.search(
            query=given.get("query", ""), caller=Caller(cwd=given.get("cwd")), project=given.get("project"),
            kind=given.get("kind"), limit=given.get("limit", 10), cursor=given.get("cursor"),
            harness=given.get("harness"), session=given.get("session"), since=given.get("since"),
            until=given.get("until"), include_observations=given.get("observations", True), after=given.get("after", 0),
        )  # fmt: skip
        return JSONResponse(dataclasses.asdict(found))

    async def recent(self, request: Request) -> Response:
        q = request.query_params
        found = await self._memory.recent(
            caller=Caller(cwd=q.get("cwd")), project=q.get("project"), kind=q.get("kind"),
            limit=_number(q.get("limit"), "limit", 20), after=_number(q.get("after"), "after", 0),
        )  # fmt: skip
        return JSONResponse(dataclasses.asdict(found))

    async def read(self, request: Request) -> Response:
        q = request.query_params
        found = await self._memory.read_page(
            page=q.get("page", ""), caller=Caller(cwd=q.get("cwd")), project=q.get("project"),
            offset=_number(q.get("offset"), "offset", 0), max_chars=_number(q.get("max_chars"), "max_chars", 1 << 30),
        )  # fmt: skip
        return JSONResponse(dataclasses.asdict(found))

    async def write(self, request: Request) -> Response:
        given = await _body(request, {
            "title": str, "body": str, "kind": str, "project": str, "cwd": str, "path": str, "version": str,
            "tags": list,
        })  # fmt: skip
        written = await self._memory.write_page(
            title=given.get("title", ""), body=given.get("body", ""), kind=given.get("kind", "note"),
            caller=Caller(cwd=given.get("cwd"), peer=peer_of(request.scope)), project=given.get("project"),
            path=given.get("path"),
            version=given.get("version"), tags=tuple(str(tag) for tag in given.get("tags", ())),
        )  # fmt: skip
        return JSONResponse(dataclasses.asdict(written), status_code=201 if written.created else 200)

    async def brief(self, request: Request) -> Response:
        q = request.query_params
        return JSONResponse(
            await self._memory.brief(
                cwd=q.get("cwd"), project=q.get("project"), after=_number(q.get("after"), "after", 0)
            )
        )

    async def where(self, request: Request) -> Response:
        return JSONResponse(
            await self._memory.where(request.query_params.get("cwd"), request.query_params.get("project"))
        )

    async def projects(self, request: Request) -> Response:
        return JSONResponse({"projects": await self._memory.project_list()})

    async def alias(self, request: Request) -> Response:
        given = await _body(request, {"project": str, "alias": str})
        if not given.get("project") or not given.get("alias"):
            raise UserError("Give a project and an alias.")
        return JSONResponse(await self._memory.project_alias(given["project"], given["alias"]))

    async def reindex(self, request: Request) -> Response:
        async def lines() -> AsyncIterator[bytes]:
            async for step in self._reindex():
                yield json.dumps(step).encode() + b"\n"

        return StreamingResponse(lines(), media_type="application/x-ndjson")

    async def stop(self, request: Request) -> Response:
        self._stop()
        return JSONResponse({"stopping": True})


async def _body(request: Request, fields: dict[str, type]) -> dict[str, Any]:
    """The JSON object of a request. Raises UserError that lists every problem; null counts as absent."""
    raw = await read_body(request.receive)
    try:
        given = json.loads(raw or b"{}")
    except (ValueError, RecursionError):
        raise UserError("The body is not JSON.") from None
    if not isinstance(given, dict):
        raise UserError("The body must be a JSON object.")
    problems = [f"{name} is not a known field" for name in given if name not in fields]
    kept = {name: value for name, value in given.items() if value is not None and name in fields}
    problems += [
        f"{name} must be {fields[name].__name__}"
        for name, value in kept.items()
        if not isinstance(value, fields[name]) or (fields[name] is int and isinstance(value, bool))
    ]
    if problems:
        raise UserError("; ".join(problems) + f". Known fields: {', '.join(fields)}.")
    return kept


def _number(text: str | None, name: str, default: int) -> int:
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise UserError(f"{name} must be a whole number.")
    return int(text)
