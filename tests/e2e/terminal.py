"""A terminal with a program in it: what it shows, and keys for it. It answers what programs ask a terminal."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable
from typing import Any

import pyte
from world import LIMIT_S, poll

ROWS, COLUMNS = 50, 120
PATIENCE_S = 3.0
_UNKNOWN = re.compile(
    rb"\x1b\[[<>=?][\d;]*u|\x1b\[>[\d;]*[a-zA-Z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b_[^\x1b]*\x1b\\"
)
"""Sequences that pyte would print: of the keyboard's protocol, of titles and colours. None draws anything."""
_WHOLE = re.compile(rb"\x1b(?:\[[^a-zA-Z@~]*[a-zA-Z@~]|[^\[\]_P]|[\]_P][^\x07]*(?:\x07|\x1b\\))")
_LONGEST = 4096


class _Screen(pyte.Screen):
    def __init__(self, reply: Callable[[bytes], None]) -> None:
        super().__init__(COLUMNS, ROWS)
        self._reply = reply

    def write_process_input(self, data: str) -> None:
        """pyte's answer to a question: where the cursor is, which kind of terminal this is."""
        self._reply(data.encode())


class Terminal:
    """The program is a session leader and has the terminal, as under a terminal emulator."""

    def __init__(self, command: list[str]) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._screen = _Screen(lambda data: os.write(self._ours, data))
        self._stream = pyte.ByteStream(self._screen)
        self._lock = threading.Lock()
        self._process = subprocess.Popen(["setsid", "--ctty", *command], stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> None:
        rest = b""
        while True:
            try:
                raw = os.read(self._ours, 1 << 16)
            except OSError:
                return  # the last process left the terminal
            whole, rest = _split(rest + raw)
            with self._lock:
                self._stream.feed(_UNKNOWN.sub(b"", whole))

    @property
    def text(self) -> str:
        with self._lock:
            return "\n".join(line.rstrip() for line in self._screen.display)

    def wait(self, words: str, limit_s: float = LIMIT_S) -> None:
        """Wait until the screen shows these words."""
        try:
            poll(lambda: words in self.text, "", limit_s)
        except AssertionError:
            raise AssertionError(f"the terminal does not show {words!r} but\n{self.text}") from None

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def press_until(self, keys: str, happened: Callable[[], Any], what: str) -> None:
        """Press keys until they do something: a program that still starts throws away what was typed before it looked.
        Only for keys that do no harm when they are pressed once more."""
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            self.press(keys)
            try:
                poll(happened, what, PATIENCE_S)
                return
            except AssertionError:
                pass
        raise AssertionError(f"{keys!r} was pressed often, but not: {what}; the terminal shows\n{self.text}")

    def say(self, prompt: str, sent: Callable[[], Any]) -> None:
        """Paste a prompt, see it on the screen, and send it off. sent: how to know that it was."""
        clear = "\x15"
        pasted = f"{clear}\x1b[200~{prompt}\x1b[201~"  # typed as fast as a program types, Enter would be a line end
        self.press_until(pasted, lambda: prompt in self.text, f"the prompt {prompt!r} is shown")
        self.press_until("\r", sent, f"the prompt {prompt!r} is sent")

    def ended(self) -> bool:
        return self._process.poll() is not None

    def close(self) -> None:
        """Close the window: what is in it is hung up."""
        if not self.ended():
            self._process.terminate()
        self._process.wait(LIMIT_S)
        self._reader.join(LIMIT_S)
        os.close(self._ours)


def _split(raw: bytes) -> tuple[bytes, bytes]:
    """(what is complete, the beginning of a sequence whose end is still to come)."""
    start = raw.rfind(b"\x1b")
    if start == -1 or len(raw) - start > _LONGEST or _WHOLE.match(raw[start:]):
        return raw, b""
    return raw[:start], raw[start:]
