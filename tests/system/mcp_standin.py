"""A daemon with nothing but `/mcp`, over pages kept in memory: `python mcp_standin.py SOCKET`.

Listens on the Unix socket and a free loopback port, prints that port as one line when it answers, and ends on SIGTERM.
Pages live as long as the process.
"""

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route

from aimemory.errors import NotFound
from aimemory.model.answers import Caller, Found, PageView, Recent, RecentItem, Written
from aimemory.model.ids import page_version
from aimemory.model.page import Hit, SearchAnswer
from aimemory.server.mcp import McpEndpoint


class InMemory:
    """The operations over a dict; the project is the last part of the caller's directory."""

    def __init__(self) -> None:
        self._pages: dict[str, str] = {}

    async def search(self, *, query: str, caller: Caller, limit: int, **rest: Any) -> Found:
        hits = tuple(
            Hit("note", title, title, body[:200], 1.0, "all words", None, None)
            for title, body in self._pages.items()
            if query in body
        )
        return Found(SearchAnswer(query, hits[:limit], len(hits)), *_project(caller))

    @property
    def reading(self) -> "InMemory":
        return self

    async def page(self, *, page: str, caller: Caller, offset: int, max_chars: int, **rest: Any) -> PageView:
        if page not in self._pages:
            raise NotFound("There is no such page.")
        body = self._pages[page]
        text = body[offset : offset + max_chars]
        end = offset + len(text)
        more = end if end < len(body) else None
        version = page_version(body.encode())
        return PageView(page, "id", page, "note", text, version, *_project(caller), len(body), more)

    async def write_page(self, *, title: str, body: str, caller: Caller, **rest: Any) -> Written:
        created = title not in self._pages
        self._pages[title] = body
        return Written(title, "id", page_version(body.encode()), *_project(caller), created)

    async def recent(self, *, caller: Caller, project: str | None, limit: int, kind: str | None) -> Recent:
        items = [RecentItem("note", title, title, "2026-11-30T14:12:00+01:00") for title in self._pages]
        return Recent(tuple(items[:limit]), *_project(caller))

    async def status(self) -> Mapping[str, Any]:
        return {"pages": len(self._pages), "characters": sum(map(len, self._pages.values()))}


def _project(caller: Caller) -> tuple[str | None, str]:
    if caller.cwd is None:
        return None, "no directory was sent"
    return Path(caller.cwd).name, f"from the working directory of {caller.harness}, session {caller.session}"


async def serve(path: str) -> None:
    endpoint = McpEndpoint(InMemory(), "0.0.1")

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with endpoint.running():
            yield

    app = Starlette(routes=[Route("/mcp", endpoint=endpoint)], lifespan=lifespan)
    Path(path).unlink(missing_ok=True)
    unix, tcp = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_INET)
    unix.bind(path)
    tcp.bind(("127.0.0.1", 0))
    for listener in (unix, tcp):
        listener.listen(128)
    print(tcp.getsockname()[1], flush=True)  # connections wait in the backlog until uvicorn takes them
    await uvicorn.Server(uvicorn.Config(app, log_level="critical")).serve(sockets=[unix, tcp])


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
