"""Dates and times that a query names, in English, German and Chinese, and how well a moment fits them. Pure."""

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta

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
_CHINESE_YEAR = re.compile(rf"({_YEAR})\s*年")
_DAY_MONTH = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th|\.)?,?\s+(?:of\s+)?({_MONTH})\b\.?(?:,?\s+({_YEAR}))?")
_MONTH_DAY = re.compile(rf"\b({_MONTH})\b\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d)(?:,?\s+({_YEAR}))?")
_MONTH_YEAR = re.compile(rf"\b({_MONTH})\b\.?,?\s+({_YEAR})\b")
_MONTH_ALONE = re.compile(rf"\b({_MONTH})\b")
_YEAR_ALONE = re.compile(rf"(?<![\w.-])({_YEAR})(?![\w-]|\.\d)")

_DAYS = (
    (re.compile(r"\bday before yesterday\b|\bvorgestern\b|前天"), 2),
    (re.compile(r"\byesterday\b|\bgestern\b|昨天|昨日"), 1),
    (re.compile(r"\btoday\b|\bheute\b|今天|今日"), 0),
)
_WEEKS = (
    (re.compile(r"\blast week\b|\bletzter? woche\b|\bletzten woche\b|\bvorige woche\b|上周|上星期"), 1),
    (re.compile(r"\bthis week\b|\bdiese[r]? woche\b|本周|这周|这星期"), 0),
)
_LAST_MONTH = re.compile(r"\blast month\b|\bletzte[nrs]? monat\b|上个?月")
_THIS_MONTH = re.compile(r"\bthis month\b|\bdiese[nrs]? monat\b|本月|这个?月")
_AGO = re.compile(
    r"\b(\d{1,3}) (day|week|month)s? ago\b|\bvor (\d{1,3}) (tag|woche|monat)(?:e?n)?\b|(\d{1,3})\s*(天|周|个?月)前"
)
_UNIT_DAYS = {
    "day": 1,
    "tag": 1,
    "天": 1,
    "week": 7,
    "woche": 7,
    "周": 7,
    "month": 30,
    "monat": 30,
    "月": 30,
    "个月": 30,
}

_FITS_DAY, _FITS_MONTH, _FITS_MONTH_NOT_DAY, _FITS_YEAR = 1.0, 0.6, 0.3, 0.2


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
    low = text.lower()
    named: dict[Named, None] = {}

    def take(pattern: re.Pattern[str], *fields: str) -> None:
        nonlocal low
        for match in pattern.finditer(low):
            values = {f: _number_of(g) for f, g in zip(fields, match.groups(), strict=True) if g}
            if 1 <= (values.get("month") or 1) <= 12 and 1 <= (values.get("day") or 1) <= 31:
                named[Named(**values)] = None
        low = pattern.sub(" ", low)

    take(_ISO, "year", "month", "day")
    take(_CHINESE, "year", "month", "day")
    take(_CHINESE_YEAR, "year")
    take(_DAY_MONTH, "day", "month", "year")
    take(_MONTH_YEAR, "month", "year")
    take(_MONTH_DAY, "month", "day", "year")
    for match in _MONTH_ALONE.finditer(low):
        if match[1] not in _SHORT:
            named[Named(month=_MONTHS[match[1]])] = None
    take(_YEAR_ALONE, "year")
    return Dates(_joined(list(named)), tuple(_spans(text.lower(), today)) if today else ())


def fit(dates: Dates, day: date) -> float:
    """How well a day fits what was named, 0 to 1: the day itself, else the month, another day of it, the year."""
    if any(first <= day <= last for first, last in dates.spans):
        return _FITS_DAY
    return max((_fit_of(named, day) for named in dates.named), default=0.0)


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


def _spans(low: str, today: date) -> list[tuple[date, date]]:
    spans = []
    for pattern, days in _DAYS:
        if pattern.search(low):
            day = today - timedelta(days=days)
            spans.append((day, day))
            low = pattern.sub(" ", low)
    monday = today - timedelta(days=today.weekday())
    for pattern, weeks in _WEEKS:
        if pattern.search(low):
            first = monday - timedelta(weeks=weeks)
            spans.append((first, first + timedelta(days=6)))
    first_of_month = today.replace(day=1)
    if _LAST_MONTH.search(low):
        last = first_of_month - timedelta(days=1)
        spans.append((last.replace(day=1), last))
    if _THIS_MONTH.search(low):
        spans.append((first_of_month, today))
    for match in _AGO.finditer(low):
        number, unit = next((match[i], match[i + 1]) for i in (1, 3, 5) if match[i])
        length = _UNIT_DAYS[unit]
        day = today - timedelta(days=int(number) * length)
        slack = timedelta(days=length // 2)
        spans.append((day - slack, day + slack))
    return spans


def _number_of(text: str) -> int:
    return int(text) if text.isdigit() else _MONTHS[text]
