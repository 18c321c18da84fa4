"""`connect`, `disconnect`: a plan is shown; only `--apply` writes it."""

import shlex
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import click

from aimemory.cli.client import Client
from aimemory.cli.output import clean, cleaned, examples, json_option, note, print_json, translated
from aimemory.cli.selftest import SelfTest, try_agent
from aimemory.config import Config, load_config, load_place
from aimemory.doctor.known import Known, chosen, is_detected, known_agents, launchers, looked_for, state_data
from aimemory.errors import NotFound
from aimemory.install.agent import Agent, Launchers, Part
from aimemory.install.apply import Applier, Done
from aimemory.install.change import Change, Job, jobs
from aimemory.install.record import read_record
from aimemory.install.shown import diff
from aimemory.install.state import State, state_of, switched_off
from aimemory.store.outside import note_deed

_APPLY = click.option("--apply", "wanted", is_flag=True, help="Write it. Without this nothing is written.")
_ONLY = click.option("--only", type=click.Choice(["hooks", "mcp"]), help="Only the hooks, or only the MCP server.")


@dataclass(frozen=True, slots=True)
class _Run:
    """What this call is about. done: what became of each change, in the plan's order."""

    agents: list[Agent]
    done: list[Done]
    applied: bool
    removing: bool
    tests: tuple[SelfTest, ...] = ()

    @property
    def failed(self) -> bool:
        changes = any(done.change.problem or done.error for done in self.done)
        return changes or not all(test.ok for test in self.tests)


@click.command(
    epilog=examples("aimemory connect", "aimemory connect --apply", "aimemory connect codex --only hooks --apply")
)
@click.argument("harness", nargs=-1)
@_APPLY
@_ONLY
@json_option
@translated
def connect(harness: tuple[str, ...], wanted: bool, only: Part | None, as_json: bool) -> None:
    """Register hooks and the MCP server with coding agents: HARNESS, or all that are found.

    Shows first what would change in which file. With --apply it is written, a backup of each file is kept, and each
    connection is tried out. A second time changes nothing.
    """
    config = load_config()
    known = known_agents(config)
    agents = chosen(known, harness) if harness else _detected(known)
    if not wanted:
        _report(_planned(agents, config, only, removing=False), config, as_json)
        return
    client = Client(config)
    client.ensure_daemon()  # it writes the launchers, which the settings are to name
    run = _applied(agents, config, only, removing=False)
    fields = known.event_fields
    tests = [] if only == "mcp" else [try_agent(client, agent, fields[agent.id], config) for agent in agents]
    found = tuple(test for test in tests if test is not None)
    _report(_Run(run.agents, run.done, True, False, found), config, as_json)


@click.command(epilog=examples("aimemory disconnect", "aimemory disconnect codex --apply"))
@click.argument("harness", nargs=-1)
@_APPLY
@_ONLY
@json_option
@translated
def disconnect(harness: tuple[str, ...], wanted: bool, only: Part | None, as_json: bool) -> None:
    """Take our hooks and MCP server out of coding agents' settings: of HARNESS, or of all.

    Shows first what would change. With --apply each file gets back the bytes it had before `connect`, if nobody else
    has written to it since; otherwise exactly our entries are taken out. Needs no daemon.
    """
    config = load_place()
    known = known_agents(config)
    agents = chosen(known, harness) if harness else list(known.agents.values())
    work = _applied if wanted else _planned
    _report(work(agents, config, only, removing=True), config, as_json)


def _detected(known: Known) -> list[Agent]:
    found = [agent for agent in known.agents.values() if is_detected(agent)]
    if not found:
        places = "".join(f"\n  {looked_for(agent)}" for agent in known.agents.values())
        raise NotFound(
            f"No agent that can be connected was found. Looked for:{places}\n"
            "Name one to connect it all the same: aimemory connect claude-code"
        )
    return found


def _jobs(agents: Iterable[Agent], config: Config, only: Part | None, removing: bool) -> list[Job]:
    written = read_record(config.data.connect_record)
    places = launchers(config)
    return [job for agent in agents for job in jobs(agent, places, only, removing=removing, written=written)]


def _planned(agents: list[Agent], config: Config, only: Part | None, *, removing: bool) -> _Run:
    return _Run(agents, [Done(job.plan()) for job in _jobs(agents, config, only, removing)], False, removing)


def _applied(agents: list[Agent], config: Config, only: Part | None, *, removing: bool) -> _Run:
    applier = Applier(config.data, datetime.now(UTC))
    done = [applier.apply(job, job.plan()) for job in _jobs(agents, config, only, removing)]
    written = [one.change for one in done if _is_written(one)]
    for agent in dict.fromkeys(change.agent for change in written):
        files = [str(change.path) for change in written if change.agent == agent]
        if problem := note_deed(config, "disconnect" if removing else "connect", {"agent": agent, "files": files}):
            note(problem)
    return _Run(agents, done, True, removing)


