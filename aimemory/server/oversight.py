"""`/api/v1` for looking at what the memory does: what capture would keep, who changed what."""

import dataclasses

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from aimemory.api.capture import CaptureFace
from aimemory.errors import UserError
from aimemory.privacy import sanitize_tree
from aimemory.server.request import json_body


class OversightApi:
    """The routes."""

    def __init__(self, capture: CaptureFace) -> None:
        self._capture = capture

    def routes(self) -> list[Route]:
        return [Route("/api/v1/capture/explain", self.explain, methods=["POST"])]

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
        return JSONResponse(sanitize_tree(dataclasses.asdict(found)).value)
