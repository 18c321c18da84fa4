"""Runs a hook command exactly as its agent would, and looks whether the event arrived.

The event names itself `self-test-…` in the vendor's own field, so that its harness's data file makes it kind `other`:
it has no session and runs in `/`, which is nobody's project. So it passes launcher, client, daemon and journal like
any other, but opens no session, makes no page, is told to no agent, and the daemon needs no special case.
"""

import json
import secrets
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aimemory.cli.client import Client
from aimemory.config import Config
from aimemory.install.agent import Agent, CannotEdit
from aimemory.install.filetext import decode, read_file
from aimemory.install.found import hooks_of

_HOOK_LIMIT_S = 10.0
_ARRIVAL_LIMIT_S = 5.0
_POLL_S = 0.02
_FATES = ("stored", "dropped", "rejected", "duplicate")


@dataclass(frozen=True, slots=True)
class SelfTest:
    """What was seen. took_ms: how long the hook kept its agent waiting."""

    agent: str
    ok: bool
    said: str
    took_ms: int | None = None


def try_agent(client: Client, agent: Agent, event_field: Sequence[str], config: Config) -> SelfTest | None:
    """Try the first hook of ours that stands in the agent's file; None where none does, which is said elsewhere.

    Raises Unavailable if the daemon goes.
    """
    if agent.hooks is None:
        return None
    try:
        raw = read_file(agent.hooks.path)
        ours = list(hooks_of(decode(raw).text, agent.hooks, agent)) if raw is not None else []
    except CannotEdit:
        return None
    if not ours:
        return None
    command = ours[0][3]["hooks"][0]["command"]
    return self_test(client, agent.id, command, event_field, nonce=secrets.token_hex(4), home=config.home)


def self_test(
    client: Client, agent: str, command: str, event_field: Sequence[str], *, nonce: str, home: str
) -> SelfTest:
    """Run one registered command through `/bin/sh` with a bare environment. Raises Unavailable if the daemon goes."""
    name = f"self-test-{nonce}"
    payload: Any = name
    for key in reversed(event_field):
        payload = {key: payload}
    began = time.monotonic()
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", command], input=json.dumps(payload).encode(), capture_output=True, cwd="/",
            env={"HOME": home, "PATH": "/usr/bin:/bin"}, timeout=_HOOK_LIMIT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return SelfTest(agent, False, f"The hook did not end within {_HOOK_LIMIT_S:.0f} s: {command}")
    took_ms = round((time.monotonic() - began) * 1000)
    if done.returncode or done.stdout or done.stderr:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()[:200]
        return SelfTest(agent, False, f"The hook ended with {done.returncode} and said {said!r}: {command}", took_ms)
    fate, reason = _fate(client, agent, name)
    if fate is None:
        why = (
            f"The event did not arrive within {_ARRIVAL_LIMIT_S:.0f} s. `aimemory status` shows the spool and the log."
        )
        return SelfTest(agent, False, why, took_ms)
    if fate == "stored":
        return SelfTest(agent, True, f"An event sent with this hook is in the journal; it took {took_ms} ms.", took_ms)
    return SelfTest(agent, fate == "dropped", f"The event arrived in {took_ms} ms and was {fate}: {reason}.", took_ms)


def _fate(client: Client, agent: str, name: str) -> tuple[str | None, str]:
    """What the daemon says became of the event of this name, and why."""
    deadline = time.monotonic() + _ARRIVAL_LIMIT_S
    while True:
        counts = client.get("/api/v1/status")["capture"].get(agent, {"last": {}, "reasons": {}})
        for fate in _FATES:
            if counts["last"].get(fate, {}).get("event") == name:
                return fate, ", ".join(counts["reasons"])
        newest = client.get("/api/v1/recent", kind="observation", project="*", limit=50)
        if any(item["title"] == name for item in newest["items"]):
            return "stored", ""
        if time.monotonic() > deadline:
            return None, ""
        time.sleep(_POLL_S)
