"""The agents: is ours in their settings, does it run, and does what they do arrive?"""

from collections.abc import Iterator
from datetime import datetime

from aimemory.doctor.finding import Finding, Level, Records, Situation
from aimemory.install.state import State
from aimemory.model.protocols import rfc3339_local

_SILENT_NS = 600_000_000_000
_LEVELS = {"installed": Level.OK, "not installed": Level.NOTE, "off": Level.NOTE}


def check_agents(situation: Situation) -> Iterator[Finding]:
    if not situation.agents:
        yield Finding("agents.known", Level.NOTE, "No agent that can be connected was found on this machine.")
    for state in situation.agents:
        for name, part in (("hooks", state.hooks), ("mcp", state.mcp)):
            if part is None:
                continue
            yield Finding(
                f"agents.{state.agent}.{name}", _LEVELS.get(part.code, Level.FAILURE),
                f"{state.title}: {'hooks' if name == 'hooks' else 'MCP'} {part.code}.", part.detail,
                fix="" if part.code in _LEVELS else part.detail or f"aimemory connect {state.agent} --apply",
            )  # fmt: skip
        yield from _arrival(state, situation)


def _arrival(state: State, situation: Situation) -> Iterator[Finding]:
    """An agent whose hooks stand but whose work does not arrive: its own records are newer than our last event."""
    if state.hooks is None or state.hooks.code != "installed" or situation.status is None:
        return
    last_ns, event = _last_event(state.agent, situation)
    records = next((one for one in situation.records if one.harness == state.agent), None)
    check = f"agents.{state.agent}.arrival"
    if records is not None and records.newest_ns is not None and records.newest_ns - (last_ns or 0) > _SILENT_NS:
        yield _missing(check, state, records, last_ns)
    elif last_ns is None:
        yield Finding(check, Level.NOTE, f"{state.title}: no event has come yet.", fix=f"Start {state.title} once.")
    else:
        yield Finding(check, Level.OK, f"{state.title}: the last event came {rfc3339_local(last_ns)}.", event)


def _missing(check: str, state: State, records: Records, last_ns: int | None) -> Finding:
    came = f"the last event came {rfc3339_local(last_ns)}" if last_ns else "no event ever came"
    newest = rfc3339_local(records.newest_ns or 0)
    return Finding(
        check, Level.WARNING, f"{state.title} was at work, but what it did has not arrived.",
        f"its transcript {records.path} was written {newest}; {came}", proven=False,
        fix=f"Restart {state.title}: hooks are read when it starts. Then: aimemory connect {state.agent}",
    )  # fmt: skip


def _last_event(harness: str, situation: Situation) -> tuple[int | None, str]:
    assert situation.status is not None
    stored = situation.status["capture"].get(harness, {}).get("last", {}).get("stored")
    if not stored or str(stored["event"]).startswith("self-test"):
        return None, ""
    return int(datetime.fromisoformat(stored["at"]).timestamp() * 1e9), str(stored["event"])
