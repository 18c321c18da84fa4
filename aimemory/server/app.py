"""The HTTP application: which path goes where."""

from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from aimemory.errors import AimemoryError
from aimemory.server.faults import on_bug, on_http, on_known
from aimemory.server.hook import HookRoute
from aimemory.server.v1 import Api


class App:
    """`/hook` and `/mcp` bypass the router: the first runs twice per tool call, the second loads late."""

    def __init__(self, *, hook: HookRoute, api: Api, mcp: ASGIApp, version: str) -> None:
        self._hook = hook
        self._mcp = mcp

        async def healthz(request: Request) -> Response:
            return JSONResponse({"service": "aimemory", "version": version})

        handlers: Any = {AimemoryError: on_known, HTTPException: on_http, Exception: on_bug}
        self._rest = Starlette(routes=[Route("/healthz", healthz), *api.routes()], exception_handlers=handlers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == "/hook":
            await self._hook(scope, receive, send)
        elif scope["type"] == "http" and scope["path"].rstrip("/") == "/mcp":
            await self._mcp(scope, receive, send)
        else:
            await self._rest(scope, receive, send)
