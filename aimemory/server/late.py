"""The MCP endpoint, imported late: its library costs half a second, and hooks must not wait for it."""

import asyncio
import importlib

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from aimemory.api import Memory
from aimemory.model.protocols import Pulse

_AFTER_START_S = 2.0
_FIRST_CALL_LIMIT_S = 20.0


class LateMcp:
    """An ASGI app that loads the real one at its first request, or a little after the start."""

    def __init__(self, memory: Memory, version: str) -> None:
        self._memory = memory
        self._version = version
        self._wanted = asyncio.Event()
        self._ready = asyncio.Event()
        self._endpoint: ASGIApp | None = None

    async def run(self, pulse: Pulse) -> None:
        """Serve until cancelled. The endpoint's own task group is entered and left here, in one task."""
        pulse.beat()
        try:
            async with asyncio.timeout(_AFTER_START_S):
                await self._wanted.wait()
        except TimeoutError:
            pass
        module = await asyncio.to_thread(importlib.import_module, "aimemory.server.mcp")
        endpoint = module.McpEndpoint(self._memory, self._version)
        async with endpoint.running():
            self._endpoint = endpoint
            self._ready.set()
            pulse.beat(last="loaded")
            pulse.over()
            try:
                await asyncio.Event().wait()
            finally:
                self._endpoint = None
                self._ready.clear()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._wanted.set()
        if self._endpoint is None:
            try:
                async with asyncio.timeout(_FIRST_CALL_LIMIT_S):
                    await self._ready.wait()
            except TimeoutError:
                pass
        if self._endpoint is None:
            error = {"code": -32603, "message": "The daemon is starting or stopping. Try again."}
            answer = JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status_code=503)
            await answer(scope, receive, send)
            return
        await self._endpoint(scope, receive, send)