# -- saying it -------------------------------------------------------------------------------------------------------


def _report(run: _Run, config: Config, as_json: bool) -> None:
    places = launchers(config)
    states = [state_of(agent, places) for agent in run.agents]
    if as_json:
        print_json(_as_data(run, states, places))
    else:
        _print(run, states, places)
    if run.failed:
        sys.exit(1)


def _as_data(run: _Run, states: list[State], places: Launchers) -> dict[str, Any]:
    agents = {agent.id: agent for agent in run.agents}
    return {
        "applied": run.applied,
        "files": [
            {
                "harness": done.change.agent, "path": str(done.change.path), "target": str(done.change.target),
                "parts": done.change.parts, "action": done.change.action, "restored": done.change.restored,
                "diff": diff(done.change, _ours(agents[done.change.agent], places)), "notes": done.change.notes,
                "problem": done.change.problem, "line": done.change.line, "error": done.error,
                "backup": str(done.backup) if done.backup else None,
            }
            for done in run.done
        ],
        "states": [state_data(state) for state in states],
        "self_tests": [
            {"harness": test.agent, "ok": test.ok, "said": test.said, "took_ms": test.took_ms} for test in run.tests
        ],
    }  # fmt: skip


def _print(run: _Run, states: list[State], places: Launchers) -> None:
    agents = {agent.id: agent for agent in run.agents}
    for done in run.done:
        if _is_written(done):
            click.echo(clean(diff(done.change, _ours(agents[done.change.agent], places))))
    for done in run.done:  # after all diffs, which are long
        _print_outcome(done, run)
    for test in run.tests:
        (click.echo if test.ok else note)(f"{agents[test.agent].title}: {clean(test.said)}")
    if run.applied and not run.removing:
        for state in states:
            if state.hooks is not None and state.hooks.detail and state.hooks.code != "unreadable":
                click.echo(cleaned(f"{state.title}: hooks {state.hooks.code}. {state.hooks.detail}"))
        if any(_is_written(done) for done in run.done):
            note("Sessions that run already don't see this: begin a new one.")
    if not run.applied and not run.removing:
        for agent in run.agents:
            if (off := switched_off(agent)) is not None:
                note(clean(off.detail))
    if not run.applied and any(done.change.action in ("create", "change", "remove") for done in run.done):
        note("Nothing was written. Add --apply to write this.")


def _is_written(done: Done) -> bool:
    """Was this file changed, or would it be?"""
    return done.change.problem is None and done.error is None and done.change.action != "none"


def _print_outcome(done: Done, run: _Run) -> None:
    change = done.change
    head = f"{change.title}: {change.path}"
    if change.problem is not None:
        place = f"{change.path}, line {change.line}" if change.line else str(change.path)
        note(clean(f"{change.title}: {place} was left as it is. {change.problem}"))
        if run.removing and _may_hold_ours(change):
            note(clean(f"{change.title}: remove by hand what names {_by_hand(change)}."))
    elif done.error is not None:
        note(clean(f"{head}: {done.error}"))
    elif change.action == "none":
        click.echo(clean(f"{head}: {'holds nothing of ours' if run.removing else 'is up to date'}."))
    elif run.applied:
        click.echo(clean(f"{head}: {_verb(change)}."))
    if done.backup is not None:
        click.echo(clean(f"  before: {done.backup}"))
    for text in change.notes:
        note(clean(f"{change.title}: {text}"))


def _verb(change: Change) -> str:
    if change.restored:
        return "removed, as before `connect`" if change.after is None else "as it was before `connect`"
    return {"create": "made", "change": "changed"}.get(change.action, change.action)


def _may_hold_ours(change: Change) -> bool:
    raw = (change.before or b"").replace(b"\0", b"")  # UTF-16
    return change.before is None or b"/bin/hook" in raw or b"/bin/mcp" in raw


def _by_hand(change: Change) -> str:
    named = {"hooks": f"`…/bin/hook {change.agent} …`", "mcp": "`…/bin/mcp`"}
    return " and ".join(named[part] for part in change.parts)


def _ours(agent: Agent, places: Launchers) -> list[str]:
    """Every text of our own entries; a diff shows these, and hides others' values."""
    hooks = agent.hooks.hooks if agent.hooks else ()
    texts = ["command", str(places.mcp), shlex.quote(str(places.hook))]
    texts += [places.command(agent, hook.event) for hook in hooks]
    texts += [str(hook.timeout) for hook in hooks] + [hook.matcher for hook in hooks if hook.matcher]
    return texts + [str(value) for value in (agent.server.entry if agent.server else {}).values()]
