"""The one translator of errors to the HTTP wire."""

import logging

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from aimemory.errors import AimemoryError, Busy, Conflict
from aimemory.server.answer import JsonAnswer

log = logging.getLogger(__name__)


def error_response(error: AimemoryError) -> Response:
    """`{"error": {"type", "message"}}`; a conflict adds the current text, its version and the id of
    the conflict copy (`kept`), a full queue Retry-After."""
    body: dict[str, object] = {"type": type(error).__name__, "message": str(error)}
    headers = {}
    if isinstance(error, Conflict):
        body |= {"current": error.current, "version": error.version, "kept": error.kept}
    if isinstance(error, Busy):
        headers["retry-after"] = str(error.retry_after_s)
    if error.http_status == 401:
        headers["www-authenticate"] = "Bearer"
    return JsonAnswer({"error": body}, status_code=error.http_status, headers=headers)


async def send_error(scope: Scope, receive: Receive, send: Send, error: AimemoryError) -> None:
    await error_response(error)(scope, receive, send)


async def on_known(request: Request, error: Exception) -> Response:
    """Exception handler for the tree of `errors`."""
    assert isinstance(error, AimemoryError)
    return error_response(error)


async def on_http(request: Request, error: Exception) -> Response:
    """Exception handler for what the router itself refuses: no such path, no such method."""
    assert isinstance(error, HTTPException)
    body = {"error": {"type": "NotFound" if error.status_code == 404 else "UserError", "message": str(error.detail)}}
    return JsonAnswer(body, status_code=error.status_code, headers=error.headers)


async def on_bug(request: Request, error: Exception) -> Response:
    """Exception handler for everything else: a traceback in the log, no detail on the wire."""
    log.error("unhandled error", exc_info=error, extra={"route": request.url.path})
    message = "The daemon met a fault of its own; its log has the details."
    return JsonAnswer({"error": {"type": "Bug", "message": message}}, status_code=500)
