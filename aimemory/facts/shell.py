"""A shell command line as the simple commands in it, each with what the line's exit status says of it.

Reads the language that POSIX shells and bash share, tolerantly: nothing is run or expanded, a line that breaks off is
read as far as it goes. What the programs are is not known here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from aimemory.model.shellwords import Lexer, Word

MAX_DEPTH = 8
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_OPENERS = {"if": "fi", "while": "done", "until": "done", "for": "done", "select": "done", "case": "esac"}
_LEADING = ("then", "do", "else", "elif", "time", "!")
_STOPS = ("exit", "return")


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command, quotes removed, nothing expanded.

    words: program first; assignments before it are in `assigned`. after: the commands that its output is piped through.
    ok_if_zero: exit status 0 of the whole line proves that this command ran and ended with 0.
    failed_if_not: any other status of the line proves that this one failed, or one of `beside`, the other commands of
    its chain.
    into_file: its standard output is not shown. no_errors: its standard error is not. repeated: it stands in a loop.
    scope: the subshells around it, outermost first; what `cd` does there ends with them.
    """

    words: tuple[str, ...]
    assigned: tuple[str, ...] = ()
    after: tuple[tuple[str, ...], ...] = ()
    ok_if_zero: bool = False
    failed_if_not: bool = False
    beside: tuple[tuple[str, ...], ...] = ()
    into_file: bool = False
    no_errors: bool = False
    repeated: bool = False
    scope: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """commands: in order. whole: the line could be read to its end."""

    commands: tuple[Command, ...]
    whole: bool = True


def read_line(text: str) -> Line:
    """The commands of a line, those inside groups, loops, conditions and substitutions included."""
    return _read(text, 0)


def _read(text: str, depth: int) -> Line:
    lexer = Lexer(text)
    tokens = list(lexer.tokens())
    parser = _Parser(tokens, depth)
    commands = list(parser.line())
    return Line(tuple(commands), lexer.whole and parser.whole)


