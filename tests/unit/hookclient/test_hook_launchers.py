"""The launchers' text and the choice of the interpreter."""

import subprocess
import sys
from pathlib import Path

import pytest

from aimemory.datadir import DataDir
from aimemory.errors import UserError
from aimemory.install.launchers import hook_script, interpreter, write_launchers


def _printing_program(folder: Path) -> Path:
    """An interpreter that prints its arguments, one a line."""
    path = folder / "python"
    path.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    path.chmod(0o755)
    return path


def _arguments(script: bytes, folder: Path, *args: str) -> list[str]:
    path = folder / "hook"
    path.write_bytes(script)
    return subprocess.run(["/bin/sh", str(path), *args], capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize("name", ["it's", 'say "hi"', "$HOME `id` \\", "ünï"])
def test_launcher_hands_over_paths_and_arguments_as_they_are(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    stub = folder / "stub.py"
    stub.touch()
    script = hook_script(_printing_program(folder), stub, folder, folder / "socket", {}, 77)
    assert _arguments(script, folder, "a b", "c'd")[2:] == [
        str(stub), str(folder), str(folder / "socket"), "77", "0", "a b", "c'd",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("harness", "event", "reply"),
    [
        ("a", "Start", "1"),
        ("a", "Prompt", "1"),
        ("b", "*", "1"),
        ("a", "Stop", "0"),
        ("b", "Start", "0"),
        ("", "", "0"),
    ],
)
def test_launcher_knows_which_events_may_carry_a_brief(tmp_path: Path, harness: str, event: str, reply: str) -> None:
    (tmp_path / "stub.py").touch()
    events = {"a": ["Start", "Prompt"], "b": ["*"], "c": []}
    script = hook_script(_printing_program(tmp_path), tmp_path / "stub.py", tmp_path, tmp_path / "s", events)
    assert _arguments(script, tmp_path, harness, event)[6] == reply


def test_launchers_are_private_and_rewritten_whole(tmp_path: Path) -> None:
    data = DataDir(tmp_path / "data")
    write_launchers(data, {}, spool_bytes=5)
    write_launchers(data, {}, spool_bytes=6)
    assert sorted(path.name for path in data.bin.iterdir()) == ["hook", "mcp"]
    assert {path.stat().st_mode & 0o777 for path in data.bin.iterdir()} == {0o700}
    assert " 6 $r " in data.hook_launcher.read_text()


def test_mcp_launcher_becomes_the_shim(tmp_path: Path) -> None:
    (tmp_path / "pkg" / "stdio").mkdir(parents=True)
    (tmp_path / "pkg" / "stdio" / "__main__.py").touch()
    data = DataDir(tmp_path / "data")
    write_launchers(data, {}, python=_printing_program(tmp_path), package=tmp_path / "pkg")
    done = subprocess.run([data.mcp_launcher, "--x"], capture_output=True, text=True, check=True)
    shim = str(tmp_path / "pkg" / "stdio" / "__main__.py")
    assert done.stdout.splitlines() == ["-I", "-S", shim, str(data.root), str(data.socket), "--x"]


def test_mcp_launcher_without_its_program_says_what_to_do(tmp_path: Path) -> None:
    data = DataDir(tmp_path / "data")
    write_launchers(data, {}, package=tmp_path / "gone")
    done = subprocess.run([data.mcp_launcher], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "") and "aimemory up" in done.stderr


def test_interpreter_is_this_one() -> None:
    assert interpreter() == Path(sys.executable)


def test_script_in_place_of_an_interpreter_is_refused_for_a_real_one(tmp_path: Path) -> None:
    """A version manager's shim finds the real one anew each time: 170 ms per tool call."""
    shim = _printing_program(tmp_path)
    chosen = interpreter(str(shim), sys.prefix)
    assert chosen != shim
    assert subprocess.run([chosen, "-c", "print(1)"], capture_output=True, check=True).stdout == b"1\n"


def test_no_interpreter_at_all_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not an interpreter"):
        interpreter(str(_printing_program(tmp_path)), str(tmp_path), tmp_path / "nothing")
