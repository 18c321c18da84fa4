"""Dates and times that a query names, in English, German and Chinese, and how well a moment fits them. Pure."""

import re
from dataclasses import dataclass
from datetime import date, datetime

from aimemory.recall import timewords

_MONTHS: dict[str, int] = {}
for _number, _names in enumerate(
    (
        "january jan januar jänner", "february feb februar", "march mar märz", "april apr", "may mai", "june jun juni",
        "july jul juli", "august aug", "september sep sept", "october oct oktober okt", "november nov",
        "december dec dezember dez",
    ), 1,
):  # fmt: skip
    _MONTHS.update(dict.fromkeys(_names.split(), _number))
_SHORT = frozenset(name for name in _MONTHS if len(name) <= 4) - {"june", "july", "juni", "juli", "märz"}
"""Names that are words of their own (`may`, `mar`, `dec`) or abbreviations: they count beside a number only."""

_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_YEAR = r"(?:19|20)\d\d"
_ISO = re.compile(rf"(?<!\d)({_YEAR})-(\d\d)(?:-(\d\d))?(?!\d)")
_CHINESE = re.compile(rf"(?:({_YEAR})\s*年)?\s*(?<!\d)(\d{{1,2}})\s*月(?:\s*(\d{{1,2}})\s*[日号])?")
_CHINESE_WORDS = re.compile(
    rf"(?:({_YEAR})\s*年)?(?<![一二三四五六七八九十])([一二三四五六七八九十]{{1,2}})月(?:([一二三四五六七八九十]{{1,3}})[日号])?"
)
_CHINESE_YEAR = re.compile(rf"({_YEAR})\s*年")
_GERMAN = re.compile(rf"(?<![\d.])(\d{{1,2}})\.\s?(\d{{1,2}})\.\s?({_YEAR})(?!\d|\.\d)")
_SLASHES = re.compile(rf"(?<!\d)({_YEAR})/(\d{{1,2}})/(\d{{1,2}})(?!\d)")
_DAY_MONTH = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th|\.)?,?\s+(?:of\s+)?({_MONTH})\b\.?(?:,?\s+({_YEAR}))?")
_MONTH_DAY = re.compile(rf"\b({_MONTH})\b\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d)(?:,?\s+({_YEAR}))?")
_MONTH_YEAR = re.compile(rf"\b({_MONTH})\b\.?,?\s+({_YEAR})\b")
_MONTH_ALONE = re.compile(rf"\b({_MONTH})\b")
_IN_MONTH = re.compile(
    rf"\b(?:in|im|since|during|seit|last|this|early|mid|late|letzten|diesen|anfang|mitte|ende)\s+({_MONTH})\b"
)
"""What makes a month of a name that may be another word."""
_YEAR_ALONE = re.compile(rf"(?<![\w.-])({_YEAR})(?![\w-]|\.\d)")

_FITS_DAY, _FITS_MONTH, _FITS_MONTH_NOT_DAY, _FITS_YEAR = 1.0, 0.6, 0.3, 0.2
_LOOKED_AT = 2000
"""Characters; a longer text was pasted."""
_SHORT_SPAN = 31
"""Days of a span up to which each day of it is as good as the day that was meant; quarters and years are longer."""


@dataclass(frozen=True, slots=True)
class Named:
    """One date as far as it was named; None is what wasn't."""

    year: int | None = None
    month: int | None = None
    day: int | None = None


@dataclass(frozen=True, slots=True)
class Dates:
    """What a query says of time: dates named in whole or in part, and spans (first day, last day) such as last week."""

    named: tuple[Named, ...] = ()
    spans: tuple[tuple[date, date], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.named or self.spans)


def dates_in(text: str, today: date | None = None) -> Dates:
    """What a text says of time; words such as `yesterday` count only when it is known what day it is."""
    low = text[:_LOOKED_AT].lower()
    named: dict[Named, None] = {}

    def take(pattern: re.Pattern[str], *fields: str) -> None:
        nonlocal low
        for match in pattern.finditer(low):
            values = {f: _number_of(g) for f, g in zip(fields, match.groups(), strict=True) if g}
            if 1 <= values.get("month", 1) <= 12 and 1 <= values.get("day", 1) <= 31:
                named[Named(**values)] = None
        low = pattern.sub(" ", low)

    of_quarters, low = timewords.quarters(low, today)
    take(_ISO, "year", "month", "day")
    take(_SLASHES, "year", "month", "day")
    take(_GERMAN, "day", "month", "year")
    take(_CHINESE, "year", "month", "day")
    take(_CHINESE_WORDS, "year", "month", "day")
    take(_CHINESE_YEAR, "year")
    take(_DAY_MONTH, "day", "month", "year")
    take(_MONTH_YEAR, "month", "year")
    take(_MONTH_DAY, "month", "day", "year")
    take(_IN_MONTH, "month")
    for match in _MONTH_ALONE.finditer(low):
        if match[1] not in _SHORT:
            named[Named(month=_MONTHS[match[1]])] = None
    take(_YEAR_ALONE, "year")
    spans = timewords.spans(low, today) if today else []
    if named and len(spans) == 1 and timewords.is_year(spans[0]):  # `in March of last year`
        return Dates(_joined([*named, Named(year=spans[0][0].year)]), tuple(of_quarters))
    return Dates(_joined(list(named)), (*of_quarters, *spans))


def fit(dates: Dates, day: date) -> float:
    """How well a day fits what was named, 0 to 1: the day itself, else the month, another day of it, the year."""
    spans = (
        _FITS_DAY if (last - first).days <= _SHORT_SPAN else _FITS_MONTH
        for first, last in dates.spans
        if first <= day <= last
    )
    return max((*spans, *(_fit_of(named, day) for named in dates.named)), default=0.0)


def day_of(at_ns: int) -> date:
    """The day of a moment in the machine's time zone."""
    return datetime.fromtimestamp(at_ns / 1e9).date()


def _fit_of(named: Named, day: date) -> float:
    if named.year is not None and named.year != day.year:
        return 0.0
    if named.month is None:
        return _FITS_YEAR
    if named.month != day.month:
        return 0.0
    if named.day is None:
        return _FITS_MONTH
    return _FITS_DAY if named.day == day.day else _FITS_MONTH_NOT_DAY


def _joined(named: list[Named]) -> tuple[Named, ...]:
    """A year that was named once and apart belongs to the dates without one: `in June, I think of 2023`."""
    years = [n.year for n in named if n.month is None]
    if len(years) == 1 and any(n.month is not None and n.year is None for n in named):
        return tuple(Named(n.year or years[0], n.month, n.day) for n in named if n.month is not None)
    return tuple(named)


def _number_of(text: str) -> int:
    return _MONTHS[text] if text in _MONTHS else timewords.number_of(text) or 0
