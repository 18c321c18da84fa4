"""Connecting and disconnecting in a user's home: links, modes, encodings, faults of the disk, and what is given back."""

import codecs
import json
import os
import stat
import subprocess
import sys
import textwrap
from datetime import UTC, datetime

import pytest
from desk import Desk, problems

from aimemory.datadir import Changed, replace_file
from aimemory.harness.registry import load_registry
from aimemory.install.apply import Applier
from aimemory.install.record import read_record

CONNECTABLE = [name for name, spec in load_registry().specs.items() if spec.hooks.shape == "matcher-groups"]
SETTINGS, CLAUDE, HOOKS, CONFIG = ".claude/settings.json", ".claude.json", ".codex/hooks.json", ".codex/config.toml"
JSON = '{\n  "theirs": "é"\n}'


@pytest.fixture
def desk(tmp_path, monkeypatch):
    return Desk(tmp_path, monkeypatch)


def everything(folder):
    """Paths with modes and bytes of all files, and of directories their modes."""
    return {
        str(path.relative_to(folder)): (
            stat.S_IMODE(path.lstat().st_mode),
            os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None,
        )
        for path in sorted(folder.rglob("*"))
    }


@pytest.mark.promise("P9.12")
@pytest.mark.parametrize("agent", CONNECTABLE)
def test_a_home_without_settings_is_as_it_was_after_connect_and_disconnect(desk, agent):
    before = everything(desk.home)

    assert not problems(desk.connect(agent))
    assert everything(desk.home) != before
    assert not problems(desk.disconnect(agent))
    assert everything(desk.home) == before


@pytest.mark.promise("P9.12")
@pytest.mark.parametrize(
    "raw",
    [
        JSON.encode(), b"", b"\n", b"{ }", b"{ /* c */ }", codecs.BOM_UTF8 + JSON.encode(), codecs.BOM_UTF8,
        codecs.BOM_UTF16_LE + JSON.replace("\n", "\r\n").encode("utf-16-le"), codecs.BOM_UTF16_BE + JSON.encode("utf-16-be"),
    ],
)  # fmt: skip
def test_encoding_and_mark_are_kept_and_the_same_bytes_come_back(desk, raw):
    for file in (SETTINGS, CLAUDE):
        desk.put(file, raw).chmod(0o640)
    before = everything(desk.home)

    assert not problems(desk.connect("claude-code"))
    written = (desk.home / SETTINGS).read_bytes()
    assert (written[:2] if raw[:1] > b"\x7f" else b"") == (raw[:2] if raw[:1] > b"\x7f" else b"")
    desk.connect("claude-code")
    assert (desk.home / SETTINGS).read_bytes() == written
    desk.disconnect("claude-code")
    assert everything(desk.home) == before


@pytest.mark.promise("P9.13")
def test_after_somebody_elses_write_exactly_our_entries_go(desk):
    config = desk.put(CONFIG, 'model = "x"\n')
    desk.connect("codex")
    config.write_text(config.read_text().replace('model = "x"', 'model = "y" # since'))

    done = desk.disconnect("codex")

    assert config.read_text() == 'model = "y" # since\n'
    assert not (desk.home / HOOKS).exists()
    assert [one.change.restored for one in done] == [True, False]


@pytest.mark.promise("P9.13")
def test_without_record_or_data_directory_our_entries_go(desk):
    settings = desk.put(SETTINGS, JSON)
    desk.connect("claude-code")
    subprocess.run(["rm", "-rf", desk.data.root], check=True)

    assert not problems(desk.disconnect("claude-code"))
    assert settings.read_text() == JSON
    assert json.loads((desk.home / CLAUDE).read_text()) == {}


@pytest.mark.promise("P9.12")
def test_an_entry_from_before_the_record_is_never_given_back(desk):
    desk.connect("codex")
    desk.data.connect_record.unlink()
    hooks = desk.home / HOOKS
    hooks.write_text(hooks.read_text().replace(str(desk.data.root), "/elsewhere"))

    desk.connect("codex")
    desk.disconnect("codex")

    assert "bin/hook" not in hooks.read_text()


@pytest.mark.promise("P9.12")
def test_parts_connected_one_after_the_other_come_off_to_the_same_bytes(desk):
    desk.put(SETTINGS, JSON)
    desk.put(CLAUDE, JSON)
    before = everything(desk.home)

    for only in ("hooks", "mcp", None):
        desk.connect("claude-code", only=only)
    assert set(read_record(desk.data.connect_record)) == {str(desk.home / SETTINGS), str(desk.home / CLAUDE)}
    for only in ("mcp", "hooks"):
        desk.disconnect("claude-code", only=only)

    assert everything(desk.home) == before
    assert not desk.data.connect_record.exists()


