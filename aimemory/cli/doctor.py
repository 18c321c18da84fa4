"""`doctor`: everything that can be wrong, looked at from outside, with evidence and one fix each."""

import sys
from pathlib import Path

import click

from aimemory.cli.client import Client
from aimemory.cli.output import clean, json_option, note, print_json, translated
from aimemory.cli.selftest import try_agent
from aimemory.config import Config, load_config, load_place
from aimemory.doctor.all import examine
from aimemory.doctor.finding import Finding, Level, SelfTested, Situation
from aimemory.doctor.known import is_detected, known_agents
from aimemory.doctor.situation import look
from aimemory.errors import AimemoryError, UserError

_ANSWER_S = 5
_REPAIR_S = 900
_COLOURS = {Level.OK: "green", Level.NOTE: "blue", Level.WARNING: "yellow", Level.FAILURE: "red"}


@click.command(epilog="Examples: aimemory doctor   ·   aimemory doctor --json   ·   aimemory doctor --fix")
@click.option("--fix", is_flag=True, help="Do what can be done: modes, launchers, a daemon, a broken wiki repository.")
@click.option("--deep", is_flag=True, help="Read all of git's history too, every version of every page.")
@click.option("--test/--no-test", default=True, help="Run a hook of each connected agent; on unless turned off.")
@click.option("--all", "show_all", is_flag=True, help="Show what is well too.")
@json_option
@translated
def doctor(fix: bool, deep: bool, show_all: bool, test: bool, as_json: bool) -> None:
    """Look at everything and say what is wrong, how it was seen and what to do. Exit code 1 if something fails.

    One hook of each connected agent is run as the agent runs it, which leaves one event named self-test in the journal.
    """
    situation = _situation(with_tests=test, deep=deep)
    findings = examine(situation)
    if fix and _repair(findings, situation):
        findings = examine(_situation(with_tests=test, deep=deep))
    if as_json:
        print_json({"findings": [finding.as_data() for finding in findings], "ok": _is_well(findings)})
    else:
        _print(findings, show_all)
    sys.exit(0 if _is_well(findings) else 1)


def _situation(*, with_tests: bool, deep: bool) -> Situation:
    problem: str | None = None
    try:
        config = load_config()
    except UserError as error:
        config, problem = load_place(), str(error)
    status, silence, place = None, "", None
    client = Client(config, timeout_s=_ANSWER_S)
    try:
        answer = client.request("GET", "/api/v1/status")
        status = answer.body if answer.status == 200 and isinstance(answer.body, dict) else None
        silence = "" if status else f"it answers with status {answer.status}"
        if status is not None:
            place = client.get("/api/v1/where", cwd=str(Path.cwd()))
    except (AimemoryError, OSError) as error:
        silence = str(error)
    return look(
        config, status=status, silence=silence, config_problem=problem, cwd=str(Path.cwd()), place=place,
        tests=_tests(client, config) if status is not None and with_tests else (),
        deep=deep,
    )  # fmt: skip


def _tests(client: Client, config: Config) -> list[SelfTested]:
    """One hook of each connected agent, run as the agent runs it."""
    found = []
    try:
        known = known_agents(config)
        for agent in known.agents.values():
            test = try_agent(client, agent, known.event_fields[agent.id], config) if is_detected(agent) else None
            if test is not None:
                found.append(SelfTested(test.agent, test.ok, test.said))
    except AimemoryError:  # the daemon went meanwhile, or a variable names no place: other checks say it
        pass
    return found


def _repair(findings: list[Finding], situation: Situation) -> bool:
    """Do what can be done; True if anything was."""
    done = False
    for finding in findings:
        if finding.repair is not None:
            finding.repair()
            note(f"Done: {finding.fix}")
            done = True
    if situation.status is None and situation.config_problem is None and not situation.config.data.down_marker.exists():
        Client(situation.config).ensure_daemon()
        note("Done: the daemon is started.")
        done = True
    for route in dict.fromkeys(finding.route for finding in findings if finding.route):
        note(f"Done: {clean(Client(situation.config, timeout_s=_REPAIR_S).post(route, {})['said'])}")
        done = True
    return done


def _is_well(findings: list[Finding]) -> bool:
    return all(finding.level is not Level.FAILURE for finding in findings)


def _print(findings: list[Finding], show_all: bool) -> None:
    shown = [finding for finding in findings if show_all or finding.level is not Level.OK]
    for finding in shown:
        mark = click.style(f"{finding.level.value:<8}", fg=_COLOURS[finding.level])
        click.echo(f"{mark} {clean(finding.said)}")
        if finding.evidence:
            click.echo(f"         {'seen' if finding.proven else 'inferred from'}: {clean(finding.evidence)}")
        if finding.fix and finding.level is not Level.OK:
            click.echo(f"         do: {clean(finding.fix)}")
    well = sum(finding.level is Level.OK for finding in findings)
    note(f"{well} of {len(findings)} checks found nothing to say." + ("" if show_all else " --all shows them."))
