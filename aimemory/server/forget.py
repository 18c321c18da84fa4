"""`/api/v1/forget`, `/api/v1/rescan`, `/api/v1/retention`: what takes out for good. Not over MCP: a person decides."""

import dataclasses

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from aimemory.api.forget import Forget
from aimemory.errors import UserError
from aimemory.server.answer import JsonAnswer
from aimemory.server.request import CALLER, caller_of, json_body


class ForgetApi:
    """The routes. Without `apply` each only tells what it would do."""

    def __init__(self, forget: Forget) -> None:
        self._forget = forget

    def routes(self) -> list[Route]:
        return [
            Route("/api/v1/forget", self.forget, methods=["POST"]),
            Route("/api/v1/rescan", self.rescan, methods=["POST"]),
            Route("/api/v1/retention", self.retention, methods=["POST"]),
            Route("/api/v1/rescan/accept", self.accept, methods=["POST"]),
        ]

    async def forget(self, request: Request) -> Response:
        """Body: `what` (page, session, project, text) and `name`: which one, or the text."""
        given = await json_body(request, {
            "what": str, "name": str, "project": str, "apply": bool, "history": bool, "backups": bool, "pages": bool,
            **CALLER,
        })  # fmt: skip
        if not given.get("what") or not given.get("name", "").strip():
            raise UserError("Say what to forget (page, session, project or text), and which.")
        found = await self._forget.forget(
            what=given["what"], name=given["name"], caller=caller_of(request, given), project=given.get("project"),
            apply=given.get("apply", False), history=given.get("history", False),
            backups=given.get("backups", False), pages=given.get("pages", False),
        )  # fmt: skip
        return JsonAnswer(dataclasses.asdict(found))

    async def rescan(self, request: Request) -> Response:
        given = await json_body(request, {"apply": bool, "history": bool, **CALLER})
        found = await self._forget.rescan(
            caller=caller_of(request, given), apply=given.get("apply", False), history=given.get("history", False)
        )
        return JsonAnswer(dataclasses.asdict(found))

    async def retention(self, request: Request) -> Response:
        given = await json_body(request, {"apply": bool, **CALLER})
        found = await self._forget.retain(caller=caller_of(request, given), apply=given.get("apply", False))
        return JsonAnswer(dataclasses.asdict(found))

    async def accept(self, request: Request) -> Response:
        given = await json_body(request, {"page": str, "project": str, **CALLER})
        if not given.get("page", "").strip():
            raise UserError("Name a page.")
        found = await self._forget.accept(
            page=given["page"], caller=caller_of(request, given), project=given.get("project")
        )
        return JsonAnswer(dataclasses.asdict(found))
