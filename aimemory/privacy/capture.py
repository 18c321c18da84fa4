"""Capture rules: how much a project wants kept of its events, and which paths are no business of a memory."""

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal, TypeAlias, get_args

from aimemory.model.event import Event
from aimemory.privacy.ignore import BadPattern, Pattern, Patterns, parse_pattern, shell_parts
from aimemory.privacy.touched import MAX_NAMED, Named, in_arguments, in_command, quoted

Mode: TypeAlias = Literal["full", "metadata", "off"]
Level: TypeAlias = Literal["full", "metadata", "drop"]
_STRICTNESS: tuple[str, ...] = get_args(Mode)
LISTS = ("ignore", "metadata", "only")
_KEYS = ("mode", *LISTS)
IGNORED = "ignored path"
OFF = "capture is off"
_DEVICES = ("/dev/", "/proc/self/fd/")


@dataclass(frozen=True, slots=True)
class Tree:
    """What the patterns of a `.aimemory.toml` count from. root: its folder, absolute; empty where there is none, then
    they count from the event's own directory.

    top: top of the work tree that root belongs to. others: tops of the same repository's other work trees. home: what
    `~` is. fold: the file system ignores case.
    """

    root: str = ""
    top: str = ""
    others: tuple[str, ...] = ()
    home: str = ""
    fold: bool = False


@dataclass(frozen=True, slots=True)
class CaptureRules:
    """mode: how much is kept in general. ignore: events that touch these paths are dropped. metadata: of those only
    names, times and outcomes are kept. only: tool calls are kept in full only if all they touch lies in here.
    """

    mode: Mode = "full"
    ignore: Patterns = Patterns()  # noqa: RUF009  # never changed
    metadata: Patterns = Patterns()  # noqa: RUF009
    only: Patterns = Patterns()  # noqa: RUF009

    @property
    def has_paths(self) -> bool:
        return bool(self.ignore or self.metadata or self.only)


@dataclass(frozen=True, slots=True)
class Dropped:
    """An event that must not be kept, and why, in words without content."""

    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """level: what is kept. rule: the setting that decided (`mode`, `ignore`, `metadata`, `only`), "" for none. pattern,
    path: where a path decided.
    """

    level: Level
    rule: str = ""
    pattern: str = ""
    path: str = ""

    @property
    def reason(self) -> str:
        """In words without content."""
        return IGNORED if self.rule == "ignore" else OFF


def rules_from_table(
    table: Mapping[str, object], lines: Mapping[str, Sequence[int]] | None = None
) -> tuple[CaptureRules, list[str]]:
    """The rules in the `[capture]` table of `.aimemory.toml`, and all problems found.

    lines: for each key the lines of its values, where they are known; problems then begin with them.

    What can't be understood counts as the strictest thing it could mean: beside an unknown mode, an unknown key or a
    pattern that can't be used, only metadata is kept of everything.
    """
    lines = lines or {}
    problems = [
        f"{_line(lines, key)}[capture] {key} is not a known setting ({', '.join(_KEYS)}); metadata is used"
        for key in table
        if key not in _KEYS
    ]
    mode: Mode = "full"
    given = table.get("mode", "full")
    if given == "full" or given == "metadata" or given == "off":
        mode = given
    else:
        problems.append(
            f"{_line(lines, 'mode')}[capture] mode is not one of {', '.join(_STRICTNESS)}; metadata is used"
        )
    lists: dict[str, Patterns] = {}
    for key in LISTS:
        usable, bad = _usable(key, table.get(key, []), lines)
        lists[key] = Patterns(usable)
        problems += bad
    if problems and mode != "off":
        mode, lists["only"] = "metadata", Patterns()
    return CaptureRules(mode, **lists), problems


def _line(lines: Mapping[str, Sequence[int]], key: str, number: int = 0) -> str:
    return f"line {lines[key][number]}: " if number < len(lines.get(key, ())) else ""


def _usable(key: str, given: object, lines: Mapping[str, Sequence[int]]) -> tuple[list[str], list[str]]:
    usable, problems = [], []
    for number, pattern in enumerate(given if isinstance(given, list) else [given]):
        at = _line(lines, key, number)
        if not isinstance(pattern, str):
            problems.append(f"{at}[capture] {key} takes a list of patterns in quotes; metadata is used")
            continue
        try:
            if parse_pattern(pattern) is None:
                raise BadPattern("it is empty, or a comment")
            usable.append(pattern)
        except BadPattern as error:
            problems.append(f"{at}[capture] {key}: the pattern {pattern!r} can't be used ({error}); metadata is used")
    return usable, problems


