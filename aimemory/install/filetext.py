"""A settings file's bytes as text and back, with its encoding and byte order mark kept."""

import codecs
import stat
from dataclasses import dataclass
from pathlib import Path

from aimemory.install.agent import CannotEdit

LIMIT_BYTES = 64 << 20
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"), (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
)  # fmt: skip
"""UTF-32 first: its mark begins with that of UTF-16."""


@dataclass(frozen=True, slots=True)
class FileText:
    """text without a mark; mark: the bytes in front of it."""

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    @property
    def features(self) -> frozenset[str]:
        """What of it not every program can read: `bom`, `utf-16`."""
        wide = self.encoding != "utf-8"
        return frozenset(["utf-16"] if wide else ["bom"] if self.mark else [])

    def encode(self, text: str) -> bytes:
        """Other text in this file's encoding. Raises CannotEdit for a path that is no Unicode."""
        try:
            return self.mark + text.encode(self.encoding)
        except UnicodeEncodeError:
            raise CannotEdit("The data directory's path is not valid UTF-8, which this file can't hold.") from None


def decode(raw: bytes) -> FileText:
    """Raises CannotEdit, naming the line, for bytes that are no text in the encoding they announce."""
    mark, encoding = next(((m, e) for m, e in _MARKS if raw.startswith(m)), (b"", "utf-8"))
    body = raw[len(mark) :]
    try:
        return FileText(body.decode(encoding), encoding, mark)
    except UnicodeDecodeError as error:
        line = body[: error.start].count(b"\n") + 1
        raise CannotEdit(f"It is not valid {encoding.upper()}.", line) from None


def line_end(text: str) -> str:
    """What ends the first line; a text of one line gets `\\n`."""
    at = text.find("\n")
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


def read_file(path: Path) -> bytes | None:
    """A settings file's bytes, None where there is none (a link that leads nowhere included).

    Raises CannotEdit for what is no readable file.
    """
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            raise CannotEdit("A directory stands in place of this file.")
        if not stat.S_ISREG(found.st_mode):
            raise CannotEdit("It is no ordinary file.")
        if found.st_size > LIMIT_BYTES:
            raise CannotEdit(f"It is larger than {LIMIT_BYTES >> 20} MiB.")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise CannotEdit(f"{path.parent} is not a directory.") from None
    except PermissionError:
        raise CannotEdit("It can't be read: permission denied.") from None
    except OSError as error:
        raise CannotEdit(f"It can't be read: {error.strerror or error}.") from None
