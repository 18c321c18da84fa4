"""What is added to a session page that a person has written in, when its session went on."""

from aimemory.model.protocols import rfc3339_local
from aimemory.model.session import SessionState
from aimemory.sessions.quoting import block, clip, code

_FILES = 30


def continuation(state: SessionState) -> str:
    """A section of markdown, ending in a line feed; "" when nothing was asked. Equal states give equal bytes."""
    if state.last_request is None:
        return ""
    lines = [
        f"## Until {rfc3339_local(state.last_at_ns)}",
        "",
        "Last request:",
        "",
        block(clip(state.last_request, 2000)),
    ]
    if state.files_written:
        files = ", ".join(code(path) for path in list(state.files_written)[:_FILES])
        lines += ["", f"Files changed: {files}"]
    return "\n".join(lines) + "\n"