def stricter(mode: Mode, rules: CaptureRules) -> CaptureRules:
    """The rules, with a mode at least as strict as this one; one that isn't `full` leaves no path an exception."""
    if mode == "full":
        return rules
    return replace(rules, mode=max(mode, rules.mode, key=_STRICTNESS.index), only=Patterns())


def apply(event: Event, rules: CaptureRules, tree: Tree, real: Callable[[str], str] | None = None) -> Event | Dropped:
    """What may be kept of an event: all of it, metadata, or nothing.

    An event is dropped whole if it wrote or read an ignored path, or if a word of its command names one: its output
    would hold what the path holds. real: a path without links; None looks at no disk. Give an event that isn't capped
    yet, since what is cut off may name a path.
    """
    verdict = judge(event, rules, tree, real)
    if verdict.level == "drop":
        return Dropped(verdict.reason)
    return metadata_of(event) if verdict.level == "metadata" else event


def judge(event: Event, rules: CaptureRules, tree: Tree, real: Callable[[str], str] | None = None) -> Verdict:
    """As `apply`, with what decided."""
    return judge_named(touched_by(event), rules, tree, event.cwd or "", real, is_call=event.tool is not None)


def judge_named(
    named: Iterable[Named], rules: CaptureRules, tree: Tree, cwd: str, real: Callable[[str], str] | None = None, *,
    is_call: bool,
) -> Verdict:  # fmt: skip
    """The verdict over what is touched. cwd: where that was. is_call: it is a tool's call, which `only` is about."""
    if rules.mode == "off":
        return Verdict("drop", "mode")
    general = Verdict("metadata", "mode") if rules.mode == "metadata" else Verdict("full")
    if not rules.has_paths:
        return general
    places = _Places(rules, tree, cwd, real)
    found = general
    sure: list[Named] = []
    for one in islice(named, MAX_NAMED):
        for setting, patterns in (("ignore", places.ignore), ("metadata", places.metadata)):
            taken = places.taken(one, patterns)
            if taken is None:
                continue
            if setting == "ignore":
                return Verdict("drop", "ignore", taken.text, one.text)
            found = found if found.pattern else Verdict("metadata", "metadata", taken.text, one.text)
        if one.is_sure or places.is_there(one):
            sure.append(one)
    for setting, patterns in (("ignore", places.ignore), ("metadata", places.metadata)):
        taken = places.takes_cwd(patterns)
        if taken is not None:
            if setting == "ignore":
                return Verdict("drop", "ignore", taken.text, cwd)
            found = found if found.pattern else Verdict("metadata", "metadata", taken.text, cwd)
    if found.pattern or not rules.only or not is_call:
        return found
    return places.within(sure, cwd)


def touched_by(event: Event) -> Iterator[Named]:
    """What an event names: files, arguments, words of its command, and what its output quotes."""
    for path in (*event.files_written, *event.files_read):
        yield Named(path)
    if event.command:
        yield from in_command(event.command)
    yield from in_arguments(event.input)
    yield from in_arguments(event.extra)
    for output in (event.output, event.error):
        if output:
            yield from (one._replace(is_sure=False) for one in quoted(output))


