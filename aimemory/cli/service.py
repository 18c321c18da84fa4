"""`service install|uninstall|status`: the systemd user units."""

import shutil
import subprocess
import sys
from pathlib import Path

import click

from aimemory import datadir
from aimemory.cli.output import json_option, note, print_json, translated
from aimemory.config import Config, load_config
from aimemory.errors import Unavailable

UNITS = ("aimemory.socket", "aimemory.service")


@click.group()
def service() -> None:
    """Install or remove the systemd user service."""


@service.command(epilog="Example: aimemory service install --dry-run")
@click.option("--dry-run", is_flag=True, help="Show what would be written and run; change nothing.")
@translated
def install(dry_run: bool) -> None:
    """Write the user units, and start the socket now and at every login."""
    config = load_config()
    if not dry_run:
        _check_session()
    for name in UNITS:
        path, text = unit_dir(config) / name, unit_text(name, config)
        if dry_run:
            click.echo(f"# {path}\n{text}")
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            datadir.write_atomic(path, text.encode(), 0o644)
            click.echo(f"Wrote {path}")
    if dry_run:
        click.echo("# systemctl --user daemon-reload && systemctl --user enable --now aimemory.socket")
        return
    config.data.create()
    config.data.down_marker.unlink(missing_ok=True)
    systemctl("daemon-reload")
    systemctl("enable", "--now", "aimemory.socket")
    click.echo("The socket listens; the daemon starts with the first event, and after each login.")
    if _lingers(config) is False:
        note(f"The service ends with your last login. To keep it running: loginctl enable-linger {config.login}")


@service.command(epilog="Example: aimemory service uninstall")
@click.option("--dry-run", is_flag=True, help="Show what would be removed; change nothing.")
@translated
def uninstall(dry_run: bool) -> None:
    """Stop and remove the user units. Data stays."""
    config = load_config()
    found = [path for name in UNITS if (path := unit_dir(config) / name).exists()]
    if not found:
        click.echo("No unit of aimemory is installed.")
        return
    if not dry_run:
        try:
            systemctl("disable", "--now", *UNITS)
        except Unavailable as error:  # the files must go also where systemd can't be reached
            note(f"aimemory: {error}")
    for path in found:
        click.echo(f"{'Would remove' if dry_run else 'Removed'} {path}")
        if not dry_run:
            path.unlink()
    if not dry_run:
        try:
            systemctl("daemon-reload")
        except Unavailable:
            return


@service.command(epilog="Example: aimemory service status --json")
@json_option
@translated
def status(as_json: bool) -> None:
    """Whether the units are installed, current and running."""
    config = load_config()
    report = {}
    for name in UNITS:
        path = unit_dir(config) / name
        report[name] = {
            "installed": path.exists(),
            "current": path.exists() and path.read_text(encoding="utf-8") == unit_text(name, config),
            "state": _state(name),
        }
    if as_json:
        print_json({"units": report, "lingers": _lingers(config)})
        return
    for name, unit in report.items():
        stale = (
            "" if unit["current"] or not unit["installed"] else ", out of date: `aimemory service install` renews it"
        )
        click.echo(f"{name}: {'installed' if unit['installed'] else 'not installed'}, {unit['state']}{stale}")


def is_installed(config: Config) -> bool:
    """Are the units there?"""
    return (unit_dir(config) / "aimemory.socket").exists()


def unit_dir(config: Config) -> Path:
    """Where systemd looks for a user's own units."""
    return Path(config.config_home) / "systemd" / "user"


def unit_text(name: str, config: Config) -> str:
    """A unit with this installation's paths filled in, quoted as systemd wants it."""
    package = Path(__file__).resolve().parents[1]
    folder = package / "_systemd" if (package / "_systemd").is_dir() else package.parent / "systemd"
    text = (folder / name).read_text(encoding="utf-8")
    values = {"@PYTHON@": _quoted(sys.executable), "@SOCKET@": _escaped(str(config.data.socket))}
    values["AIMEMORY_DATA_DIR=@DATA@"] = _quoted(f"AIMEMORY_DATA_DIR={config.data.root}")
    for mark, value in values.items():
        text = text.replace(mark, value)
    return text


def systemctl(*arguments: str) -> str:
    """Run `systemctl --user`. Raises Unavailable when there is none, no user bus, or it refuses."""
    program = shutil.which("systemctl")
    if program is None:
        raise Unavailable("There is no systemctl here.")
    try:
        done = subprocess.run([program, "--user", *arguments], capture_output=True, text=True, timeout=30, check=False)
    except subprocess.TimeoutExpired:
        raise Unavailable("systemctl did not answer within 30 s.") from None
    if done.returncode and arguments[0] != "is-active":
        reason = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise Unavailable(f"systemctl --user {arguments[0]} failed: {reason[0]}.")
    return done.stdout.strip()


def _check_session() -> None:
    """Raises Unavailable where systemd has no session for this user, as in containers or after `su`."""
    try:
        systemctl("show-environment")
    except Unavailable as error:
        raise Unavailable(
            f"{error} Nothing was changed, and no service is needed: hooks and commands start the daemon themselves."
        ) from None


def _state(name: str) -> str:
    try:
        return systemctl("is-active", name) or "unknown"
    except Unavailable:
        return "unknown, systemd can't be asked"


def _lingers(config: Config) -> bool | None:
    """Does the user's systemd go on after the last logout? None when that can't be asked."""
    program = shutil.which("loginctl")
    if program is None:
        return None
    done = subprocess.run(
        [program, "show-user", config.login, "--property=Linger", "--value"],
        capture_output=True, text=True, check=False, timeout=10,
    )  # fmt: skip
    return {"yes": True, "no": False}.get(done.stdout.strip())


def _escaped(text: str) -> str:
    return text.replace("%", "%%")


def _quoted(text: str) -> str:
    escaped = _escaped(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
