"""Whether an agent's user has reviewed our hooks, as the agent itself notes it.

Codex keeps one entry a hook, `<hooks.json>:<event>:<group>:<position>`, with a hash over event, matcher and handler.
The hash is that of Codex 0.171.0 (its `hooks/list` shows it); if another version counts otherwise, trusted hooks would
read as changed: compare with `hooks/list` before believing it.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Literal

Verdict = Literal["trusted", "untrusted", "changed", "off"]

_DEFAULT_S = 600
_SHORT = {"SessionEnd": 3, "Interrupt": 3}
"""Events whose timeout Codex cuts, in seconds; one second where none is given."""

_NO_MATCHER = frozenset(["UserPromptSubmit", "Stop", "Interrupt"])
"""Events whose matcher Codex doesn't look at."""


def codex_verdict(
    noted: Mapping[str, Any], sources: tuple[str, ...], place: tuple[str, int, int], group: Mapping[str, Any]
) -> Verdict:
    """What Codex does with one hook. noted: its `hooks.state` table. sources: how it may name the hook file. group: the
    hook's matcher group with this hook alone."""
    event, g, h = place
    entries = [noted.get(f"{source}:{_snake(event)}:{g}:{h}") for source in sources]
    entry = next((one for one in entries if isinstance(one, Mapping)), None)
    if entry is None or "trusted_hash" not in entry:
        return "untrusted"
    if not isinstance(group["hooks"][0].get("timeout", 1), int | float) or (
        entry["trusted_hash"] != codex_hash(event, group)
    ):
        return "changed"  # a timeout that is no number was written by somebody else: Codex trusts no such hook
    return "off" if entry.get("enabled") is False else "trusted"


def codex_hash(event: str, group: Mapping[str, Any]) -> str:
    """The hash that Codex compares: over canonical JSON of the event and its one normalised handler."""
    handler = dict(group["hooks"][0])
    longest = _SHORT.get(event)
    timeout = handler.get("timeout", 1 if longest else _DEFAULT_S)
    normal = {**handler, "async": handler.get("async", False), "timeout": max(1, min(timeout, longest or timeout))}
    identity: dict[str, Any] = {"event_name": _snake(event), "hooks": [normal]}
    if group.get("matcher") is not None and event not in _NO_MATCHER:
        identity["matcher"] = group["matcher"]
    canonical = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def _snake(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