class _Places:
    """Holds what is named against the patterns, in every form in which it may be the same path."""

    def __init__(self, rules: CaptureRules, tree: Tree, cwd: str, real: Callable[[str], str] | None) -> None:
        lists = (rules.ignore, rules.metadata, rules.only)
        self.ignore, self.metadata, self.only = (x.folded() for x in lists) if tree.fold else lists
        self._tree = tree
        self._cwd = cwd or tree.root or "/"
        self._root = posixpath.normpath(tree.root or self._cwd)
        self._real = real
        self._known: dict[str, tuple[str, ...]] = {}
        self._taken: dict[tuple[Named, int], Pattern | None] = {}

    def taken(self, one: Named, patterns: Patterns) -> Pattern | None:
        """The pattern that takes it, in any of its forms."""
        if not patterns:
            return None
        key = (one, id(patterns))
        if key not in self._taken:
            self._taken[key] = self._first_that_takes(one, patterns)
        return self._taken[key]

    def _first_that_takes(self, one: Named, patterns: Patterns) -> Pattern | None:
        for path in self._absolute(one):
            if one.is_glob:
                inside = self._inside(path)
                found = patterns.may_take(shell_parts(inside if inside is not None else path))
                if found is not None:
                    return found
            for form in self._forms(path):
                if (found := self._takes(form, patterns)) is not None:
                    return found
        return None

    def takes_cwd(self, patterns: Patterns) -> Pattern | None:
        """The pattern that takes the directory in which it happened."""
        if not patterns or not self._cwd.startswith("/"):
            return None
        forms = self._forms(self._cwd)
        return next((found for form in forms if (found := self._takes(form, patterns, is_dir=True)) is not None), None)

    def within(self, sure: Sequence[Named], cwd: str) -> Verdict:
        """Whether all of it lies within `only`: what is named, or without that the directory."""
        if not sure:
            taken = self.takes_cwd(self.only)
            return Verdict("full", "only", taken.text, cwd) if taken else Verdict("metadata", "only", "", "")
        last = ""
        for one in sure:
            path = self._absolute(one)[-1]
            if path.startswith(_DEVICES):
                continue
            forms = self._forms(path)
            taken = None
            if not one.is_glob:
                inside = [form for form in forms if self._inside(form) is not None]
                taken = next((t for f in inside if (t := self._takes(f, self.only)) is not None), None)
            else:
                folder = path[: min(path.find(char) % (len(path) + 1) for char in "*?[")].rpartition("/")[0]
                taken = self._takes(folder, self.only, is_dir=True) if folder else None
            if taken is None:
                return Verdict("metadata", "only", "", one.text)
            last = taken.text
        return Verdict("full", "only", last) if last else Verdict("metadata", "only")

    def is_there(self, one: Named) -> bool:
        """Whether a word that need not be a path is one after all."""
        if self._real is None or one.is_glob or not self.only:
            return False
        return posixpath.lexists(self._absolute(one)[-1])

    def _absolute(self, one: Named) -> list[str]:
        """In each directory that it may count from, the likeliest last."""
        found = []
        for folder in one.dirs:
            path = posixpath.join(self._cwd, self._expanded(folder), self._expanded(one.text))
            ends = "/" if one.text.endswith("/") and len(one.text) > 1 else ""
            found.append(posixpath.normpath(path) + ends)
        return found

    def _expanded(self, text: str) -> str:
        home = self._tree.home
        variables = {"$PWD": self._cwd, "${PWD}": self._cwd, "$HOME": home, "${HOME}": home, "~": home}
        for name, value in variables.items() if text[:1] in ("$", "~") else ():
            if value and (text == name or text.startswith(name + "/")):
                return value + text[len(name) :]
        return text

    def _forms(self, path: str) -> tuple[str, ...]:
        """The path, where its links lead, and each as the same path of the root's own work tree."""
        known = self._known.get(path)
        if known is None:
            forms = [path]
            if self._real is not None and (there := self._real(path)) != path.rstrip("/"):
                forms.append(there)
            for other in self._tree.others:
                forms += [self._tree.top + f[len(other) :] for f in forms if f == other or f.startswith(other + "/")]
            known = self._known[path] = tuple(dict.fromkeys(forms))
        return known

    def _inside(self, path: str) -> str | None:
        """Relative to the root, None for what lies outside."""
        if self._root == "/":
            return path[1:]
        return path[len(self._root) + 1 :] if path.startswith(self._root + "/") else None

    def _takes(self, path: str, patterns: Patterns, is_dir: bool | None = None) -> Pattern | None:
        inside = self._inside(path)
        if inside is not None:
            return patterns.takes(inside, is_dir) if inside.strip("/") else None
        if path.rstrip("/") == self._root or self._root.startswith(path.rstrip("/") + "/"):
            return None  # the root, or what lies around it
        # nothing is said about folders above home
        home = self._tree.home.rstrip("/") + "/"
        rest = path[len(home) :] if len(home) > 1 and path.startswith(home) else path.lstrip("/")
        return patterns.takes_outside(rest, is_dir) if rest else None


def metadata_of(event: Event) -> Event:
    """Names, times and outcomes. No transcript path either: a later reader would follow it to the content."""
    return Event(
        harness=event.harness,
        event=event.event,
        kind=event.kind,
        native_session=event.native_session,
        cwd=event.cwd,
        at_ns=event.at_ns,
        pid=event.pid,
        agent_id=event.agent_id,
        agent_type=event.agent_type,
        model=event.model,
        tool=event.tool,
        call_id=event.call_id,
        failed=event.failed,
        exit_code=event.exit_code,
        reason=event.reason,
        identity=event.identity,
    )
