"""`doctor`: everything that can be wrong, looked at from outside, with evidence and one fix each."""

import sys
import time
from typing import Any

import click

from aimemory import __version__
from aimemory.cli.agents import states
from aimemory.cli.client import Client
from aimemory.cli.output import clean, json_option, note, print_json, translated
from aimemory.config import Config, load_config, load_place
from aimemory.doctor.all import examine
from aimemory.doctor.finding import Finding, Level, Records, Situation
from aimemory.errors import AimemoryError, Unavailable, UserError
from aimemory.facts.transcript.find import listing
from aimemory.harness.registry import load_registry
from aimemory.install.state import State

_COLOURS = {Level.OK: "green", Level.NOTE: "blue", Level.WARNING: "yellow", Level.FAILURE: "red"}


@click.command(epilog="Examples: aimemory doctor   ·   aimemory doctor --json   ·   aimemory doctor --fix")
@click.option("--fix", is_flag=True, help="Do what needs no decision of yours: modes, and starting the daemon.")
@click.option("--all", "show_all", is_flag=True, help="Show what is well too.")
@json_option
@translated
def doctor(fix: bool, show_all: bool, as_json: bool) -> None:
    """Look at everything and say what is wrong, how it was seen and what to do. Exit code 1 if something fails."""
    situation = _situation()
    findings = examine(situation)
    if fix and _repair(findings, situation):
        findings = examine(_situation())
    if as_json:
        print_json({"findings": [_data(finding) for finding in findings], "ok": _is_well(findings)})
    else:
        _print(findings, show_all)
    sys.exit(0 if _is_well(findings) else 1)


def _situation() -> Situation:
    problem: str | None = None
    try:
        config = load_config()
    except UserError as error:
        config, problem = load_place(), str(error)
    return Situation(
        config=config, config_problem=problem, status=_status(config), agents=_agents(config), records=_records(config),
        version=__version__, now_ns=time.time_ns(),
    )  # fmt: skip


def _status(config: Config) -> dict[str, Any] | None:
    client = Client(config, timeout_s=5)
    try:
        answer = client.request("GET", "/api/v1/status")
    except (Unavailable, OSError):
        return None
    return answer.body if answer.status == 200 and isinstance(answer.body, dict) else None


def _agents(config: Config) -> list[State]:
    try:
        return states(config)
    except AimemoryError:
        return []


def _records(config: Config) -> list[Records]:
    """When each agent wrote its latest transcript."""
    found = []
    for spec in load_registry().specs.values():
        if spec.transcript is None:
            continue
        files = listing([spec.transcript], config.home, config.harness_env).files  # the youngest first
        newest_ns, path = files[0][:2] if files else (None, None)
        found.append(Records(spec.id, spec.title, newest_ns, path))
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
    return done


def _is_well(findings: list[Finding]) -> bool:
    return all(finding.level is not Level.FAILURE for finding in findings)


def _data(finding: Finding) -> dict[str, object]:
    return {
        "check": finding.check, "level": finding.level.value, "said": finding.said, "evidence": finding.evidence,
        "proven": finding.proven, "fix": finding.fix, "can_fix": finding.repair is not None,
    }  # fmt: skip


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