@pytest.mark.promise("P9.12")
def test_a_file_that_connect_made_goes_also_when_its_hooks_were_edited_since(desk):
    before = everything(desk.home)
    desk.connect("codex")
    hooks = desk.home / HOOKS
    hooks.write_text(hooks.read_text().replace('"timeout": 10', '"timeout": 60'))
    desk.connect("codex")

    desk.disconnect("codex")

    assert everything(desk.home) == before


def test_empty_containers_of_the_user_stay_also_when_others_wrote_since(desk):
    settings = desk.put(SETTINGS, '{\n  "hooks": {\n    "Stop": []\n  }\n}\n')
    desk.connect("claude-code")
    settings.write_text(settings.read_text() + "\n")

    desk.disconnect("claude-code")

    assert settings.read_text() == '{\n  "hooks": {\n    "Stop": []\n  }\n}\n\n'


@pytest.mark.promise("P9.17")
def test_the_bytes_from_before_are_kept_where_the_command_says(desk):
    desk.put(SETTINGS, JSON)

    done = desk.connect("claude-code")[0]

    assert done.backup is not None
    assert done.backup.read_bytes() == JSON.encode()
    assert stat.S_IMODE(done.backup.stat().st_mode) == 0o600
    assert stat.S_IMODE(done.backup.parent.parent.stat().st_mode) == 0o700
    assert desk.data.connect_backups in done.backup.parents


# -- links, modes, places --------------------------------------------------------------------------------------------


@pytest.mark.promise("P9.16")
def test_links_stay_and_their_targets_change(desk):
    target = desk.put("dotfiles/claude.json", JSON)
    target.chmod(0o644)
    link = desk.home / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to("../dotfiles/claude.json")
    before = everything(desk.home)

    desk.connect("claude-code", only="hooks")

    assert link.is_symlink()
    assert "SessionStart" in json.loads(target.read_text())["hooks"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o644
    desk.disconnect("claude-code", only="hooks")
    assert everything(desk.home) == before


@pytest.mark.promise("P9.16")
def test_the_target_of_a_link_that_leads_nowhere_is_made_and_removed(desk):
    link = desk.home / CONFIG
    link.parent.mkdir()
    link.symlink_to("../dotfiles/codex/config.toml")
    before = everything(desk.home)

    desk.connect("codex", only="mcp")

    assert link.is_symlink() and "aimemory" in link.read_text()
    desk.disconnect("codex", only="mcp")
    assert everything(desk.home) == before


def test_new_files_are_for_their_owner_only(desk):
    desk.connect("codex")

    assert stat.S_IMODE((desk.home / HOOKS).stat().st_mode) == 0o600
    assert stat.S_IMODE((desk.home / ".codex").stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "agent, variable, files",
    [("claude-code", "CLAUDE_CONFIG_DIR", ["settings.json", ".claude.json"]), ("codex", "CODEX_HOME", ["hooks.json", "config.toml"])],
)  # fmt: skip
def test_the_vendors_own_variable_names_the_place(desk, monkeypatch, tmp_path, agent, variable, files):
    """Seen with both programs: all their files move along, `.claude.json` too."""
    monkeypatch.setenv(variable, str(tmp_path / "else"))

    assert [one.change.path for one in desk.connect(agent)] == [tmp_path / "else" / file for file in files]
    assert not everything(desk.home)


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
@pytest.mark.promise("P9.16")
def test_the_owner_stays(desk):
    path = desk.put(SETTINGS, JSON)
    os.chown(path, 1234, 1235)

    desk.connect("claude-code")

    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 1235)


# -- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.promise("P9.14")
@pytest.mark.parametrize("raw", [b'{"a": 1,,}', b"[]", b'{"hooks": []}', b"\xff\xfe\x00", b'"\xe9"', b'{"x": "\xff"}'])
@pytest.mark.parametrize("removing", [False, True])
def test_a_broken_file_is_left_byte_for_byte_and_the_others_go_on(desk, raw, removing):
    desk.connect("claude-code", only="mcp")
    broken = desk.put(SETTINGS, raw)

    done = desk.run("claude-code", removing=removing)

    assert done[0].change.action == "refuse"
    assert done[0].change.problem
    assert broken.read_bytes() == raw
    assert "aimemory" in (desk.home / CLAUDE).read_text() if not removing else not (desk.home / CLAUDE).exists()