class _Parser:
    """Lists, chains, pipelines, groups. What stands in conditions and loops is found, but proves nothing."""

    def __init__(self, tokens: list[Word | str], depth: int) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = depth
        self.whole = True
        self.stopped = ""

    def line(self) -> Iterator[Command]:
        while self.at < len(self.tokens):
            before = self.at
            yield from self._list(frozenset(), proves=self.depth == 0)
            if self.at < len(self.tokens):  # a bracket or a word too many
                self.whole = False
                self.at = max(self.at, before) + 1

    def _peek(self) -> Word | str | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def _keyword(self) -> str:
        token = self._peek()
        return token.text if isinstance(token, Word) and token.plain and not token.redirect else ""

    def _list(self, ends: frozenset[str], *, proves: bool) -> list[Command]:
        """Chains up to a closing word or bracket; only the last one, if it isn't in the background, proves anything."""
        found: list[Command] = []
        last: list[Command] = []
        while (token := self._peek()) is not None and token != ")" and self._keyword() not in ends:
            if token in (";", "\n", "&", ";;"):
                self.at += 1
                if token == "&":
                    last = [_unproven(command) for command in last]
                continue
            found += [_unproven(command) for command in last]
            stopped = self.stopped
            before = self.at
            last = self._chain(ends)
            if self.at == before:
                break
            if stopped == "any" or not proves:
                last = [_unproven(command) for command in last]
            elif stopped:
                last = [replace(command, failed_if_not=False) for command in last]
        return found + last

    def _chain(self, ends: frozenset[str]) -> list[Command]:
        """`a && b || c`: which of them does the exit status speak of?"""
        links: list[tuple[str, list[Command]]] = [("", self._pipeline(ends))]
        while (operator := self._peek()) in ("&&", "||"):
            self.at += 1
            while self._peek() == "\n":
                self.at += 1
            links.append((str(operator), self._pipeline(ends)))
        gives_up = len(links) > 1 and links[-1][0] == "||" and _gives_up(links[-1][1])
        proving = links[:-1] if gives_up else links
        either = max((at for at, (operator, _) in enumerate(proving) if operator == "||"), default=-1)
        found: list[Command] = []
        before: list[tuple[str, ...]] = []
        for at, (_, commands) in enumerate(links):
            certain = at < len(proving) and at > either
            blamed = either < 0 and at < len(proving)
            others = tuple(before) + tuple(
                c.words for _, later in proving[at + 1 :] for c in later if at < len(proving)
            )
            for command in commands:
                found.append(
                    replace(
                        command,
                        ok_if_zero=command.ok_if_zero and certain,
                        failed_if_not=command.failed_if_not and blamed,
                        beside=command.beside + others,
                    )
                )
            before += [command.words for command in commands]
        return found

    def _pipeline(self, ends: frozenset[str]) -> list[Command]:
        negated = False
        while self._keyword() in _LEADING and self._keyword() not in ends:
            negated = negated or self._keyword() == "!"
            self.at += 1
        stages = [self._stage(ends)]
        while self._peek() in ("|", "|&"):
            self.at += 1
            while self._peek() == "\n":
                self.at += 1
            stages.append(self._stage(ends))
        found: list[Command] = []
        for at, stage in enumerate(stages):
            behind = tuple(command.words for later in stages[at + 1 :] for command in later)
            piped = [replace(command, after=command.after + behind) for command in stage]
            last = at == len(stages) - 1 and not negated
            found += piped if last else [_unproven(command) for command in piped]
        return found

    def _stage(self, ends: frozenset[str]) -> list[Command]:
        word = self._keyword()
        if self._peek() == "(":
            return self._group(")", proves=True)
        if word == "{":
            return self._group("}", proves=True)
        if word in _OPENERS and word not in ends:
            found = self._group(_OPENERS[word], proves=False)
            return [replace(command, repeated=True) for command in found] if _OPENERS[word] == "done" else found
        return self._simple(ends)

    def _group(self, end: str, *, proves: bool) -> list[Command]:
        self.at += 1
        self.depth += 1
        found: list[Command] = []
        if self.depth > MAX_DEPTH:
            self.whole = False
            self.at = len(self.tokens)
            return found
        stopped = self.stopped
        ends = frozenset() if end == ")" else frozenset((end,))
        while True:
            found += self._list(ends, proves=proves)
            if self._peek() is None:
                self.whole = False
                break
            closed = self._peek() == ")" if end == ")" else self._keyword() == end
            self.at += 1
            if closed:
                break
        if end == ")":
            self.stopped = stopped  # a subshell's exit ends the subshell
            found = self._scoped(found)
        self.depth -= 1
        into_file, no_errors = self._redirections()
        if into_file or no_errors:
            found = [replace(c, into_file=c.into_file or into_file, no_errors=c.no_errors or no_errors) for c in found]
        return found

    def _redirections(self) -> tuple[bool, bool]:
        into_file = no_errors = False
        while isinstance(token := self._peek(), Word) and token.redirect:
            self.at += 1
            out, err = _goes(token)
            into_file, no_errors = into_file or out, no_errors or err
        return into_file, no_errors

    def _simple(self, ends: frozenset[str]) -> list[Command]:
        words: list[Word] = []
        into_file = no_errors = False
        inner: list[str] = []
        while isinstance(token := self._peek(), Word):
            if not words and not token.redirect and self._keyword() in ends:
                break
            self.at += 1
            inner += token.inner
            if token.redirect:
                out, err = _goes(token)
                into_file, no_errors = into_file or out, no_errors or err
            else:
                words.append(token)
        if self._peek() == "(" and len(words) == 1:  # `name() {`: what a function holds is not run here
            return self._function()
        nested = [command for text in inner for command in self._scoped(self._nested(text))]
        found = [replace(_unproven(command), into_file=True) for command in nested]
        texts = tuple(word.text for word in words)
        assigned = next((at for at, text in enumerate(texts) if not _ASSIGNMENT.match(text)), len(texts))
        if texts[assigned:]:
            self._note_exit(texts[assigned:])
            found.append(
                Command(
                    texts[assigned:],
                    texts[:assigned],
                    ok_if_zero=True,
                    failed_if_not=True,
                    into_file=into_file,
                    no_errors=no_errors,
                )
            )
        return found

    def _note_exit(self, words: tuple[str, ...]) -> None:
        """From here on the line's status may be that of an earlier exit: a failing one, or one that proves nothing."""
        if words[0] in _STOPS:
            failing = len(words) > 1 and words[1].isdigit() and words[1] != "0"
            self.stopped = self.stopped or ("failing" if failing else "any")

    def _nested(self, text: str) -> list[Command]:
        if self.depth + 1 > MAX_DEPTH:
            self.whole = False
            return []
        return list(_read(text, self.depth + 1).commands)

    def _scoped(self, commands: list[Command]) -> list[Command]:
        scope = (self.at,)  # no two subshells end at the same token
        return [replace(command, scope=scope + command.scope) for command in commands]

    def _function(self) -> list[Command]:
        self.at += 1
        if self._peek() == ")":
            self.at += 1
        while self._peek() == "\n":
            self.at += 1
        stopped = self.stopped
        if self._keyword() == "{" or self._peek() == "(":
            self._stage(frozenset())
        self.stopped = stopped
        return []


def _unproven(command: Command) -> Command:
    return replace(command, ok_if_zero=False, failed_if_not=False)


def _gives_up(commands: list[Command]) -> bool:
    """`|| exit 1`, `|| false`: then the line fails as well, whoever stands before it."""
    words = commands[-1].words if commands else ()
    return words[:1] == ("false",) or (
        words[:1] != () and words[0] in _STOPS and (len(words) == 1 or words[1] not in ("0", "$?"))
    )


def _goes(redirection: Word) -> tuple[bool, bool]:
    """Whether a redirection takes standard output, and standard error, out of what is shown."""
    operator, target = redirection.redirect, redirection.text
    if ">" not in operator or (operator.endswith(">&") and target.isdigit()):
        # `2>&1` shows both. `1>&2` as well.
        return False, False
    if target in ("/dev/stdout", "/dev/stderr", "/dev/tty"):
        return False, False
    first = operator[:1]
    both = first == "&" or operator == ">&"
    return both or first in (">", "1"), both or first == "2"
