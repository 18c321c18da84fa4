"""What a hook prints: a brief in the shape that the harness's contract asks for, or nothing."""

import json
import re
from typing import Any

from aimemory.harness.spec import HarnessSpec, Inject
from aimemory.harness.table import Keys
from aimemory.model.fence import TAG_NAME
from aimemory.privacy import Sanitized

_CLOSING_TAG = re.compile(rf"\n</{TAG_NAME}[0-9a-f]+>\s*\Z")
_CUT_MARK = "\n[cut to what this agent can take; `aimemory brief` prints all]"


def answer(spec: HarnessSpec, event_name: str, brief: Sanitized[str] | None) -> bytes:
    """The exact bytes that the hook of this event must write to standard output; most often none.

    None at all without a brief, and for an event whose answer can't carry one: every harness takes silence. A brief
    over the harness's limit is cut at whole lines, its closing tag kept and the cut said: handed over whole it would
    arrive as a file name.
    """
    inject = spec.inject
    if brief is None or not brief.value or inject.reply == "none" or not spec.row(event_name).reply:
        return b""
    text = _fit(brief.value, inject)
    if inject.reply == "text":
        return text.encode("utf-8")
    reply: dict[str, Any] = {}
    if inject.event_path:
        _put(reply, inject.event_path, event_name)
    _put(reply, inject.json_path, text)
    return json.dumps(reply).encode("ascii")  # ASCII, so that no locale or console code page can damage it


def _put(reply: dict[str, Any], keys: Keys, value: str) -> None:
    for key in keys[:-1]:
        reply = reply.setdefault(key, {})
    reply[keys[-1]] = value


def _fit(text: str, inject: Inject) -> str:
    if _fits(text, inject):
        return text
    closing = _CLOSING_TAG.search(text)
    tail = _CUT_MARK + (closing[0] if closing else "")
    lines = text[: closing.start() if closing else len(text)].split("\n")
    low, high = 0, len(lines) - 1
    while low < high:  # the largest number of lines that still fits
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _fits("\n".join(lines[:middle]) + tail, inject) else (low, middle - 1)
    return "\n".join(lines[:low]) + tail


def _fits(text: str, inject: Inject) -> bool:
    if inject.limit_chars is not None and len(text) > inject.limit_chars:
        return False
    return inject.limit_bytes is None or len(text.encode("utf-8")) <= inject.limit_bytes
