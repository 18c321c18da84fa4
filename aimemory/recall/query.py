"""Any text to a query that FTS5 accepts. Pure.

Words are quoted one by one and joined by OR, so no character of the text is ever syntax. What people type on purpose
is kept: `"quoted phrases"` must occur, `-word` and `-"phrase"` must not. Hyphens, dots and slashes inside a word are
data, and so are flags: `ADR-016`, `-Wall`, `--flag`, `-38.101`.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

from aimemory.index.words import SPACELESS, WORD, camel_parts, fold, pairs, signs
from aimemory.recall.grammar import fillers
from aimemory.recall.words import function_words, says_something, stem_start, unsaying

MAX_TERMS = 96
_MAX_CHARS = 20_000
_TYPED_CHARS = 200
_TYPED_WORDS = 6
_PHRASE_WORDS = 16
_PREFIX_CHARS = 3
_MAX_PAIRS = 64

_FORMS = "forms : "

_SPELLED_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "å": "aa", "Å": "Aa"})

_QUOTED = re.compile(r'["“”]([^"“”]*)["“”]')
_EXCLUDED = re.compile(r"(?:(?<=\s)|^)-([a-z]{3,})(?=\s|$)")
_EXCLUDED_QUOTED = re.compile(r'(?:(?<=\s)|^)-["“”]([^"“”]*)["“”]')
_JOINED = re.compile(r"[^\s\"'`()\[\]{}<>,;]+")
_BROKEN = re.compile(r"[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Term:
    """One thing to look for.

    match: an FTS5 expression. shown: what the person typed of it. start: folded start to look for in a text.
    prefix: the expression for words that begin so, or None where that makes no sense. is_filler: grammar, as function
    words are: left out unless there is nothing else.
    """

    match: str
    shown: str
    start: str
    prefix: str | None = None
    is_filler: bool = False

    @property
    def is_word(self) -> bool:
        """One word or pair of characters, neither a phrase nor a beginning?"""
        return bool(self.start) and not self.match.endswith(("*", ")"))

    @property
    def word(self) -> str:
        """The word as the index folds it, if this is one."""
        return self.match.removeprefix(_FORMS).strip('"')


@dataclass(frozen=True, slots=True)
class Query:
    """terms: any may match, the more the better. required: all must match. excluded: none may.

    pairs: neighbouring words as written, as expressions: text that has them says the same thing in the same words.
    here: an expression for the files at which who asks is at work, "" for none. plain: what stands behind a minus that
    means nothing here, as typed.
    """

    text: str
    terms: tuple[Term, ...] = ()
    required: tuple[Term, ...] = ()
    excluded: tuple[Term, ...] = ()
    pairs: tuple[str, ...] = ()
    here: str = ""
    plain: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.terms and not self.required

    @property
    def starts(self) -> tuple[tuple[str, str], ...]:
        """(start, shown) of everything that a snippet should show."""
        return tuple(dict.fromkeys((t.start, t.shown) for t in (*self.required, *self.terms) if t.start))


def parse(text: str) -> Query:
    """The query of a text; any text is valid, and one without words is empty.

    Phrases and exclusions count only in one short line of few words without function words: anything else is a
    sentence or was pasted, where a quoted phrase just scores. Of a long text the first `MAX_TERMS` words count.
    """
    text = _BROKEN.sub(" ", text[:_MAX_CHARS]).strip()
    if not _is_typed(text, _QUOTED.sub(" ", text)):
        optional = [replace(t, start="") for quoted in _QUOTED.findall(text) for t in _phrase(quoted)]
        return Query(text, _different((*_terms(text), *optional)), pairs=_pairs(text), plain=_minus(text))
    wanted = _EXCLUDED_QUOTED.sub(" ", text)
    phrases = [t for quoted in _QUOTED.findall(wanted) for t in _phrase(quoted)]
    rest = _QUOTED.sub(" ", wanted)
    without = _EXCLUDED.sub(" ", rest)
    if not phrases and not _terms(without):
        return Query(text, _terms(text), pairs=_pairs(text))
    excluded = [_word(w, w) for w in _EXCLUDED.findall(rest)]
    excluded += [_all_of(parts, quoted) for quoted in _EXCLUDED_QUOTED.findall(text) if (parts := _phrase(quoted))]
    return Query(text, _terms(without), tuple(phrases), tuple(excluded), _pairs(without))


def _minus(text: str) -> tuple[str, ...]:
    """What stands behind a minus in one line; in several, which were pasted, it's a command's flag or a list."""
    if "\n" in text or len(text) > _TYPED_CHARS:
        return ()
    quoted = [f'"{found.strip()}"' for found in _EXCLUDED_QUOTED.findall(text) if WORD.search(found)]
    return tuple(f"-{found}" for found in (*_EXCLUDED.findall(_EXCLUDED_QUOTED.sub(" ", text)), *quoted))


def _is_typed(text: str, beside_quotes: str) -> bool:
    """Is this written as a search, so that quotes and a minus mean something? A sentence that quotes is not."""
    words = [fold(word) for word in WORD.findall(beside_quotes)]
    return (
        len(text) <= _TYPED_CHARS
        and "\n" not in text
        and len(words) <= _TYPED_WORDS
        and function_words(words).isdisjoint(words)
    )


def loosened(query: Query) -> list[tuple[Query, str]]:
    """The same with fewer requirements, step by step, and what to say of each: first the phrases' words become terms
    like others, then exclusions are dropped. Empty where nothing is required.
    """
    steps: list[tuple[Query, str]] = []
    wanted = [f'"{t.shown}"' for t in query.required]
    if query.required:
        words = _terms(" ".join(term.shown for term in query.required))
        query = replace(query, terms=_different((*words, *query.terms)), required=())
        steps.append((query, _nothing_meets(wanted)))
    if query.excluded:
        wanted += [f"-{t.shown}" for t in query.excluded]
        steps.append((replace(query, excluded=()), _nothing_meets(wanted)))
    return steps


def taken_plainly(query: Query) -> tuple[str, ...]:
    """What to say of a minus that means nothing in this query."""
    if not query.plain:
        return ()
    return (
        f"{', '.join(query.plain)} taken as plain words: a minus leaves out in up to {_TYPED_WORDS} words that are no"
        " sentence.",
    )


def _nothing_meets(wanted: Sequence[str]) -> str:
    return f"Nothing meets {', '.join(wanted)}; taken as plain words instead."


def expression(query: Query, terms: Sequence[Term], pivots: Sequence[Term] = ()) -> str:
    """The FTS5 expression of a query with these of its terms.

    pivots: of the terms those that at least one must match, where all of them together would match too many rows.
    """
    parts = [any_of(pivots)] if pivots else []
    if terms:  # the phrases again, so that a row with nothing but them stays
        parts.append(any_of((*query.required, *terms)))
    return required(query, parts)


def required(query: Query, parts: Iterable[str]) -> str:
    """All of these expressions, and what the query requires, without what it excludes."""
    matched = " AND ".join(f"({part})" for part in (*(term.match for term in query.required), *parts))
    return f"({matched}) NOT ({any_of(query.excluded)})" if query.excluded else matched


def nearby(terms: Sequence[Term], distance: int) -> str:
    """Any two of the terms within so many words; empty when there are no two that can be looked for so."""
    out: list[str] = []
    for column in ("", _FORMS):
        words = [
            t.match.removeprefix(column) for t in terms if t.is_word and t.match.startswith(_FORMS) == bool(column)
        ]
        out += [f"{column}NEAR({a} {b}, {distance})" for a, b in combinations(words, 2)]
    return " OR ".join(out)


def about_file(name: str) -> str | None:
    """The expression for a path or a part of one, its words in a row; None when it has none."""
    words = [fold(word) for word in WORD.findall(unicodedata.normalize("NFKC", _BROKEN.sub(" ", name)))]
    return _quote(" ".join(words[-_PHRASE_WORDS:])) if words else None


def about_files(names: Iterable[str]) -> str:
    """The expression for any of these files, "" for none. A name of one word, as `README`, says too little."""
    found = (about_file(name) for name in names)
    return " OR ".join(dict.fromkeys(one for one in found if one and " " in one))


def any_of(terms: Iterable[Term]) -> str:
    return " OR ".join(term.match for term in terms)


def one_of(words: Sequence[str]) -> str:
    """The expression for any of these words, of which none has a quote in it."""
    return _quote(words[0]) if len(words) == 1 else f"({' OR '.join(_quote(word) for word in words)})"


def in_field(terms: Iterable[Term], forms: str | None) -> str:
    """The terms for a table of one field; `forms` names its column of other forms, None leaves out what needs one."""
    words = []
    for term in terms:
        if not term.match.startswith(_FORMS):
            words.append(term.match)
        elif forms:
            words.append(f"{forms} : {term.match.removeprefix(_FORMS)}")
    return " OR ".join(words)


def _terms(text: str) -> tuple[Term, ...]:
    found: list[Term] = []
    for joined in _JOINED.findall(unicodedata.normalize("NFKC", text)):
        found.extend(_of_joined(joined))
        if len(found) > 4 * MAX_TERMS:
            break
    found += _signs(text)
    none = unsaying(WORD.findall(unicodedata.normalize("NFKC", text)))
    saying = [term for term in found if not term.is_filler and (not term.start or says_something(term.start, none))]
    return _different(_stemmed(term) for term in saying or found)


def _pairs(text: str) -> tuple[str, ...]:
    """Every two neighbouring words, unless both are function words; of runs without spaces every three characters."""
    pairs_: dict[str, None] = {}
    before = ""
    words = WORD.findall(unicodedata.normalize("NFKC", text))
    none = unsaying(words)
    for word in words:
        if len(pairs_) >= _MAX_PAIRS:
            break
        if runs := SPACELESS.findall(word):
            before = ""
            for run in runs:
                pieces = pairs(run)[:-1]
                pairs_.update((f"forms : {_quote(f'{a} {b}')}", None) for a, b in pairwise(pieces))
            continue
        word = fold(word)
        if before and not (before in none and word in none):
            pairs_[_quote(f"{before} {word}")] = None
        before = word
    return tuple(pairs_)


def _of_joined(joined: str) -> list[Term]:
    """Terms of one run of characters without a space: its words, the parts of camelCase, the whole as a phrase."""
    terms: list[Term] = []
    plain: list[str] = []
    for word in WORD.findall(joined):
        rest = word
        for run in SPACELESS.findall(word):
            rest = rest.replace(run, " ", 1)
            terms.extend(_run(run))
        for part in rest.split():
            plain.append(fold(part))
            terms.append(_word(plain[-1], plain[-1], fold(part.translate(_SPELLED_OUT))))
    if len(plain) > 1:
        last = plain[-1]
        if last.isalpha() and len(last) >= _PREFIX_CHARS and last == fold(joined[-len(last) :]):
            terms[-1] = replace(
                terms[-1], match=terms[-1].prefix or terms[-1].match
            )  # `session-rec`: a name half typed
        if len(plain) <= _PHRASE_WORDS and any(says_something(word) for word in plain):
            terms.append(Term(_quote(" ".join(plain)), joined, ""))
    terms += [_word(part.lower(), part.lower()) for part in camel_parts(joined)]
    return terms


def _signs(text: str) -> list[Term]:
    """Terms for what is no word and means something: an emoji, the signs of `C++` and `C#`."""
    return [Term(f"{_FORMS}{_quote(word)}", shown, "") for word, shown in signs(text).items()]


def _word(word: str, shown: str, spelled_out: str = "") -> Term:
    """spelled_out: the same word with `ue` for `ü` and so on; either may stand in a text."""
    begins = word.removesuffix("y")  # a final y is stemmed to i, which begins no longer word
    match = one_of(tuple(dict.fromkeys((word, spelled_out or word))))
    return Term(match, shown, word, f"{_quote(begins)} *" if len(begins) >= _PREFIX_CHARS else None)


def _run(run: str) -> list[Term]:
    """Terms of a run written without spaces: every pair; one character alone is the start of some pair."""
    if len(run) == 1:
        return [Term(f"forms : {_quote(run)} *", run, run)]
    of_run = pairs(run)[:-1]
    grammar = fillers(run, of_run)
    return [Term(f"forms : {_quote(pair)}", run, pair, is_filler=pair in grammar) for pair in of_run]


def _phrase(quoted: str) -> list[Term]:
    """What must occur for a quoted text: its words in a row; runs without spaces as pairs in a row."""
    required: list[Term] = _signs(quoted)
    row: list[str] = []
    for word in WORD.findall(unicodedata.normalize("NFKC", quoted)):
        runs = SPACELESS.findall(word)
        if not runs:
            row.append(fold(word))
            continue
        for run in runs:
            pieces = pairs(run)[:-1]
            match = f"forms : {_quote(' '.join(pieces))}" if pieces else f"forms : {_quote(run)} *"
            required.append(Term(match, run, run))
        row += [fold(part) for part in SPACELESS.sub(" ", word).split()]
    if 0 < len(row) <= _PHRASE_WORDS:
        required.insert(0, Term(_quote(" ".join(row)), quoted.strip(), row[0]))
    return required


def _all_of(parts: Sequence[Term], quoted: str) -> Term:
    """One term that matches where all parts of a quoted text do."""
    return Term(f"({' AND '.join(part.match for part in parts)})", f'"{quoted.strip()}"', "")


def _stemmed(term: Term) -> Term:
    return replace(term, start=stem_start(term.start)) if term.prefix else term


def _different(terms: Iterable[Term]) -> tuple[Term, ...]:
    return tuple({term.match: term for term in terms}.values())[:MAX_TERMS]


def _quote(words: str) -> str:
    """A string of FTS5; words are letters, digits and marks, so there is no quote to escape in them."""
    return f'"{words}"'
