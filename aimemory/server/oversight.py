"""`/api/v1` for looking at what the memory does: what capture would keep, who changed what."""

import dataclasses

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from aimemory.api.audit import Audit
from aimemory.api.capture import CaptureFace
from aimemory.errors import UserError
from aimemory.privacy import sanitize_tree
from aimemory.server.answer import JsonAnswer
from aimemory.server.request import json_body, query_of, whole_number


class OversightApi:
    """The routes."""

    def __init__(self, capture: CaptureFace, audit: Audit) -> None:
        self._capture = capture
        self._audit = audit

    def routes(self) -> list[Route]:
        return [
            Route("/api/v1/capture/explain", self.explain, methods=["POST"]),
            Route("/api/v1/audit", self.listed),
        ]

    async def listed(self, request: Request) -> Response:
        q = query_of(request)
        found = await self._audit.listed(
            since=q.get("since"), until=q.get("until"), actor=q.get("actor"), session=q.get("session"),
            project=q.get("project"), kind=q.get("kind"), limit=whole_number(q.get("limit"), "limit", 50),
            cursor=q.get("cursor"),
        )  # fmt: skip
        return JsonAnswer(dataclasses.asdict(found))

    async def explain(self, request: Request) -> Response:
        """What is asked goes through the privacy boundary first, as an event does; so does the answer."""
        given = await json_body(
            request, {"cwd": str, "paths": list, "command": str, "tool": str, "input": object, "output": str}
        )
        if not given.get("cwd"):
            raise UserError("Give a directory.")
        clean = sanitize_tree(given).value
        found = await self._capture.explain(
            cwd=clean["cwd"], paths=[path for path in clean.get("paths", ()) if isinstance(path, str)],
            command=clean.get("command"), tool=clean.get("tool"), arguments=clean.get("input"),
            output=clean.get("output"),
        )  # fmt: skip
        return JsonAnswer(sanitize_tree(dataclasses.asdict(found)).value)
