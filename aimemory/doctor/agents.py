"""The agents: is ours in their settings, does it run, and does what they do arrive?"""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from aimemory.doctor.finding import Finding, Level, Records, Situation
from aimemory.doctor.shadows import check_shadows
from aimemory.install.state import PartState, State
from aimemory.model.protocols import rfc3339_local

_SILENT_NS = 600_000_000_000
_LEVELS = {"installed": Level.OK, "not installed": Level.NOTE, "off": Level.NOTE, "edited": Level.WARNING}


def check_agents(situation: Situation) -> Iterator[Finding]:
    if not situation.agents:
        yield Finding("agents.known", Level.NOTE, "No agent that can be connected was found on this machine.")
    yield from _elsewhere(situation)
    for state in situation.states:
        for name, part in (("hooks", state.hooks), ("mcp", state.mcp)):
            if part is None:
                continue
            yield Finding(
                f"agents.{state.agent}.{name}", _LEVELS.get(part.code, Level.FAILURE),
                f"{state.title}: {'hooks' if name == 'hooks' else 'MCP'} {part.code}.", part.detail,
                fix=_fix(state.agent, part),
            )  # fmt: skip
        yield from _arrival(state, situation)
        yield from _tests(state, situation)
    for agent in situation.agents:
        yield from check_shadows(agent, situation.cwd)


def _fix(agent: str, part: PartState) -> str:
    if part.code in ("installed", "not installed", "off"):
        return ""
    if part.code in ("removed", "edited", "incomplete", "another data directory"):
        return f"aimemory connect {agent} --apply"
    return part.detail or f"aimemory connect {agent} --apply"


def _elsewhere(situation: Situation) -> Iterator[Finding]:
    """What connect wrote to, in a place where no agent looks now: its home was moved by a variable."""
    looked = {str(file.path) for agent in situation.agents for file in (agent.hooks, agent.server) if file}
    lost = [path for path in situation.connected if path not in looked and Path(path).exists()]
    if lost:
        yield Finding(
            "agents.elsewhere", Level.WARNING, "Our entries stand in a file that no agent reads as things are set now.",
            lost[0], proven=False,
            fix="If a variable moved the agent's folder (CLAUDE_CONFIG_DIR, CODEX_HOME): aimemory connect --apply",
        )  # fmt: skip


def _tests(state: State, situation: Situation) -> Iterator[Finding]:
    for test in situation.tests:
        if test.harness == state.agent:
            yield Finding(
                f"agents.{state.agent}.self-test", Level.OK if test.ok else Level.FAILURE,
                f"{state.title}: a hook that was run as it runs them {'works' if test.ok else 'does not work'}.",
                test.said, fix="" if test.ok else "See what else is wrong here; aimemory restart",
            )  # fmt: skip


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
