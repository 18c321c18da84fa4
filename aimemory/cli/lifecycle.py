"""`up`, `down`, `restart`, `serve`, `status`."""

import os
import signal
import sys
from typing import Any

import click

from aimemory import __version__
from aimemory.cli.client import Client, start_daemon, wait_until_down
from aimemory.cli.output import clean, cleaned, counted, examples, json_option, note, print_json, translated
from aimemory.cli.service import UNITS, is_installed, systemctl
from aimemory.config import Config, load_config, load_place
from aimemory.datadir import lock_holder
from aimemory.doctor.known import state_data, states
from aimemory.errors import AimemoryError, Unavailable, UserError
from aimemory.privacy import settings
from aimemory.upkeep.disk import size_text

_STOP_LIMIT_S = 8.0


@click.command(epilog="Example: aimemory up && aimemory status")
@json_option
@translated
def up(as_json: bool) -> None:
    """Start the daemon in the background and wait until it answers.

    Also takes back an earlier `aimemory down`, so that hooks may start the daemon by themselves again.
    """
    config = load_config()
    settings.checked(config.privacy.table())  # said here, not in the log of a daemon that doesn't start
    config.data.down_marker.unlink(missing_ok=True)
    _units("start", config)
    client = Client(config)
    started = client.ensure_daemon()
    status = client.get("/api/v1/status")
    if as_json:
        print_json({"started": started, **status})
        return
    click.echo(f"aimemory {status['version']} is {'up' if started else 'already up'} (process {status['pid']}).")
    click.echo(f"Data:   {status['data']}")
    click.echo(
        f"Listens on {status['endpoint']['socket']}" + (f" and {url}" if (url := status["endpoint"].get("tcp")) else "")
    )
    if status["version"] != __version__:
        note(f"aimemory: this command is {__version__}; `aimemory restart` brings the daemon to the same version.")


@click.command(epilog="Example: aimemory down")
@translated
def down() -> None:
    """Stop the daemon and keep it stopped: hooks put events into the spool until `aimemory up`."""
    config = load_place()
    if config.data.root.exists():
        config.data.down_marker.touch(mode=0o600)
    _units("stop", config)  # else the next event would start it again
    click.echo("aimemory is down." if _stop(config) else "aimemory was not running.")


@click.command(epilog="Example: aimemory restart")
@translated
def restart() -> None:
    """Stop and start the daemon, for instance after an upgrade."""
    config = load_config()
    settings.checked(config.privacy.table())
    _stop(config)
    config.data.down_marker.unlink(missing_ok=True)
    client = Client(config)
    if not _units("restart", config):
        start_daemon(config)
    client.wait_until_up()
    click.echo(f"aimemory {client.get('/api/v1/status')['version']} is up.")


def _units(action: str, config: Config) -> bool:
    """Start, stop or restart our systemd units where they are installed; True if systemd did it."""
    if not is_installed(config):
        return False
    try:
        systemctl(action, *(UNITS if action == "stop" else UNITS[:1] if action == "start" else UNITS))
        return True
    except Unavailable as error:  # no user session of systemd here: what this command is for must work all the same
        note(f"aimemory: {error}")
        return False


def _stop(config: Config) -> bool:
    """Stop a running daemon; False if there was none. Raises Unavailable if it won't go."""
    pid = lock_holder(config.data)
    if pid is None:
        return False
    try:
        Client(config, timeout_s=2).request("POST", "/api/v1/stop", {})
    except Unavailable:
        if pid:
            os.kill(pid, signal.SIGTERM)
    if not wait_until_down(config, _STOP_LIMIT_S):
        raise Unavailable(
            f"The daemon (process {pid}) has not stopped after {_STOP_LIMIT_S:.0f} s. Look at `aimemory status`."
        )
    return True


@click.command(epilog="Example: aimemory serve --port 0")
@click.option("--port", type=int, help="TCP port on loopback; 0 takes any free one.")
@click.option("--background", is_flag=True, hidden=True, help="Log to the log file only.")
@translated
def serve(port: int | None, background: bool) -> None:
    """Run the daemon in the foreground until Ctrl-C or SIGTERM."""
    from aimemory.daemon import serve as run_daemon

    config = load_config(flags={"server.port": port} if port is not None else None)
    run_daemon(config, foreground=not background)


@click.command(epilog=examples("aimemory status", "aimemory status --json | jq .capture"))
@json_option
@translated
def status(as_json: bool) -> None:
    """What runs, what was captured, what is wrong. Exit code 75 when no daemon answers."""
    config = load_place()
    client = Client(config, timeout_s=10)
    if not client.alive():
        report = _status_without_daemon(config)
        if as_json:
            print_json({**report, "harnesses": _harnesses(config)})
        else:
            _print_stopped(report)
            _print_harnesses(config)
        sys.exit(Unavailable.exit_code)
    found = client.get("/api/v1/status")
    if as_json:
        print_json({**found, "harnesses": _harnesses(config)})
    else:
        _print_status(cleaned(found))
        _print_harnesses(config)


def _harnesses(config: Config) -> list[dict[str, object]]:
    try:
        return [state_data(state) for state in states(config)]
    except UserError as error:  # a variable that names no place
        return [{"problem": str(error)}]