@pytest.mark.promise("P9.14")
def test_what_is_no_file_is_left_and_said(desk):
    (desk.home / SETTINGS).mkdir(parents=True)
    os.mkfifo(desk.home / CLAUDE)
    (desk.home / ".codex").write_text("a file")

    said = [one.change.problem for agent in ("claude-code", "codex") for one in desk.connect(agent)]

    assert said[0] == "A directory stands in place of this file."
    assert said[1] == "It is no ordinary file."
    assert all("is not a directory" in text for text in said[2:])


def test_a_link_in_a_circle_is_left_and_said(desk):
    path = desk.home / SETTINGS
    path.parent.mkdir()
    path.symlink_to("settings.json")

    assert "can't be read" in desk.connect("claude-code", only="hooks")[0].change.problem


def test_a_file_that_the_agent_cannot_read_itself_is_edited_and_said(desk):
    desk.put(SETTINGS, "// mine\n{}\n")
    desk.put(HOOKS, codecs.BOM_UTF8 + b"{}")

    notes = [one.change.notes for one in (*desk.connect("claude-code"), *desk.connect("codex"))]

    assert "comments" in notes[0][0] and "Claude Code can't read" in notes[0][0]
    assert "byte order mark" in notes[2][0]


def test_a_write_protected_file_is_left_and_said(desk, monkeypatch):
    path = desk.put(SETTINGS, JSON)
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everything

    assert desk.connect("claude-code", only="hooks")[0].change.problem.startswith("It is write-protected.")
    assert path.read_text() == JSON


def test_a_second_hard_link_is_said(desk):
    path = desk.put(SETTINGS, JSON)
    os.link(path, desk.home / "second")

    assert "another hard link" in desk.connect("claude-code", only="hooks")[0].change.notes[0]


# -- faults ----------------------------------------------------------------------------------------------------------


@pytest.mark.promise("P9.16")
def test_a_change_between_plan_and_write_is_kept(desk):
    path = desk.put(SETTINGS, JSON)
    (job,) = desk.jobs("claude-code", only="hooks")
    plan = job.plan()
    path.write_text('{"new": 1}')

    done = Applier(desk.data, datetime(2026, 11, 30, tzinfo=UTC)).apply(job, plan)

    assert json.loads(path.read_text()).keys() == {"new", "hooks"}
    assert done.backup.read_text() == '{"new": 1}'


@pytest.mark.promise("P9.16")
def test_a_change_right_before_the_rename_is_kept(tmp_path):
    path = tmp_path / "f"
    path.write_text("theirs")

    with pytest.raises(Changed):
        replace_file(path, b"ours", expected=b"before", mode=0o600)

    assert path.read_text() == "theirs"
    assert os.listdir(tmp_path) == ["f"]


@pytest.mark.promise("P9.16")
@pytest.mark.parametrize(
    "fault, code",
    [
        ("os.fsync = lambda fd: os.kill(os.getpid(), signal.SIGKILL)", -9),
        ("os.link = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)", -9),
        ("resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))", 7),
    ],
    ids=["killed while writing", "killed before the rename", "no room"],
)
def test_a_kill_or_a_full_disk_leaves_the_old_file_and_nothing_beside_it(tmp_path, fault, code):
    path = tmp_path / "settings.json"
    path.write_text(JSON)
    script = f"""
        import os, resource, signal, sys
        from pathlib import Path
        from aimemory.datadir import replace_file
        {fault}
        try:
            replace_file(Path({str(path)!r}), b"x" * 100_000, expected={JSON.encode()!r}, mode=0o600)
        except OSError:
            sys.exit(7)
    """

    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False)

    assert done.returncode == code
    assert path.read_text() == JSON
    assert os.listdir(tmp_path) == ["settings.json"]


@pytest.mark.promise("P9.16")
def test_without_room_for_the_backup_nothing_is_written(desk):
    path = desk.put(SETTINGS, JSON)
    desk.data.root.mkdir()
    (desk.data.root / "backups").write_text("in the way")

    done = desk.connect("claude-code", only="hooks")

    assert "can't be written" in done[0].error
    assert path.read_text() == JSON


@pytest.mark.promise("P9.16")
def test_what_a_kill_between_two_calls_left_goes_the_next_time(desk):
    path = desk.put(SETTINGS, JSON)
    old, young = path.with_name(".aimemory-tmp-1-old"), path.with_name(".aimemory-tmp-2-young")
    for leftover in (old, young):
        leftover.write_text("x")
    os.utime(old, (0, 0))

    desk.connect("claude-code", only="hooks")

    assert not old.exists() and young.exists()
