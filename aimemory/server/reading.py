"""`/api/v1`: reading pages as JSON over HTTP."""

import dataclasses

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from aimemory.api.feedback import Feedback
from aimemory.api.reading import EVERYTHING, Reading
from aimemory.api.related import Related
from aimemory.model.answers import Caller
from aimemory.server.answer import JsonAnswer
from aimemory.server.request import CALLER, caller_of, json_body, query_of, whole_number


class ReadingApi:
    """The routes."""

    def __init__(self, reading: Reading, feedback: Feedback, related: Related) -> None:
        self._reading = reading
        self._related = related
        self._feedback = feedback

    def routes(self) -> list[Route]:
        return [
            Route("/api/v1/page", self.page, methods=["GET"]),
            Route("/api/v1/page/feedback", self.give, methods=["POST"]),
            Route("/api/v1/page/related", self.related),
            Route("/api/v1/event", self.event),
        ]

    async def page(self, request: Request) -> Response:
        """Query: `page`, and of it `section`, `outline=1`, `as_of`, `diff`, `offset`, `max_chars`."""
        q = query_of(request)
        found = await self._reading.page(
            page=q.get("page", ""), caller=Caller(cwd=q.get("cwd")), project=q.get("project"),
            section=q.get("section") or None, outline=q.get("outline") in ("1", "true"), as_of=q.get("as_of") or None,
            diff=q.get("diff") or None, offset=whole_number(q.get("offset"), "offset", 0),
            max_chars=whole_number(q.get("max_chars"), "max_chars", EVERYTHING),
        )  # fmt: skip
        return JsonAnswer(dataclasses.asdict(found))

    async def give(self, request: Request) -> Response:
        """Body: `page`, `verdict`, `note`; with the verdict `withdraw` also `seq`."""
        given = await json_body(
            request, {"page": str, "verdict": str, "note": str, "seq": int, "project": str, **CALLER}
        )
        found = await self._feedback.give(
            page=given.get("page", ""), verdict=given.get("verdict", ""), note=given.get("note", ""),
            seq=given.get("seq"), caller=caller_of(request, given), project=given.get("project"),
        )  # fmt: skip
        return JsonAnswer(dataclasses.asdict(found), status_code=201)

    async def related(self, request: Request) -> Response:
        """Query: `page`, `depth`, `limit`, `events`, `before`."""
        q = query_of(request)
        found = await self._related.of_page(
            page=q.get("page", ""), caller=Caller(cwd=q.get("cwd")), project=q.get("project"),
            depth=whole_number(q.get("depth"), "depth", 1), limit=whole_number(q.get("limit"), "limit", 20),
            events=whole_number(q.get("events"), "events", 10),
            before=whole_number(q.get("before"), "before", 0) or None,
        )  # fmt: skip
        return JsonAnswer(dataclasses.asdict(found))

    async def event(self, request: Request) -> Response:
        """Query: `seq`."""
        found = await self._related.event(whole_number(query_of(request).get("seq"), "seq", 0))
        return JsonAnswer(dataclasses.asdict(found))