def _print_harnesses(config: Config) -> None:
    """One line for each agent that is used here."""
    try:
        for state in states(config):
            click.echo(clean(f"{state.title:<12} {state.line}"))
    except UserError as error:
        click.echo(f"PROBLEM: {clean(str(error))}")


def _status_without_daemon(config: Config) -> dict[str, Any]:
    spool = config.data.spool
    return {
        "running": False,
        "data": str(config.data.root),
        "stopped_by_you": config.data.down_marker.exists(),
        "lock_held_by": lock_holder(config.data),
        "spooled_events": sum(1 for _ in spool.glob("*.json")) if spool.exists() else 0,
        "log": str(config.data.log_file),
        "problem": _settings_problem(),
    }


def _settings_problem() -> str | None:
    """What keeps a daemon from starting with these settings."""
    try:
        settings.checked(load_config().privacy.table())
    except AimemoryError as error:
        return str(error)
    return None


def _print_stopped(report: dict[str, Any]) -> None:
    why = ", since you stopped it" if report["stopped_by_you"] else ""
    click.echo(f"No daemon answers for {report['data']}{why}. `aimemory up` starts it.")
    if report["lock_held_by"] is not None:
        click.echo(f"Process {report['lock_held_by']} holds the directory, but does not answer; see {report['log']}.")
    waiting = report["spooled_events"]
    click.echo(f"{counted(waiting, 'event')} {'waits' if waiting == 1 else 'wait'} in the spool.")
    if report["problem"]:
        click.echo(f"PROBLEM: {clean(report['problem'])}")


def _print_tasks(tasks: list[dict[str, Any]]) -> None:
    """The daemon's parts: those that failed or don't run by themselves, the others by number."""
    odd = [task for task in tasks if task["error"] or task["state"] not in ("running", "starting")]
    click.echo(f"parts    {len(tasks) - len(odd)} of {len(tasks)} run without an error")
    for task in odd:
        error = f", last error: {task['error']} ({task['failures']} in all)" if task["error"] else ""
        past = f", and works again since {task['over_at']}" if task["over_at"] else ""
        click.echo(f"         {task['name']}: {task['state']}{error}{past}")


def _print_status(found: dict[str, Any]) -> None:
    click.echo(f"aimemory {found['version']}, process {found['pid']}, up since {found['started_at']}")
    click.echo(f"data     {found['data']}")
    counts, index = found["counts"], found["index"]
    listens = [found["endpoint"].get("socket"), found["endpoint"].get("tcp"), found["endpoint"].get("note")]
    click.echo(f"listens  {', '.join(x for x in listens if x)}")
    behind = f"{counted(index['lag'], 'line')} behind" if index["lag"] else index["state"]
    click.echo(f"journal  {counted(found['journal']['last_seq'], 'line')}; index {behind}")
    click.echo(
        f"holds    {counts.get('pages', '?')} pages, {counts.get('sessions', '?')} sessions, "
        f"{counts.get('observations', '?')} events"
    )
    head = found["git"]["head"]
    click.echo(
        f"git      {'last commit ' + head[:16] if head else 'no commit since the start'}, "
        f"{counted(found['git']['waiting'], 'page')} waiting"
    )
    click.echo(
        f"spool    {found['spool'].get('events', '?')} events waiting, {found['spool'].get('rejects', '?')} rejected"
    )
    if disk := found["disk"]:
        budget = f" of {size_text(disk['budget'])}" if disk["budget"] else ""
        parts = ", ".join(f"{name} {size_text(size)}" for name, size in disk["parts"].items() if size)
        click.echo(f"disk     {size_text(disk['total'])}{budget}: {parts}")
    if (check := found.get("self_check")) and check["last_at"]:
        click.echo(f"checked  last verified {check['last_at']}, {counted(check['problems'], 'problem')}")
    if (vectors := found.get("vectors")) and vectors["state"] != "off":
        said = f"; {vectors['why']}" if vectors["why"] else ""
        click.echo(f"vectors  {vectors['state']}, {vectors['made']:,} of {vectors['pages']:,} pages{said}")
    if (kept := found["retention"])["days"]:
        limits = ", ".join(f"{kind} {counted(days, 'day')}" for kind, days in kept["days"].items())
        last = kept["last_run"]
        gone = ", ".join(f"{count:,} {what}" for what, count in sorted(last["counts"].items())) if last else ""
        said = f"last took out {gone} at {last['at']}" if last else "nothing has gone yet"
        click.echo(f"keeps    {limits}; {said}; next {kept['next_at']}")
    for harness, counts in found["capture"].items():
        numbers = ", ".join(f"{counts[k]} {k.replace('_', ' ')}" for k in counts if isinstance(counts[k], int))
        last = counts["last"].get("stored", {})
        numbers = numbers or "nothing since the start"
        click.echo(f"{harness:<12} {numbers}; last stored {last.get('event', '–')} at {last.get('at', '–')}")
        for reason, count in counts["reasons"].items():
            click.echo(f"             {count} × {reason}")
    _print_tasks(found["tasks"])
    for problem in found["problems"]:
        click.echo(f"PROBLEM: {problem}")
    if not found["capture"]:
        click.echo("No event has come since the daemon started.")
    if found["version"] != __version__:
        click.echo(f"This command is {__version__}: `aimemory restart` brings the daemon to the same version.")
