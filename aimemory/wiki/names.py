"""Names in the wiki: what we choose, what a caller may name, and which files on disk are not pages.

Does no IO; `files` guards against what a name can't show (symlinks).
"""

import fnmatch
import re
import unicodedata
from urllib.parse import unquote

from aimemory.datadir import TEMP_PREFIX
from aimemory.errors import UserError

PAGE_SUFFIX = ".md"

IGNORED_NAMES = (
    ".*",  # .git, .obsidian, .trash, .DS_Store, vim's swap and emacs' lock files
    "*~",
    "#*#",
    "*.tmp",
    "*.bak",
    "*.orig",
    "*.rej",
    "*.part",
    "*___jb_tmp___",
    "*___jb_old___",
    "*.sync-conflict-*",
    "*(*conflicted copy*)*",
)
"""Glob patterns of hidden, temporary, backup and conflict names; the walk skips them."""

GITIGNORE = "\n".join(
    (
        "# Written once; change it as you like.",
        ".obsidian/",
        ".trash/",
        ".DS_Store",
        ".*.sw?",
        ".#*",
        f"{TEMP_PREFIX}*",
        *(f"\\{name}" if name.startswith("#") else name for name in IGNORED_NAMES if name != ".*"),
        "",
    )
)
"""Text of the wiki's `.gitignore`: the same names for git, so that `git status` shows pages only."""

_IGNORED = re.compile("|".join(fnmatch.translate(name) for name in IGNORED_NAMES))
_DEVICES = frozenset(
    ("con", "prn", "aux", "nul", "conin$", "conout$", *(p + digit for p in ("com", "lpt") for digit in "0123456789¹²³"))
)
_MAX_PART_BYTES, _MAX_PATH_BYTES = 255, 4000
"""What lies there, a person's own names included: what file systems allow."""
_MAX_NEW_PART_BYTES, _MAX_NEW_PATH_BYTES = 240, 900
"""What is made through us. The rest is left to the prefix and suffix of temporary names, and to the data directory
where PATH_MAX is shortest (1,024 on macOS)."""
_UNPORTABLE = re.compile(r'[<>:"|?*]')


def slug(title: str, fallback: str, max_bytes: int = 80) -> str:
    """A readable portable file name (without suffix) for a title; letters of every script are kept.

    NFC, lower case, words joined by `-`, at most `max_bytes` bytes of UTF-8, cut between characters.
    A title without letters or digits gives the fallback, treated the same way; never empty.
    """
    name = _words(title, max_bytes) or _words(fallback, max_bytes) or "untitled"
    return f"{name}_" if name in _DEVICES else name


def is_ours_ignored(name: str) -> bool:
    """Whether a file or folder of this name is no part of the wiki: hidden, temporary, a backup or a conflict copy."""
    return _IGNORED.match(name) is not None


def check_page_path(path: str) -> str:
    """The path of a page: relative, `/` between parts, spelled as given; `WikiFiles.spelling` knows the disk's.

    Raises UserError for anything that could lead out of the tree or into a hidden folder, also when the percent
    escapes in it are decoded, for names that no file system takes, and for what is no `.md` file.
    """
    problem = _problem(path) or _decoded_problem(path)
    if problem:
        raise UserError(
            f"{_shown(path)} can't be a page: {problem}. Give a path below wiki/, like default/app/notes/a.md."
        )
    return path


def check_new_page_path(path: str) -> str:
    """Like `check_page_path`, for a page about to be created: NFC, every part also a name on all platforms.

    A person's own names are kept as they are; names that are made through us must not break a checkout elsewhere.
    """
    checked = unicodedata.normalize("NFC", check_page_path(path))
    if too_long := _too_long(checked, _MAX_NEW_PART_BYTES, _MAX_NEW_PATH_BYTES):
        raise UserError(f"{_shown(path)} can't be created: {too_long}. Choose a shorter name.")
    for part in checked.split("/"):
        stem = part.split(".", 1)[0].rstrip(" ").lower()
        if stem in _DEVICES:
            raise UserError(f"{_shown(path)} can't be created: {part!a} is a device name on Windows. Choose another.")
        if _UNPORTABLE.search(part) or part.endswith((".", " ")):
            raise UserError(f"{_shown(path)} can't be created: {part!a} is no file name on Windows. Choose another.")
    return checked


def unusable(name: str) -> str | None:
    """Why a file or folder of this name, which somebody made, is left out: no request could name what it holds."""
    if name.isascii() and name.isprintable() and "\\" not in name and "%" not in name:
        return None
    probe = name if name.endswith(PAGE_SUFFIX) else f"{name}/x{PAGE_SUFFIX}"
    return _problem(probe) or _decoded_problem(probe)


def _words(text: str, max_bytes: int) -> str:
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).lower())
    out: list[str] = []
    for char in text:
        if char.isalnum() or (out and out[-1] != "-" and _is_mark(char)):
            out.append(char)
        elif char not in "'’" and unicodedata.category(char) != "Cf" and out and out[-1] != "-":
            out.append("-")
    return _cut("".join(out), max_bytes).strip("-")


def _is_mark(char: str) -> bool:
    """A vowel sign or accent that belongs to the letter before it; not a variation selector of an emoji."""
    return unicodedata.category(char) in ("Mn", "Mc") and not (
        "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"
    )


def _cut(text: str, max_bytes: int) -> str:
    raw = text.encode("utf-8")
    if len(raw) <= max_bytes:
        return text
    kept = raw[:max_bytes].decode("utf-8", "ignore")
    if _is_mark(text[len(kept)]):  # a letter that lost its mark is another letter
        while kept and _is_mark(kept[-1]):
            kept = kept[:-1]
        kept = kept[:-1]
    return kept


def _problem(path: str) -> str | None:
    if not path:
        return "it is empty"
    if any(0xD800 <= ord(char) <= 0xDFFF for char in path):
        return "it is no UTF-8"
    if any(ord(char) < 32 or ord(char) == 127 for char in path):
        return "it holds control characters"
    if "\\" in path:
        return "it holds a backslash"
    if path.startswith("/"):
        return "it is absolute"
    parts = path.split("/")
    if "" in parts:
        return "one of its parts is empty"
    if any(part in (".", "..") for part in parts):
        return "it holds `.` or `..`"
    if any(part.startswith(".") for part in parts):
        return "one of its parts is hidden"
    if not path.endswith(PAGE_SUFFIX):
        return f"it doesn't end in {PAGE_SUFFIX}"
    return _too_long(path, _MAX_PART_BYTES, _MAX_PATH_BYTES)


def _too_long(path: str, part_bytes: int, path_bytes: int) -> str | None:
    if any(len(part.encode("utf-8")) > part_bytes for part in path.split("/")):
        return f"one of its parts has more than {part_bytes} bytes"
    return f"it has more than {path_bytes} bytes" if len(path.encode("utf-8")) > path_bytes else None


def _decoded_problem(path: str) -> str | None:
    """Some clients and proxies decode a path once more than the one that checked it, so the decoded forms count."""
    for _ in range(3):
        decoded = unquote(path)
        if decoded == path:
            return None
        path = decoded
        problem = _problem(path)
        if problem:
            return f"decoded, {problem}"
    return "it is encoded more than twice"


def _shown(path: str) -> str:
    return ascii(path if len(path) <= 100 else path[:97] + "…")
