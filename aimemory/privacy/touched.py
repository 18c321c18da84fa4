"""What an event touches: paths in a tool's arguments, words of shell commands, files that an output quotes. Pure text.

Names more rather than less: a name too many costs a memory one event, a name too few what it should not hold. What only
the shell knows (variables set elsewhere, what a script does) can't be seen.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote

from aimemory.model.shellwords import Lexer, Word

MAX_NAMED = 4000
_MAX_CHARS = 4096
_MAX_DEPTH = 6
_MAX_BRACES = 64
_MAX_DIRS = 16
_PARTS = re.compile(r"[\s=:<>|&;()`'\",{}$@]+")
_SPLIT = re.compile(r"[=:,@]")
_PATHLIKE = re.compile(r"[/~]|^\.|\.\w{1,12}\Z")
_PATCHED = re.compile(
    r"^(?:\*\*\* (?:Add File|Update File|Delete File|Move to): ?|diff --(?:git|cc|combined) (?:\"?a/)?"
    r"|(?:\+\+\+|---) (?:\"?[abciow]/)?|(?:rename|copy) (?:from|to) )([^\n\t]+?)\"?[ \t]*$",
    re.MULTILINE,
)
_QUOTED = re.compile(
    r"^(?:==> ([^\n]+) <==$|:{14}\n([^\n]{1,400})\n:{14}$|([^\s:]{1,400})\n(?=\d+[:-])"
    r"|([^\s:]{1,400}):(?=\S|\d+[:-]|[ \t])|([^\s:]{1,400}?)-\d+-)",
    re.MULTILINE,
)
_COLOURS = re.compile(r"\x1b\[[\d;]{0,30}[mK]")
_ADDRESS = re.compile(r"\b(?!(?i:file):)[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s;|&'\"`<>()$]+")
_MESSAGE = re.compile(
    r"(\b(?:git|gh|glab)[ ](?:[^\n;&|<>`$]{0,200}?[ ])?)(?:-[a-z]{0,2}m|--(?:message|body|title|notes|description))"
    r"(?:[ ]{1,4}|=)(?:'[^']*'|\"(?>(?:[^\"\\$`]|\\.)*)\")"
)
"""A commit's or a request's text: it speaks of files and shows none."""

_ENVIRONMENT = re.compile(r"(?:process|import\.meta|Deno|Bun)\.env(?:\.\w+)*")
_PATH_KEYS = re.compile(
    r"(?i)(?:^|[_\-.])(?:abs(?:olute)?_?)?(?:path|file|filename|dir|director(?:y|ies)|folder|notebook|uri|root|cwd|"
    r"workdir|glob|include|source|src|target|dest|destination|workspace)s?(?:_?(?:path|name|uri|root)s?)?$"
    r"|(?:[a-z]|^)(?:Path|File|FileName|Dir|Directory|Folder|Uri|Root|Glob)s?$"
)
_COMMAND_KEYS = re.compile(r"(?i)^(?:command|cmd|script|shell|bash|argv?|args|code|chars|input|commands?_?line)s?$")
_PROSE_KEYS = re.compile(
    r"(?i)^(?:content|contents|text|body|(?:old|new)_?(?:string|str|text|source)|prompt|description|query|message|title)$"
)
_TRANSCRIPT = re.compile(r"(?i)transcript")
_PATCH_BEGINS, _PATCH_ENDS = "*** Begin Patch", "*** End Patch"
_DOCUMENT = re.compile(r"\b(?:cat|tee)\b[^\n<]*<<-?[ \t]*(['\"]?)(\w+)\1[^\n|]*\n")
_MAX_DOCUMENTS = 50
_MAX_MESSAGES = 8
_MAX_JSON = 1 << 16
_IS_SED = re.compile(r"^s([/|,#!])")
_OWN_DIR = ("-C", "--directory", "--cwd", "--prefix", "--git-dir", "--work-tree", "--chdir")
_RUNNERS = frozenset([
    "make", "gmake", "npm", "pnpm", "yarn", "bun", "deno", "cargo", "go", "docker", "podman", "just", "gradle",
    "gradlew", "mvn", "mvnw", "task", "rake", "invoke", "nox", "tox", "poetry", "uv", "pip", "pip3", "pipx", "pdm",
    "hatch", "kubectl", "helm", "terraform", "systemctl", "brew", "apt", "apt-get", "dotnet", "bazel", "buck2",
    "ninja", "meson", "cmake", "ctest", "composer", "bundle", "mix", "sbt", "rustup", "nx", "turbo", "lerna",
    "echo", "printf",
])  # fmt: skip
"""Programs whose bare words are names of targets: `npm run build` touches no folder `build`."""


class Named(NamedTuple):
    """A path as something named it. text: absolute, relative or with `~`. dirs: where it may count from, the likeliest
    last, relative to the event's own directory ("" is that one). is_glob: a shell's pattern. is_sure: it is a path for
    sure, and no other word of a command.
    """

    text: str
    dirs: tuple[str, ...] = ("",)
    is_glob: bool = False
    is_sure: bool = True


def in_arguments(value: Any, key: str = "", depth: int = 0) -> Iterator[Named]:
    """The paths in a tool's arguments, whatever the tool: by the argument's name, or by what they look like."""
    if depth > _MAX_DEPTH * 2:
        return
    if isinstance(value, dict):
        for name, item in value.items():
            if isinstance(name, str) and not _TRANSCRIPT.search(name):
                if "/" in name:  # a map from paths
                    yield from _in_text(name, "path")
                yield from in_arguments(item, name, depth + 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from in_arguments(item, key, depth + 1)
    elif isinstance(value, str) and value:
        yield from _in_text(value, key, depth)


def _in_text(text: str, key: str, depth: int = 0) -> Iterator[Named]:
    if _PROSE_KEYS.search(key):
        return
    if "\n" in text:
        yield from patched(text)
    if text.lstrip().startswith(_PATCH_BEGINS):
        return
    if text[0] in "{[" and len(text) <= _MAX_JSON:  # arguments within an argument
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            pass
        else:
            yield from in_arguments(value, key, depth + 1)
            return
    if _COMMAND_KEYS.search(key):
        yield from in_command(text)
    elif _PATH_KEYS.search(key) and "\n" not in text:
        yield from _named(text, ("",), quoted=True, is_sure=True)
    elif _PATHLIKE.search(text) and not re.search(r"\s", text):
        yield from _named(text, ("",), quoted=True, is_sure="/" in text)


def patched(text: str) -> Iterator[Named]:
    """Files that a patch in the text is about, in each of the usual forms."""
    for found in _PATCHED.finditer(text):
        first, _, second = found[1].partition(" b/")
        for name in filter(None, (first, second)):
            if name != "/dev/null":
                yield Named(name)


def quoted(output: str) -> Iterator[Named]:
    """Files whose content an output shows by name: diffs, `grep`, `head` of several files."""
    if "\x1b[" in output:
        output = _COLOURS.sub("", output)
    yield from patched(output)
    seen = set()
    for found in _QUOTED.finditer(output):
        name = next(filter(None, found.groups()))
        if name not in seen and ("/" in name or "." in name):
            seen.add(name)
            yield Named(name)


def in_command(command: str, dirs: tuple[str, ...] = ("",), depth: int = 0) -> Iterator[Named]:
    """Every word of a shell command that may be a path, redirections and inner commands included."""
    if depth == 0:
        for _ in range(_MAX_MESSAGES):
            command, count = _MESSAGE.subn(r"\1", command)
            if not count:
                break
    told = _Line(dirs, depth)
    yield from told.read(command)
    if depth == 0:  # and whatever the reading of words didn't part: text of here-documents, unfinished quotes
        yield from patched(command)
        for part in _PARTS.split(_ADDRESS.sub(" ", _without_content(command))):
            if ("/" in part or "." in part or "\\" in part) and not part.startswith("-"):
                yield from _named(part, told.dirs, quoted=True, is_sure=False)


def _without_content(command: str) -> str:
    """The command without what it writes: patches (whose files are known by their heads), here-documents of `cat`."""
    rest, at = [], 0
    for _ in range(_MAX_DOCUMENTS):
        patch = command.find(_PATCH_BEGINS, at)
        document = _DOCUMENT.search(command, at)
        if document is not None and (patch < 0 or document.start() < patch):
            start, end = (
                document.end(),
                re.compile(rf"^\t*{document[2]}$", re.MULTILINE).search(command, document.end()),
            )
            after = end.start() if end else -1
        elif patch >= 0:
            start, after = patch, command.find(_PATCH_ENDS, patch)
        else:
            break
        if after < 0:
            break
        rest.append(command[at:start])
        at = after
        if at == patch or command.startswith(_PATCH_ENDS, at):
            at += len(_PATCH_ENDS)
    return "".join(rest) + command[at:]


class _Line:
    """Reads a command line from left to right; `dirs` are the directories it has been in."""

    def __init__(self, dirs: tuple[str, ...], depth: int) -> None:
        self.dirs = dirs
        self._depth = depth
        self._program = ""
        self._bare_counts = True
        self._before = ""

    def read(self, command: str) -> Iterator[Named]:
        for token in Lexer(command).tokens():
            if isinstance(token, str):
                self._program, self._before = "", ""
                continue
            yield from self._word(token)
            for inner in token.inner if self._depth < _MAX_DEPTH else ():
                yield from in_command(inner, self.dirs, self._depth + 1)

    def _word(self, word: Word) -> Iterator[Named]:
        text = word.text
        if word.redirect:
            if "<<" not in word.redirect or word.redirect.endswith("<<<"):
                yield from _named(text, self.dirs, quoted=not word.plain, is_sure=not text.isdigit())
            return
        if not self._program:
            yield from self._first(text)
            return
        before, self._before = self._before, text
        if before in _OWN_DIR or (self._program in ("cd", "pushd") and not text.startswith("-")):
            self._enter(text)
        if text == "--":
            self._bare_counts = True
        yield from self._pieces(word, before)

    def _first(self, text: str) -> Iterator[Named]:
        if re.match(r"[A-Za-z_]\w*\+?=", text):  # an assignment: the program is still to come
            yield from _named(text.partition("=")[2], self.dirs, quoted=False, is_sure=False)
            return
        self._program = text.rpartition("/")[2]
        self._bare_counts = self._program not in _RUNNERS
        if "/" in text:
            yield Named(text, self.dirs, is_sure=False)

    def _enter(self, folder: str) -> None:
        here = self.dirs[-1]
        there = folder if folder.startswith(("/", "~", "$")) or not here else f"{here}/{folder}"
        if there not in self.dirs:
            self.dirs = (*self.dirs, there)[-_MAX_DIRS:]

    def _pieces(self, word: Word, before: str) -> Iterator[Named]:
        text = word.text
        if not word.plain and re.search(r"\s", text):
            runs = before.startswith("-") and before.rstrip("'\"").endswith("c")
            if (runs or self._program in ("eval", "ssh", "watch", "su")) and self._depth < _MAX_DEPTH:
                yield from in_command(text, self.dirs, self._depth + 1)
            elif not word.inner and len(text) < 256 and "\n" not in text:  # a file's name with a space in it
                yield Named(text, self.dirs, is_sure=False)
            return
        is_option = text.startswith("-")
        is_bare = not _PATHLIKE.search(text)
        if before not in _OWN_DIR and (
            (is_option and "/" not in text and "=" not in text) or (is_bare and not self._bare_counts)
        ):
            return
        sure = bool(_PATHLIKE.search(text)) and not is_option
        yield from _named(text, self.dirs, quoted=not word.plain, is_sure=sure)
        if is_option and len(text) > 2:
            yield from _named(text[2:].lstrip("="), self.dirs, quoted=True, is_sure=False)
        pieces = [] if _ADDRESS.match(text) else _SPLIT.split(text)
        for piece in pieces[1:] if len(pieces) > 1 else ():
            yield from _named(piece, self.dirs, quoted=not word.plain, is_sure=False)
        if len(pieces) > 1 and pieces[0] and not is_option:
            yield from _named(pieces[0], self.dirs, quoted=not word.plain, is_sure=False)


def _named(text: str, dirs: tuple[str, ...], *, quoted: bool, is_sure: bool) -> Iterator[Named]:
    """A word as paths: URIs, other separators, braces and wildcards."""
    if not 0 < len(text) < _MAX_CHARS or text in (".", "./", "-", "--") or "\0" in text:
        return
    if _ENVIRONMENT.fullmatch(text):
        return
    if re.match(r"(?i)file:/", text):
        text = unquote(re.sub(r"(?i)^file:(?://[^/]*)?", "", text))
    elif re.match(r"[A-Za-z][\w+.-]*://", text):
        return
    if "\\" in text:
        text = text.replace("\\", "/")
    if re.match(r"[A-Za-z]:/", text):
        text = text[2:]
    for one in _unbraced(text) if "{" in text else (text,):
        is_glob = any(char in one for char in "*?[")
        if is_glob and quoted and (not re.fullmatch(r"[\w./*?\[\]!^~@+,-]+", one) or ".*" in one or _IS_SED.match(one)):
            is_glob = False
        yield Named(one, dirs, is_glob, is_sure)


def _unbraced(text: str) -> Iterable[str]:
    """`a/{b,c}` as the words that a shell makes of it; too many become one with a wildcard in their place."""
    words = [text]
    for _ in range(8):
        after: list[str] = []
        for word in words:
            found = re.search(r"(?<!\$)\{([^{}]*,[^{}]*)\}", word)
            if found is None:
                after.append(word)
            else:
                after += [word[: found.start()] + choice + word[found.end() :] for choice in found[1].split(",")]
        if len(after) > _MAX_BRACES:
            return [re.sub(r"\{[^{}]*\}", "*", text)]
        if after == words:
            break
        words = after
    return words
