"""`/api/v1/conflicts`: conflict copies as JSON over HTTP."""

import dataclasses

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from aimemory.api.conflicts import ConflictCopies
from aimemory.server.answer import JsonAnswer
from aimemory.server.request import json_body, query_of


class ConflictsApi:
    """The routes."""

    def __init__(self, conflicts: ConflictCopies) -> None:
        self._conflicts = conflicts

    def routes(self) -> list[Route]:
        return [
            Route("/api/v1/conflicts", self.conflicts),
            Route("/api/v1/conflicts/drop", self.drop, methods=["POST"]),
        ]

    async def conflicts(self, request: Request) -> Response:
        """All, or with `conflict=ID` one with its text and diff; `settled=1` also those that were written anew."""
        q = query_of(request)
        if name := q.get("conflict"):
            return JsonAnswer(dataclasses.asdict(await self._conflicts.get(name)))
        found = self._conflicts.listed(with_settled=q.get("settled") == "1")
        return JsonAnswer({"conflicts": [dataclasses.asdict(copy) for copy in found]})

    async def drop(self, request: Request) -> Response:
        """Body: `conflicts`, a list of ids (none: all), and `apply`."""
        given = await json_body(request, {"conflicts": list, "apply": bool})
        names = [str(name) for name in given.get("conflicts", ())]
        found = await self._conflicts.drop(names, apply=given.get("apply", False))
        return JsonAnswer(
            {"conflicts": [dataclasses.asdict(copy) for copy in found], "applied": given.get("apply", False)}
        )
