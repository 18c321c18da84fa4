"""What recall knows about words: which say nothing, and how the start of a word is looked for in a text."""

from collections.abc import Iterable, Sequence

from aimemory.index.words import fold

_FUNCTION_WORDS = (
    "a an the of to in on at by for from with without and or but if then else is are was were be been being am do does"
    " did done has have had having it its this that these those there here as not no nor so than too very can could"
    " should would may might must will shall i you he she they we me him her them us my your his their our mine yours"
    " who whom whose which what when where why how all any both each few more most other some such only own same just"
    " also into out up down over under again once about after before between during through above below off s t d ll m"
    " re ve don now"
)

STOP_WORDS = frozenset(_FUNCTION_WORDS.split())
"""English function words: left out of a query unless it has nothing else."""

_GERMAN = (
    "der das dem ein eine einen einem einer eines und oder aber nicht kein keine wie wo warum wieso weshalb wann wer"
    " welche welcher welches welchen ist sind wird werden wurde wurden haben hatte kann konnen konnte muss mussen soll"
    " sollen sollte darf wir ich ihr mich mir uns unser unsere fur auf aus bei beim vom zu zum zur nach vor uber unter"
    " durch gegen ohne zwischen wenn weil dass damit dann noch nur auch schon immer wieder sich"
)
_ALSO_GERMAN = "die was war waren hat habe man am an in so es er sie bis da als ob um mit des den von im ins"
_ONLY_GERMAN = frozenset(_GERMAN.split())
_ALL_GERMAN = _ONLY_GERMAN.union(_ALSO_GERMAN.split())
_IS_GERMAN = 2
_CAREFUL = frozenset(["dem", "mir", "wo", "wer", "aus", "fur", "uber"])
"""Of these one alone may be another thing: a digital elevation model, a company, fur."""
_PLAINLY_GERMAN = (_ONLY_GERMAN - _CAREFUL) | {"im", "ins", "von"}
_ENGLISH = STOP_WORDS - _ALL_GERMAN - {"will", "all", "not", "do", "don", "s", "t", "d", "m", "re"}
_WITH_UMLAUT = {"für": "fur", "über": "uber"}


def function_words(words: Iterable[str]) -> frozenset[str]:
    """The words of a text that say nothing, by its language. words: of the text, folded.

    English ones always; German ones where two stand in it that are nothing else, as `die`, `mit` and `man` are.
    """
    german = _ONLY_GERMAN.intersection(words)
    return STOP_WORDS if len(german) < _IS_GERMAN else STOP_WORDS | _ALL_GERMAN


def unsaying(words: Sequence[str]) -> frozenset[str]:
    """The words of a query that are left out of it, folded. words: of the query, as written.

    What `function_words` gives; where no English one stands in it, also German ones that are nothing else (`im`,
    `wurde`), however few. A German word in capitals within other words, such as `DER`, is a name.
    """
    folded = {fold(word) for word in words}
    names = {fold(word) for word in words if len(word) > 1 and word.isupper()}
    if len(names) == len(folded):
        names = set()  # all of it is in capitals
    none = function_words(folded - names)
    if _ENGLISH.isdisjoint(folded):
        none |= _PLAINLY_GERMAN.union(_WITH_UMLAUT[word] for word in map(str.lower, words) if word in _WITH_UMLAUT)
    return none - (names & _ALL_GERMAN - STOP_WORDS)


_ENDINGS = (
    "ations",
    "ation",
    "ingly",
    "ings",
    "ing",
    "ions",
    "ion",
    "ies",
    "ied",
    "edly",
    "ed",
    "es",
    "ly",
    "s",
    "e",
    "y",
)
_DOUBLED = frozenset("bdgmnprt")
_STEM_CHARS = 3


def says_something(word: str, functional: frozenset[str] = STOP_WORDS) -> bool:
    """Neither a function word nor a single letter; single digits count, as in version numbers."""
    return word not in functional and (len(word) > 1 or word.isdigit() or not word.isascii())


def stem_start(word: str) -> str:
    """The part of a folded word that its other forms begin with, roughly: for showing matches, not for finding them.

    `exporting` gives export, `policies` polic, `running` run; words of other scripts stay as they are.
    """
    if not word.isascii() or not word.isalpha():
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _STEM_CHARS:
            stem = word[: -len(ending)]
            if len(stem) > _STEM_CHARS and stem[-1] == stem[-2] and stem[-1] in _DOUBLED:
                return stem[:-1]
            return stem
    return word
