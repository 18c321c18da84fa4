"""The systemd units: what is written, with a systemctl of our own that notes how it was called."""

import pytest
from click.testing import CliRunner

from aimemory.cli.main import cli
from aimemory.cli.service import unit_text
from aimemory.config import load_config


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A home with spaces, and programs that note their arguments."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, prints in (("systemctl", "active"), ("loginctl", "no")):
        (programs / name).write_text(f"#!/bin/sh\necho \"{name} $*\" >> '{tmp_path}/calls'\necho {prints}\n")
        (programs / name).chmod(0o755)
    home = tmp_path / "a home"
    for name, value in {
        "HOME": str(home), "XDG_CONFIG_HOME": str(home / "config"), "AIMEMORY_DATA_DIR": str(home / "my data"),
        "PATH": f"{programs}:/usr/bin:/bin", "USER": "ada",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    return tmp_path


def units(machine):
    return sorted(path.name for path in (machine / "a home/config/systemd/user").glob("*"))


def calls(machine):
    path = machine / "calls"
    return path.read_text().splitlines() if path.exists() else []


def test_a_dry_run_shows_the_units_and_changes_nothing(machine):
    done = CliRunner().invoke(cli, ["service", "install", "--dry-run"])

    assert done.exit_code == 0
    assert "ListenStream=" in done.output and "ExecStart=" in done.output
    assert units(machine) == [] and calls(machine) == []


def test_installing_writes_both_units_enables_the_socket_and_names_lingering(machine):
    done = CliRunner().invoke(cli, ["service", "install"])

    assert done.exit_code == 0, done.output
    assert units(machine) == ["aimemory.service", "aimemory.socket"]
    assert "systemctl --user enable --now aimemory.socket" in calls(machine)
    assert "loginctl enable-linger ada" in done.output


def test_paths_with_spaces_are_quoted_and_percent_signs_doubled(machine, monkeypatch):
    monkeypatch.setenv("AIMEMORY_DATA_DIR", str(machine / "100% mine"))
    config = load_config()

    service, socket = unit_text("aimemory.service", config), unit_text("aimemory.socket", config)

    assert f'Environment="AIMEMORY_DATA_DIR={machine}/100%% mine"' in service
    assert f"ListenStream={machine}/100%% mine/socket" in socket
    assert "@" not in service + socket


def test_uninstalling_removes_exactly_our_units(machine):
    CliRunner().invoke(cli, ["service", "install"])
    other = machine / "a home/config/systemd/user/other.service"
    other.write_text("mine")

    done = CliRunner().invoke(cli, ["service", "uninstall"])

    assert done.exit_code == 0, done.output
    assert units(machine) == ["other.service"]
    assert "systemctl --user disable --now aimemory.socket aimemory.service" in calls(machine)


def test_without_systemd_it_says_so_and_what_happens_instead(machine, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")

    done = CliRunner().invoke(cli, ["service", "install"])

    assert done.exit_code == 75
    assert "start the daemon themselves" in done.output
    assert units(machine) == []


def test_without_a_session_of_systemd_nothing_is_written(machine):
    """DMN-05: after `su` and in containers there is systemctl, and nobody whom it could ask."""
    (machine / "bin/systemctl").write_text("#!/bin/sh\necho 'Failed to connect to bus: No medium found' >&2\nexit 1\n")

    done = CliRunner().invoke(cli, ["service", "install"])

    assert done.exit_code == 75 and "start the daemon themselves" in done.output
    assert units(machine) == []


def test_status_tells_installed_from_out_of_date(machine):
    CliRunner().invoke(cli, ["service", "install"])
    (machine / "a home/config/systemd/user/aimemory.service").write_text("old")

    done = CliRunner().invoke(cli, ["service", "status"])

    assert "aimemory.socket: installed, active" in done.output
    assert "out of date" in done.output
