"""Which program a command really runs: wrappers, launchers and inner shells taken off."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from posixpath import join, normpath

from aimemory.facts.shell import Command, Line, read_line

_MAX_UNWRAPPED = 8
_SHELLS = frozenset(["sh", "bash", "dash", "zsh", "ksh", "ash"])
_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?\Z")
_PYTHON = re.compile(r"(?:python|pypy)(?:\d(?:\.\d+)*)?(?:\.exe)?\Z")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A program that runs the rest of its words. skip: words that follow its name before the rest (`run`).

    valued: options that take the next word. first: a word that comes first and isn't the program (a duration).
    """

    skip: tuple[str, ...] = ()
    valued: frozenset[str] = frozenset()
    first: re.Pattern[str] | None = None


def _wrapper(skip: str = "", valued: str = "", first: re.Pattern[str] | None = None) -> Wrapper:
    return Wrapper(tuple(skip.split()), frozenset(valued.split()), first)


WRAPPERS: dict[str, tuple[Wrapper, ...]] = {
    "env": (_wrapper(valued="-u --unset -C --chdir -S"),),
    "time": (_wrapper(valued="-f -o"),),
    "nice": (_wrapper(valued="-n"),),
    "ionice": (_wrapper(valued="-c -n"),),
    "nohup": (_wrapper(),),
    "setsid": (_wrapper(),),
    "command": (_wrapper(),),
    "exec": (_wrapper(valued="-a"),),
    "sudo": (_wrapper(valued="-u -g -C"),),
    "doas": (_wrapper(valued="-u"),),
    "stdbuf": (_wrapper(valued="-o -e -i"),),
    "unbuffer": (_wrapper(),),
    "caffeinate": (_wrapper(),),
    "xvfb-run": (_wrapper(valued="-n -s -e"),),
    "timeout": (_wrapper(valued="-s --signal -k --kill-after", first=_DURATION),),
    "gtimeout": (_wrapper(valued="-s --signal -k --kill-after", first=_DURATION),),
    "uv": (_wrapper("run", "--with --extra --group --python -p --project --directory --package --env-file"),),
    "uvx": (_wrapper(valued="--with --from --python -p"),),
    "poetry": (_wrapper("run", "-C --directory -P --project"),),
    "pipenv": (_wrapper("run"),),
    "pdm": (_wrapper("run", "-p --project"),),
    "hatch": (_wrapper("run", "-e --env"),),
    "rye": (_wrapper("run"),),
    "pixi": (_wrapper("run", "-e --environment"),),
    "conda": (_wrapper("run", "-n --name -p --prefix"),),
    "mamba": (_wrapper("run", "-n --name -p --prefix"),),
    "bundle": (_wrapper("exec"),),
    "npx": (_wrapper(valued="-p --package -w --workspace"),),
    "bunx": (_wrapper(),),
    "pnpm": (_wrapper("exec", "-C --dir --filter"), _wrapper("dlx", "-C --dir")),
    "npm": (_wrapper("exec", "-p --package -w --workspace"),),
    "dotenv": (_wrapper(valued="-e -f"), _wrapper("run")),
    "cross-env": (_wrapper(),),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Program:
    """What is run. name: without its folder; `python -m x` is `x`. words: its arguments. directory: as far as `cd`
    says, "" for where the shell is. command: how it stands in the line. settings: assignments in force for it.
    """

    name: str
    words: tuple[str, ...]
    command: Command
    directory: str = ""
    settings: tuple[str, ...] = ()


@dataclass(slots=True)
class _Place:
    """What `cd` and `export` leave behind for the next commands."""

    directory: str = ""
    settings: list[str] = field(default_factory=list)


def programs_of(text: str) -> tuple[list[Program], bool]:
    """The programs that a command line runs, in order, and whether the line could be read to its end."""
    line = read_line(text)
    return list(_programs(line, _Place(), 0)), line.whole


def _programs(line: Line, outermost: _Place, depth: int) -> Iterator[Program]:
    places: dict[tuple[int, ...], _Place] = {(): outermost}
    for command in line.commands:
        place = _place(places, command.scope)
        words, settings = unwrapped(command)
        if not words:
            continue
        name = words[0].rpartition("/")[2].removesuffix(".exe") or words[0]
        if name == "cd":
            target = next((word for word in words[1:] if not word.startswith("-")), "~")
            place.directory = normpath(join(place.directory, target)) if target != "-" else ""
        elif name == "export":
            place.settings += words[1:]
        inner = _inner_line(name, words)
        if inner is not None and depth < _MAX_UNWRAPPED:
            yield from _inside(inner, command, place, depth)
            continue
        yield Program(name, words[1:], command, place.directory, (*place.settings, *settings))


def _place(places: dict[tuple[int, ...], _Place], scope: tuple[int, ...]) -> _Place:
    """A subshell begins where the shell around it is, and keeps to itself where it goes."""
    if scope not in places:
        around = _place(places, scope[:-1])
        places[scope] = _Place(around.directory, list(around.settings))
    return places[scope]


def _inner_line(name: str, words: tuple[str, ...]) -> str | None:
    """What `bash -lc "…"` is given to run."""
    if name == "eval":
        return " ".join(words[1:])
    if name not in _SHELLS:
        return None
    for at, word in enumerate(words[1:], 1):
        if not word.startswith(("-", "+")):
            return None
        if not word.startswith("--") and word.endswith("c"):
            return words[at + 1] if at + 1 < len(words) else None
    return None


def _inside(text: str, outer: Command, place: _Place, depth: int) -> Iterator[Program]:
    line = read_line(text)
    there = _Place(place.directory, list(place.settings))
    commands = tuple(
        replace(
            command,
            ok_if_zero=command.ok_if_zero and outer.ok_if_zero and line.whole,
            failed_if_not=command.failed_if_not and outer.failed_if_not and line.whole,
            beside=command.beside + outer.beside,
            after=command.after + outer.after,
            into_file=command.into_file or outer.into_file,
            no_errors=command.no_errors or outer.no_errors,
        )
        for command in line.commands
    )
    yield from _programs(Line(commands, line.whole), there, depth + 1)


def unwrapped(command: Command) -> tuple[tuple[str, ...], list[str]]:
    """The words of the program that is run in the end, and the assignments made for it."""
    words, settings = command.words, list(command.assigned)
    for _ in range(_MAX_UNWRAPPED):
        name = words[0].rpartition("/")[2] if words else ""
        inner = _module(name, words)
        for wrapper in WRAPPERS.get(name, ()):
            inner = inner or _rest(words, wrapper, settings)
        if not inner:
            break
        words = inner
    return words, settings


def _rest(words: tuple[str, ...], wrapper: Wrapper, settings: list[str]) -> tuple[str, ...]:
    """The words behind a wrapper and its own options; empty if it wraps nothing here."""
    at, skip, first = 1, list(wrapper.skip), wrapper.first
    while at < len(words):
        word = words[at]
        if word == "--" and not skip:
            at += 1
            break
        if word.startswith("-") and word != "-":
            at += 2 if word in wrapper.valued else 1
        elif skip:
            if word != skip.pop(0):
                return ()
            at += 1
        elif first is not None:
            if not first.match(word):
                return ()
            first = None
            at += 1
        elif _ASSIGNMENT.match(word):
            settings.append(word)
            at += 1
        else:
            break
    return () if skip or first is not None else words[at:]


def _module(name: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """`python -m x …` is `x …`, `coverage run -m x …` too; a script behind python is that script."""
    if name == "coverage" and words[1:2] == ("run",):
        at = 2
    elif _PYTHON.match(name):
        at = 1
    else:
        return ()
    while at < len(words) and words[at].startswith("-"):
        option = words[at]
        if option == "-c":
            return ()
        if option.startswith("-") and not option.startswith("--") and option.endswith("m"):
            return words[at + 1 :]
        if option.startswith("-m") and len(option) > 2:
            return (option[2:], *words[at + 1 :])
        at += 2 if option in ("-X", "-W", "--source", "--rcfile") else 1
    script = words[at] if at < len(words) else ""
    return (script, *words[at + 1 :]) if script.endswith(".py") else ()
