"""`/api/v1`: repair of pages as JSON over HTTP."""

import dataclasses

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from aimemory.api.refile import Refile
from aimemory.api.repair import Repair
from aimemory.api.undo import Undoing
from aimemory.errors import UserError
from aimemory.model.answers import Caller
from aimemory.server.answer import JsonAnswer
from aimemory.server.listen import peer_of
from aimemory.server.request import CALLER, caller_of, json_body, query_of, whole_number


class RepairApi:
    """The routes. What edits or deletes takes the version that was read."""

    def __init__(self, repair: Repair, undoing: Undoing, refile: Refile) -> None:
        self._repair = repair
        self._undoing = undoing
        self._refile = refile

    def routes(self) -> list[Route]:
        return [
            Route("/api/v1/page/edit", self.edit, methods=["POST"]),
            Route("/api/v1/page/field", self.field, methods=["POST"]),
            Route("/api/v1/page/delete", self.delete, methods=["POST"]),
            Route("/api/v1/page/undelete", self.undelete, methods=["POST"]),
            Route("/api/v1/page/history", self.history),
            Route("/api/v1/undo", self.undo, methods=["POST"]),
            Route("/api/v1/projects/rename", self.rename, methods=["POST"]),
            Route("/api/v1/projects/move-session", self.move_session, methods=["POST"]),
            Route("/api/v1/projects/merge", self.merge, methods=["POST"]),
            Route("/api/v1/projects/unmerge", self.unmerge, methods=["POST"]),
        ]

    async def edit(self, request: Request) -> Response:
        given = await json_body(request, {"page": str, "text": str, "version": str, "project": str, **CALLER})
        if not given.get("version"):
            raise UserError("Give the version that was read.")
        written = await self._repair.edit_page(
            page=given.get("page", ""), text=given.get("text", ""), version=given["version"],
            caller=caller_of(request, given), project=given.get("project"),
        )  # fmt: skip
        return JsonAnswer(dataclasses.asdict(written))

    async def field(self, request: Request) -> Response:
        """Body: `key`, and `value` or `values`; with neither the field is removed."""
        given = await json_body(
            request, {"page": str, "key": str, "value": str, "values": list, "project": str, **CALLER}
        )
        values = given.get("values")
        written = await self._repair.set_field(
            page=given.get("page", ""), key=given.get("key", ""),
            value=given.get("value") if values is None else [str(one) for one in values],
            caller=caller_of(request, given), project=given.get("project"),
        )  # fmt: skip
        return JsonAnswer(dataclasses.asdict(written))

    async def delete(self, request: Request) -> Response:
        given = await json_body(
            request, {"page": str, "version": str, "apply": bool, "lose": bool, "project": str, **CALLER}
        )
        plan = await self._repair.delete_page(
            page=given.get("page", ""), version=given.get("version"), apply=given.get("apply", False),
            lose=given.get("lose", False), caller=caller_of(request, given), project=given.get("project"),
        )  # fmt: skip
        return JsonAnswer(dataclasses.asdict(plan))

    async def undelete(self, request: Request) -> Response:
        given = await json_body(request, {"page": str, "version": str, "project": str, **CALLER})
        written = await self._repair.undelete_page(
            page=given.get("page", ""), version=given.get("version"), caller=caller_of(request, given),
            project=given.get("project"),
        )  # fmt: skip
        return JsonAnswer(dataclasses.asdict(written), status_code=201 if written.created else 200)

    async def undo(self, request: Request) -> Response:
        given = await json_body(request, {"session": str, "apply": bool, "cwd": str})
        if not given.get("session", "").strip():
            raise UserError("Name a session.")
        found = await self._undoing.undo_session(
            session=given["session"], apply=given.get("apply", False),
            caller=Caller(cwd=given.get("cwd"), peer=peer_of(request.scope)),
        )  # fmt: skip
        return JsonAnswer(dataclasses.asdict(found))

    async def rename(self, request: Request) -> Response:
        given = await json_body(request, {"project": str, "name": str, "apply": bool, "links": bool, **CALLER})
        if not given.get("project") or not given.get("name"):
            raise UserError("Give a project and its new name.")
        found = await self._refile.rename_project(
            project=given["project"], name=given["name"], apply=given.get("apply", False),
            links=given.get("links", False), caller=caller_of(request, given),
        )  # fmt: skip
        return JsonAnswer(dataclasses.asdict(found))

    async def move_session(self, request: Request) -> Response:
        given = await json_body(request, {"moved": str, "project": str, "apply": bool, **CALLER})
        if not given.get("moved") or not given.get("project"):
            raise UserError("Give a session (moved) and the project it belongs to.")
        found = await self._refile.move_session(
            session=given["moved"], project=given["project"], apply=given.get("apply", False),
            caller=caller_of(request, given),
        )  # fmt: skip
        return JsonAnswer(dataclasses.asdict(found))

    async def merge(self, request: Request) -> Response:
        given = await json_body(request, {"project": str, "into": str, "apply": bool, **CALLER})
        if not given.get("project") or not given.get("into"):
            raise UserError("Give a project and the one it is to be merged into.")
        found = await self._refile.merge_project(
            project=given["project"], into=given["into"], apply=given.get("apply", False),
            caller=caller_of(request, given),
        )  # fmt: skip
        return JsonAnswer(dataclasses.asdict(found))

    async def unmerge(self, request: Request) -> Response:
        given = await json_body(request, {"project": str, "apply": bool, **CALLER})
        if not given.get("project"):
            raise UserError("Give the project that was merged into another one.")
        found = await self._refile.unmerge_project(
            project=given["project"], apply=given.get("apply", False), caller=caller_of(request, given)
        )
        return JsonAnswer(dataclasses.asdict(found))

    async def history(self, request: Request) -> Response:
        q = query_of(request)
        found = await self._repair.history(
            page=q.get("page", ""), caller=Caller(cwd=q.get("cwd")), project=q.get("project"),
            limit=whole_number(q.get("limit"), "limit", 20),
            diff=whole_number(q.get("diff"), "diff", 0) if q.get("diff") else None,
        )  # fmt: skip
        return JsonAnswer(dataclasses.asdict(found))
