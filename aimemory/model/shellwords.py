"""The words, operators and redirections of a shell command line; comments and here-documents are passed over."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

_OPERATORS = ("&&", "||", ";;", "|&", ";", "|", "&", "(", ")", "\n")
_REDIRECT = re.compile(r"(\d*|&)(<<<|<<-?|>>|>&|<&|>\||[<>])")


@dataclass(slots=True)
class Word:
    """A word without its quotes. plain: none of it was quoted. inner: command lines in substitutions.

    redirect: the operator if this is no word but a redirection, whose target is then `text`.
    """

    text: str
    plain: bool = True
    inner: list[str] = field(default_factory=list)
    redirect: str = ""


class Lexer:
    """Words, redirections and operators; comments and here-documents are passed over."""

    def __init__(self, text: str) -> None:
        self.text = text.replace("\\\r\n", "").replace("\\\n", "").replace("\r\n", "\n")
        self.at = 0
        self.whole = True
        self.documents: list[tuple[str, bool]] = []

    def tokens(self) -> Iterator[Word | str]:
        while self._skip_blank():
            if (found := _REDIRECT.match(self.text, self.at)) is not None:
                yield self._redirection(found)
                continue
            operator = next((op for op in _OPERATORS if self.text.startswith(op, self.at)), None)
            if operator is None:
                yield self._word()
                continue
            self.at += len(operator)
            if operator == "\n":
                self._pass_documents()
            yield operator

    def _skip_blank(self) -> bool:
        text = self.text
        while self.at < len(text) and text[self.at] in " \t":
            self.at += 1
        if self.at < len(text) and text[self.at] == "#":  # a word that begins with # begins a comment
            end = text.find("\n", self.at)
            self.at = len(text) if end < 0 else end
        return self.at < len(text)

    def _redirection(self, found: re.Match[str]) -> Word:
        self.at = found.end()
        while self.text[self.at : self.at + 1] in (" ", "\t"):
            self.at += 1
        target = self._word()
        if found[2] in ("<<", "<<-"):
            self.documents.append((target.text, found[2] == "<<-"))
        return replace(target, redirect=found[0])

    def _pass_documents(self) -> None:
        for delimiter, tabs in self.documents:
            while True:
                if self.at >= len(self.text):
                    self.whole = False
                    break
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                line = self.text[self.at : end]
                self.at = min(end + 1, len(self.text))
                if (line.lstrip("\t") if tabs else line) == delimiter:
                    break
        self.documents.clear()

    def _word(self) -> Word:
        word = Word("")
        parts: list[str] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in " \t\n;|&()<>":
                break
            self.at += 1
            if char == "\\":
                parts.append(self.text[self.at : self.at + 1])
                self.at += 1
            elif char == "'":
                parts.append(self._until("'"))
                word.plain = False
            elif char == '"':
                parts.append(self._double(word))
                word.plain = False
            elif char == "`":
                inner = self._until("`")
                word.inner.append(inner)
                parts.append(f"`{inner}`")
            elif char == "$":
                parts.append(self._dollar(word))
            else:
                parts.append(char)
        word.text = "".join(parts)
        return word

    def _until(self, end: str) -> str:
        stop = self.text.find(end, self.at)
        if stop < 0:
            self.whole = False
            stop = len(self.text)
        taken = self.text[self.at : stop]
        self.at = stop + 1
        return taken

    def _double(self, word: Word) -> str:
        parts: list[str] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char == '"':
                return "".join(parts)
            if char == "\\" and self.text[self.at : self.at + 1] in tuple('$`"\\'):
                parts.append(self.text[self.at])
                self.at += 1
            elif char == "$":
                parts.append(self._dollar(word))
            elif char == "`":
                word.inner.append(inner := self._until("`"))
                parts.append(f"`{inner}`")
            else:
                parts.append(char)
        self.whole = False
        return "".join(parts)

    def _dollar(self, word: Word) -> str:
        if self.text.startswith("'", self.at):
            self.at += 1
            word.plain = False
            return self._until("'")
        for opener, closer in (("((", "))"), ("(", ")"), ("{", "}")):
            if self.text.startswith(opener, self.at):
                inner = self._balanced(opener[0], closer[0])
                if opener == "(":
                    word.inner.append(inner)
                return f"${opener[0]}{inner}{closer[0]}"
        return "$"

    def _balanced(self, opener: str, closer: str) -> str:
        """What stands between brackets, those inside quotes not counted."""
        depth, start = 0, self.at + 1
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char == "\\":
                self.at += 1
            elif char == "'":
                self._until("'")
            elif char == '"':
                self._double(Word(""))
            elif char == opener:
                depth += 1
            elif char == closer:
                depth -= 1
                if depth == 0:
                    return self.text[start : self.at - 1]
        self.whole = False
        return self.text[start:]
