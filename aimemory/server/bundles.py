"""`/api/v1`: projects as bundles of the Open Knowledge Format. Files travel as text: no route reads or writes paths."""

import dataclasses

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from aimemory.api.bundles import Bundles
from aimemory.errors import UserError
from aimemory.server.answer import JsonAnswer
from aimemory.server.request import CALLER, caller_of, json_body


class BundlesApi:
    """The routes."""

    def __init__(self, bundles: Bundles) -> None:
        self._bundles = bundles

    def routes(self) -> list[Route]:
        return [
            Route("/api/v1/export", self.export, methods=["POST"]),
            Route("/api/v1/import", self.take_in, methods=["POST"]),
        ]

    async def export(self, request: Request) -> Response:
        given = await json_body(request, {"project": str, "all": bool})
        found = await self._bundles.export(project=given.get("project", ""), everything=given.get("all", False))
        return JsonAnswer(dataclasses.asdict(found))

    async def take_in(self, request: Request) -> Response:
        given = await json_body(
            request, {"project": str, "bundle": str, "paths": list, "texts": dict, "apply": bool, **CALLER}
        )
        texts = given.get("texts", {})
        if not all(isinstance(text, str) for text in (*texts.values(), *given.get("paths", []))):
            raise UserError("paths and texts hold texts.")
        found = await self._bundles.take_in(
            project=given.get("project", ""), bundle=given.get("bundle", ""), paths=given.get("paths", []), texts=texts,
            caller=caller_of(request, given), apply=given.get("apply", False),
        )  # fmt: skip
        return JsonAnswer(dataclasses.asdict(found))
