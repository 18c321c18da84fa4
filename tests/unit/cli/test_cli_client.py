"""What the command line makes of an answer that doesn't come, or not whole: the daemon died, or it isn't ours."""

import socket
import threading

import pytest
from click.testing import CliRunner

from aimemory.cli.client import Client
from aimemory.cli.main import cli
from aimemory.config import load_config
from aimemory.errors import Unavailable

HEAD = b"HTTP/1.1 200 OK\r\nx-aimemory: 1\r\ncontent-type: application/json\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"
CUT = {
    "nothing": b"",
    "a part of the first line": b"HTTP/1.1 2",
    "a part of the head": HEAD,
    "a part of a header": HEAD + b"content-le",
    "no body": HEAD + b"content-length: 40\r\n\r\n",
    "a part of the body": HEAD + b'content-length: 400\r\n\r\n{"path": ',
    "a part of a chunk": CHUNKED + b'1f\r\n{"path":',
    "chunks without an end": CHUNKED + b'b\r\n{"step": 1}\r\n',
}
FOREIGN = {
    "another program": b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi",
    "noise": b"\x00\xff" * 200 + b"\n",
    "a long line": b"x" * 100_000,
}


class Dying:
    """Answers `/healthz` as a daemon does, and everything else with these bytes; then it is gone."""

    def __init__(self, path: str) -> None:
        self.answer = b""
        self.asked: list[bytes] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen(16)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                raw = connection.recv(1 << 20)
                if raw.startswith(b"GET /healthz"):
                    connection.sendall(HEAD + b"content-length: 2\r\n\r\n{}")
                    continue
                self.asked.append(raw.split(b"\r\n", 1)[0])
                connection.sendall(self.answer)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.fixture
def dying(tmp_path, monkeypatch):
    monkeypatch.setenv("AIMEMORY_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    data = load_config().data
    data.create()
    server = Dying(str(data.socket))
    yield server
    server.close()


@pytest.mark.promise("P12.220")
@pytest.mark.parametrize("what", CUT)
def test_an_answer_that_breaks_off_is_never_taken_for_a_whole_one(dying, what):
    dying.answer = CUT[what]

    written = CliRunner().invoke(cli, ["write", "A title", "-b", "its text", "-p", "app"])
    read = CliRunner().invoke(cli, ["read", "a-page"])
    built = CliRunner().invoke(cli, ["reindex"])

    for done in (written, read, built):
        assert (done.exit_code, done.stdout) == (75, ""), done.output
        assert "The daemon went away" in done.stderr
    assert "may be done or not" in written.stderr and "may be done or not" not in read.stderr
    assert len(dying.asked) == 3  # nothing was asked twice


@pytest.mark.promise("P12.220")
@pytest.mark.parametrize("what", FOREIGN)
def test_what_is_not_ours_is_not_taken_for_a_daemon_that_died(dying, what):
    dying.answer = FOREIGN[what]

    done = CliRunner().invoke(cli, ["read", "a-page"])

    assert done.exit_code == 75 and "not aimemory" in done.stderr


def test_a_connection_that_is_reset_is_a_daemon_that_died(dying, monkeypatch):
    class Reset:
        def readline(self, limit: int) -> bytes:
            raise ConnectionResetError(104, "Connection reset by peer")

        def __enter__(self) -> "Reset":
            return self

        def __exit__(self, *_: object) -> None:
            return

    monkeypatch.setattr(Client, "_send", lambda *_: Reset())
    with pytest.raises(Unavailable, match="went away"):
        Client(load_config()).request("GET", "/api/v1/status")
