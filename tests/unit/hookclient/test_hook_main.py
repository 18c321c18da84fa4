"""The hook client's fast path: what it imports, and its two pure functions."""

import json
import socket
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest

import aimemory.hookclient.main as main
import aimemory.hookclient.undelivered as undelivered
from aimemory.datadir import DataDir
from aimemory.hookclient.autostart import environment
from aimemory.hookclient.main import Call, is_whole, quote
from aimemory.hookclient.rules import level_of, told_by
from aimemory.hookclient.undelivered import capture_told, keep
from aimemory.model.spool import SpoolFile

CLIENT = Path(main.__file__).parent
ALLOWED = {"main", "posix", "sys", "select", "time", "_socket", "_signal"}


def test_fast_path_imports_nothing_but_the_allowed_modules(tmp_path: Path) -> None:
    """Each further module costs every tool call of every agent milliseconds."""
    program = (
        "import sys; before = set(sys.modules); sys.path.insert(0, sys.argv[1])\n"
        "import main; main.run(sys.argv[2:]); print(*set(sys.modules) - before)"
    )
    answers: list[bytes] = []

    def answer() -> None:
        with listener.accept()[0] as connection:
            answers.append(connection.recv(65536))
            connection.sendall(b"HTTP/1.1 202 OK\r\nx-aimemory: 1\r\n\r\n")

    with socket.socket(socket.AF_UNIX) as listener:
        listener.settimeout(60)
        listener.bind(str(tmp_path / "socket"))
        listener.listen()
        thread = threading.Thread(target=answer)
        thread.start()
        argv = [str(CLIENT), str(tmp_path), str(tmp_path / "socket"), "1000", "0", "codex", "Stop"]
        command = [sys.executable, "-I", "-S", "-c", program, *argv]
        done = subprocess.run(command, input=b"{}", capture_output=True, timeout=60, check=True)
        thread.join()
    assert answers[0].startswith(b"POST /hook?harness=codex&event=Stop&")
    assert set(done.stdout.decode().split()) <= ALLOWED


def call_in(data: DataDir) -> Call:
    return Call([str(data.root), str(data.socket), "1000", "0", "codex", "Stop"])


def test_client_and_data_directory_agree_on_names(tmp_path: Path) -> None:
    data = DataDir(tmp_path)
    assert call_in(data).spool == str(data.spool)
    assert call_in(data).breaker == str(data.breaker)
    source = (CLIENT / "autostart.py").read_text(encoding="utf-8")
    assert f"/{data.start_attempt.name}" in source and f"/{data.down_marker.name}" in source
    assert f"/{data.rejects.name}" in (CLIENT / "undelivered.py").read_text(encoding="utf-8")


WHOLE = [
    b"{}",
    b' {"a": {"b": [1, 2]}}\n',
    json.dumps({"text": 'brace } bracket ] quote " backslash \\ both \\" é'}).encode(),
    json.dumps({"ends with a backslash \\": ["\\", '"', '\\"', "}{", "[["]}).encode(),
]


@pytest.mark.parametrize("body", WHOLE)
def test_whole_object_is_told_from_every_part_of_it(body: bytes) -> None:
    assert is_whole(body)
    text = body.rstrip()
    assert [n for n in range(len(text)) if is_whole(text[:n])] == []


@pytest.mark.parametrize("body", [b"", b"[1]", b'"}"', b'{"a":1}}', b'{"a":[}'])
def test_other_bytes_are_no_whole_object(body: bytes) -> None:
    assert not is_whole(body)


@pytest.mark.parametrize("raw", [b"/a b/c&d=e?f#g%h+i", "/größe/日本".encode(), b"/\xff\xfe", bytes(range(1, 256))])
def test_any_path_survives_the_query(raw: bytes) -> None:
    quoted = quote(raw)
    assert unquote_to_bytes(quoted) == raw
    assert quoted.isascii() and not set(quoted) & set(" &=?#+\r\n")


def test_daemon_listens_where_the_launcher_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """A data path too long for a socket has it elsewhere; a hook's bare environment would find another place."""
    data = DataDir(Path("/data/" + "x" * 120), runtime_dir="/run/user/1000")
    env = environment(str(data.root), str(data.socket))
    assert DataDir(data.root, env["XDG_RUNTIME_DIR"]).socket == data.socket


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ('[capture]\nmode = "off"', "drop"), ("[capture]\nmode = 1", "metadata"), ("capture = 1", "metadata"),
        ("", None), ("[", "metadata"), ('[capture]\nignore = ["x["]', "metadata"), ('[capture]\nmode = "full"', "full"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_counts_as_strict(tmp_path: Path, text: str, level: str | None) -> None:
    path = tmp_path / ".aimemory.toml"
    path.write_text(text)
    told = told_by(bytes(path))
    assert (None if told is None else level_of(spooled(), told)) == level


def spooled(body: object = None) -> SpoolFile:
    return SpoolFile(harness="codex", event="PostToolUse", at_ns=1, pid=1, cwd=None, body=body or {"a": 1})


def test_nearest_file_that_says_something_of_capture_decides(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / ".aimemory.toml").write_text('[capture]\nmode = "off"')
    (tmp_path / "a" / ".aimemory.toml").write_text('project = "x"')
    told = capture_told(bytes(deep))
    assert told is not None and told.is_off
    (tmp_path / "a" / ".aimemory.toml").write_text('[capture]\nmode = "full"')
    told = capture_told(bytes(deep))
    assert told is not None and not told.is_off
    assert capture_told(None) is None


def test_linked_work_tree_is_held_to_the_rules_of_its_main_one(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / ".aimemory.toml").write_text('[capture]\nmode = "off"')
    (tmp_path / "wt").mkdir()
    (tmp_path / "wt" / ".git").write_text(f"gitdir: {tmp_path}/app/.git/worktrees/wt\n")
    told = capture_told(bytes(tmp_path / "wt"))
    assert told is not None and told.is_off


def test_fault_in_the_sanitiser_is_counted_and_nothing_raw_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: bytes) -> None:
        raise AssertionError

    monkeypatch.setattr(undelivered, "sanitize_payload", fails)
    call = call_in(DataDir(tmp_path))
    call.body = b'{"a": 1}'
    keep(call, None)
    assert json.loads((tmp_path / "spool" / ".dropped").read_text()) == {"end": 1}
    assert list((tmp_path / "spool").glob("*.json")) == []
