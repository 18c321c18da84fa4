"""`/api/v1`: the operations of `api.Memory` as JSON over HTTP."""

import dataclasses
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from aimemory.api import Memory
from aimemory.errors import NotFound, UserError
from aimemory.model.answers import Caller
from aimemory.server.answer import JsonAnswer
from aimemory.server.bundles import BundlesApi
from aimemory.server.conflicts import ConflictsApi
from aimemory.server.forget import ForgetApi
from aimemory.server.listen import peer_of
from aimemory.server.oversight import OversightApi
from aimemory.server.reading import ReadingApi
from aimemory.server.repair import RepairApi
from aimemory.server.request import CALLER, caller_of, json_body, query_of, whole_number

Reindex = Callable[[], AsyncIterator[dict[str, Any]]]
"""Rebuilds the index and yields its progress."""

Mend = Callable[[], Awaitable[dict[str, Any]]]
"""Puts a sound repository in the place of a broken one, and says what became of it."""


class Api:
    """The routes. stop: asks the daemon to stop."""

    def __init__(self, memory: Memory, reindex: Reindex, mend: Mend, stop: Callable[[], None]) -> None:
        self._memory = memory
        self._reindex = reindex
        self._mend = mend
        self._stop = stop

    def routes(self) -> list[Route]:
        return [
            Route("/api/v1/status", self.status),
            Route("/api/v1/doctor", self.doctor),
            Route("/api/v1/search", self.search, methods=["POST"]),
            Route("/api/v1/recent", self.recent),
            *ReadingApi(self._memory.reading, self._memory.feedback, self._memory.related).routes(),
            Route("/api/v1/page", self.write, methods=["POST"]),
            Route("/api/v1/page/links", self.page_links),
            Route("/api/v1/links", self.link_faults),
            *ConflictsApi(self._memory.conflicts).routes(),
            *RepairApi(self._memory.repair, self._memory.undoing, self._memory.refile).routes(),
            *OversightApi(self._memory.capture, self._memory.audit).routes(),
            *ForgetApi(self._memory.forget).routes(),
            *BundlesApi(self._memory.bundles).routes(),
            Route("/api/v1/brief", self.brief),
            Route("/api/v1/where", self.where),
            Route("/api/v1/projects", self.projects),
            Route("/api/v1/projects/alias", self.alias, methods=["POST"]),
            Route("/api/v1/sessions", self.sessions),
            Route("/api/v1/trail", self.trail),
            Route("/api/v1/why", self.why),
            Route("/api/v1/handoffs", self.handoffs),
            Route("/api/v1/handoffs/begin", self.begin, methods=["POST"]),
            Route("/api/v1/handoffs/{action}", self.change, methods=["POST"]),
            Route("/api/v1/reindex", self.reindex, methods=["POST"]),
            Route("/api/v1/wiki/mend", self.mend, methods=["POST"]),
            Route("/api/v1/stop", self.stop, methods=["POST"]),
        ]

    async def status(self, request: Request) -> Response:
        return JsonAnswer(await self._memory.status())

    async def doctor(self, request: Request) -> Response:
        found = await self._memory.doctor(caller=Caller(cwd=query_of(request).get("cwd")))
        return JsonAnswer({"findings": found, "ok": all(one["level"] != "failure" for one in found)})

    async def search(self, request: Request) -> Response:
        given = await json_body(request, {
            "query": str, "project": str, "cwd": str, "kind": str, "limit": int, "cursor": str, "harness": str,
            "session": str, "since": str, "until": str, "file": str, "workspace": str, "tag": str, "observations": bool,
            "fold": bool, "after": int,
        })  # fmt: skip
        found = await self._memory.search(
            query=given.get("query", ""), caller=Caller(cwd=given.get("cwd")), project=given.get("project"),
            kind=given.get("kind"), limit=given.get("limit", 10), cursor=given.get("cursor"),
            harness=given.get("harness"), session=given.get("session"), since=given.get("since"),
            until=given.get("until"), file=given.get("file"), workspace=given.get("workspace"),
            tag=given.get("tag"), include_observations=given.get("observations", True),
            fold=given.get("fold", True), after=given.get("after", 0),
        )  # fmt: skip
        return JsonAnswer(dataclasses.asdict(found))

    async def recent(self, request: Request) -> Response:
        q = query_of(request)
        found = await self._memory.recent(
            caller=Caller(cwd=q.get("cwd")), project=q.get("project"), kind=q.get("kind"),
            limit=whole_number(q.get("limit"), "limit", 20), after=whole_number(q.get("after"), "after", 0),
        )  # fmt: skip
        return JsonAnswer(dataclasses.asdict(found))

    async def write(self, request: Request) -> Response:
        given = await json_body(request, {
            "title": str, "body": str, "kind": str, "project": str, "cwd": str, "path": str, "version": str,
            "tags": list,
        })  # fmt: skip
        written = await self._memory.write_page(
            title=given.get("title", ""), body=given.get("body", ""), kind=given.get("kind", "note"),
            caller=Caller(cwd=given.get("cwd"), peer=peer_of(request.scope)), project=given.get("project"),
            path=given.get("path"),
            version=given.get("version"), tags=tuple(str(tag) for tag in given.get("tags", ())),
        )  # fmt: skip
        return JsonAnswer(dataclasses.asdict(written), status_code=201 if written.created else 200)

    async def page_links(self, request: Request) -> Response:
        q = query_of(request)
        found = await self._memory.links.of_page(
            page=q.get("page", ""), caller=Caller(cwd=q.get("cwd")), project=q.get("project")
        )
        return JsonAnswer(dataclasses.asdict(found))

    async def link_faults(self, request: Request) -> Response:
        q = query_of(request)
        found = await self._memory.links.faults(
            caller=Caller(cwd=q.get("cwd")), project=q.get("project"), limit=whole_number(q.get("limit"), "limit", 100)
        )
        return JsonAnswer(dataclasses.asdict(found))

    async def brief(self, request: Request) -> Response:
        q = query_of(request)
        return JsonAnswer(
            await self._memory.brief(
                cwd=q.get("cwd"), project=q.get("project"), after=whole_number(q.get("after"), "after", 0)
            )
        )

    async def where(self, request: Request) -> Response:
        return JsonAnswer(await self._memory.where(query_of(request).get("cwd"), query_of(request).get("project")))

    async def projects(self, request: Request) -> Response:
        return JsonAnswer({"projects": await self._memory.project_list()})

    async def alias(self, request: Request) -> Response:
        given = await json_body(request, {"project": str, "alias": str})
        if not given.get("project") or not given.get("alias"):
            raise UserError("Give a project and an alias.")
        return JsonAnswer(await self._memory.project_alias(given["project"], given["alias"]))

    async def sessions(self, request: Request) -> Response:
        q = query_of(request)
        if name := q.get("session"):
            return JsonAnswer(dataclasses.asdict(await self._memory.history.session_get(name)))
        found, project, how = await self._memory.history.session_list(
            caller=Caller(cwd=q.get("cwd")), project=q.get("project"), limit=whole_number(q.get("limit"), "limit", 20)
        )
        return JsonAnswer(
            {"sessions": [dataclasses.asdict(one) for one in found], "project": project, "project_how": how}
        )

    async def trail(self, request: Request) -> Response:
        q = query_of(request)
        steps, project, how = await self._memory.history.trail(
            caller=Caller(cwd=q.get("cwd")), project=q.get("project"), limit=whole_number(q.get("limit"), "limit", 20)
        )
        return JsonAnswer(
            {"steps": [dataclasses.asdict(step) for step in steps], "project": project, "project_how": how}
        )

    async def why(self, request: Request) -> Response:
        q = query_of(request)
        steps = await self._memory.history.why(
            caller=Caller(cwd=q.get("cwd")), about=q.get("about") or None, project=q.get("project")
        )
        return JsonAnswer({"steps": [dataclasses.asdict(step) for step in steps]})

    async def handoffs(self, request: Request) -> Response:
        q = query_of(request)
        caller = Caller(cwd=q.get("cwd"))
        if name := q.get("handoff"):
            view, steps = await self._memory.handoffs.get(name, caller)
            return JsonAnswer(
                {"handoff": dataclasses.asdict(view), "steps": [dataclasses.asdict(step) for step in steps]}
            )
        found = await self._memory.handoffs.listed(
            caller=caller, project=q.get("project"), state=q.get("state") or None,
            limit=whole_number(q.get("limit"), "limit", 20),
        )  # fmt: skip
        return JsonAnswer(dataclasses.asdict(found))

    async def begin(self, request: Request) -> Response:
        given = await json_body(request, {
            "summary": str, "next_steps": str, "title": str, "to": str, "project": str, **CALLER,
        })  # fmt: skip
        view = await self._memory.handoffs.begin(
            caller=caller_of(request, given), summary=given.get("summary", ""), next_steps=given.get("next_steps", ""),
            title=given.get("title", ""), to=given.get("to"), project=given.get("project"), by_hand=True,
        )  # fmt: skip
        return JsonAnswer(dataclasses.asdict(view), status_code=201)

    async def change(self, request: Request) -> Response:
        """`claim`, `release` or `cancel`."""
        given = await json_body(request, {"handoff": str, "reason": str, **CALLER})
        handoff, caller = given.get("handoff", ""), caller_of(request, given)
        if not handoff.strip():
            raise UserError("Name a handoff.")
        face = self._memory.handoffs
        match request.path_params["action"]:
            case "claim":
                view, text = await face.claim(caller=caller, handoff=handoff)
                return JsonAnswer({"handoff": dataclasses.asdict(view), "text": text})
            case "release":
                view = await face.release(caller=caller, handoff=handoff)
            case "cancel":
                view = await face.cancel(caller=caller, handoff=handoff, reason=given.get("reason", ""))
            case _:
                raise NotFound("A handoff can be begun, claimed, released and cancelled.")
        return JsonAnswer({"handoff": dataclasses.asdict(view)})

    async def reindex(self, request: Request) -> Response:
        async def lines() -> AsyncIterator[bytes]:
            async for step in self._reindex():
                yield json.dumps(step).encode() + b"\n"

        return StreamingResponse(lines(), media_type="application/x-ndjson")

    async def mend(self, request: Request) -> Response:
        return JsonAnswer(await self._mend())

    async def stop(self, request: Request) -> Response:
        self._stop()
        return JsonAnswer({"stopping": True})
