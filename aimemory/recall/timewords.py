"""Words for times counted from now (`yesterday`, `vor drei Tagen`, `上周`) and quarters, as spans of days. Pure.

English, German and Chinese. A word that is taken is gone from the text, so that `上周三` is not `上周` too.
"""

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta

Span = tuple[date, date]
"""First and last day."""

_NUMBERS = {
    word: number
    for number, words in enumerate(
        (
            "a an ein eine einen einem einer one 一", "two zwei two 二 两 兩", "three drei 三", "four vier 四",
            "five fünf funf fuenf 五", "six sechs 六", "seven sieben 七", "eight acht 八", "nine neun 九",
            "ten zehn 十", "eleven elf 十一", "twelve zwölf zwolf zwoelf 十二",
        ), 1,
    )
    for word in words.split()
}  # fmt: skip
_WORD = "|".join(sorted((word for word in _NUMBERS if word.isascii() or "ö" in word or "ü" in word), key=len)[::-1])
_COUNT = rf"(\d{{1,3}}|{_WORD})"
_HAN = "一二两兩三四五六七八九十"
_HAN_COUNT = rf"(\d{{1,3}}|[{_HAN}]{{1,3}})"

_DAYS = (
    (r"\b(?:the )?day before yesterday\b|\bvorgestern\b|前天|前日", 2),
    (r"\byesterday\b|\blast night\b|\bgestern\b|昨天|昨日|昨晚|昨夜", 1),
    (r"\btoday\b|\bthis morning\b|\btonight\b|\bheute\b|今天|今日|今早|今晚", 0),
)
_UNITS = {
    "day": 1, "tag": 1, "天": 1, "日": 1, "week": 7, "woche": 7, "周": 7, "星期": 7, "礼拜": 7, "month": 30,
    "monat": 30, "月": 30, "year": 365, "jahr": 365, "年": 365,
}  # fmt: skip
_EN_UNIT, _DE_UNIT, _HAN_UNIT = (
    "(day|week|month|year)s?",
    "(tag|woche|monat|jahr)(?:e?n|e)?",
    "(天|日|周|星期|礼拜|月|年)",
)
_AGO = (
    rf"\b{_COUNT} {_EN_UNIT} (?:ago|back|earlier)\b",
    rf"\bvor {_COUNT} {_DE_UNIT}\b",
    rf"(?<![第\d]){_HAN_COUNT}\s*个?{_HAN_UNIT}之?以?前",
)
_WITHIN = (
    rf"\b(?:last|past|previous) {_COUNT} {_EN_UNIT}\b",
    rf"\b(?:letzten|vergangenen|vorigen) {_COUNT} {_DE_UNIT}\b",
    rf"(?:最近|过去|近)\s*{_HAN_COUNT}\s*个?{_HAN_UNIT}",
)

_WEEKDAYS = {
    name: number
    for number, names in enumerate(
        (
            "monday montag 一", "tuesday dienstag 二", "wednesday mittwoch 三", "thursday donnerstag 四",
            "friday freitag 五", "saturday samstag sonnabend 六", "sunday sonntag 日 天",
        )
    )
    for name in names.split()
}  # fmt: skip
_DAY_NAMES = "|".join(name for name in _WEEKDAYS if name.isascii())
_WEEKDAY = rf"\b(?:last|on|this|past|letzten|am|diesen|vorigen|vergangenen) ({_DAY_NAMES})\b"
_HAN_WEEKDAY = r"(?<!每)(上个?|这个?|本)?(?:周|星期|礼拜)([一二三四五六日天])"

_LAST_DE = r"(?:letzte|vergangene|vorige)[nrsm]?"
_THIS_DE = r"(?:diese)[nrsm]?"
_WEEKS = (
    (r"\bweek before last\b|\bvorletzte[nr]? woche\b|上上个?(?:周|星期|礼拜)", 2),
    (rf"\b(?:last|past|previous) week\b|\b{_LAST_DE} woche\b|上个?(?:周|星期|礼拜)", 1),
    (rf"\bthis week\b|\b{_THIS_DE} woche\b|本周|这个?(?:周|星期|礼拜)", 0),
)
_MONTHS = (
    (r"\bmonth before last\b|\bvorletzte[nm]? monat\b|上上个?月", 2),
    (rf"\b(?:last|past|previous) month\b|\b{_LAST_DE} monats?\b|上个?月", 1),
    (rf"\bthis month\b|\b{_THIS_DE} monats?\b|本月|这个?月", 0),
)
_YEARS = (
    (r"\byear before last\b|\bvorletzte[ns]? jahr\b|前年", 2),
    (rf"\b(?:last|past|previous) year\b|\b{_LAST_DE} jahr(?:es)?\b|去年", 1),
    (rf"\bthis year\b|\b{_THIS_DE} jahr(?:es)?\b|今年", 0),
)
_QUARTERS = (
    (rf"\b(?:last|past|previous) quarter\b|\b{_LAST_DE} quartals?\b|上个?季度", 1),
    (rf"\bthis quarter\b|\b{_THIS_DE} quartals?\b|本季度|这个?季度", 0),
)
_ORDINALS = {
    word: number
    for number, words in enumerate(
        ("1 first erste 一", "2 second zweite 二", "3 third dritte 三", "4 fourth vierte 四"), 1
    )
    for word in words.split()
}
_YEAR = r"(?:19|20)\d\d"
_QUARTER = (
    rf"\b(?P<year>{_YEAR})[ /-]?q(?P<number>[1-4])\b",
    rf"\bq(?P<number>[1-4])(?:[ /-]?(?:of )?(?P<year>{_YEAR}))?\b",
    rf"\b(?P<number>first|second|third|fourth) quarter(?: of)?(?: (?P<year>{_YEAR}))?\b",
    rf"\b(?P<number>[1-4]|erste|zweite|dritte|vierte)(?:\.|[nrsm])? quartals?(?: (?P<year>{_YEAR}))?\b",
    rf"(?:(?P<year>{_YEAR})\s*年)?\s*第?(?P<number>[1-4一二三四])季度",
)


def quarters(text: str, today: date | None) -> tuple[list[Span], str]:
    """Quarters of a lower-cased text, and the text without them; one without a year is the latest that has begun."""
    spans: list[Span] = []

    def take(found: re.Match[str]) -> str:
        number = _ORDINALS[found["number"]]
        year = int(found["year"]) if found["year"] else None
        if year is None and today:
            year = today.year - (number > _quarter(today))
        if year is None:
            return found[0]
        spans.append(_quarter_span(year, number))
        return " "

    for pattern in _QUARTER:
        text = re.sub(pattern, take, text)
    return spans, text


def spans(text: str, today: date) -> list[Span]:
    """What a lower-cased text says of times before `today`, each as its first and last day."""
    found: list[Span] = []
    rest = text

    def take(pattern: str, made: Callable[[re.Match[str]], Span | None]) -> None:
        nonlocal rest
        for match in re.finditer(pattern, rest):
            if span := made(match):
                found.append(span)
        rest = re.sub(pattern, " ", rest)

    for pattern in _WITHIN:
        take(pattern, lambda match: _within(match, today))
    for pattern in _AGO:
        take(pattern, lambda match: _ago(match, today))
    take(_HAN_WEEKDAY, lambda match: _han_weekday(match, today))
    take(_WEEKDAY, lambda match: _weekday(match, today))
    for patterns, made in (
        (_DAYS, _day_back), (_WEEKS, _week_back), (_MONTHS, _month_back), (_QUARTERS, _quarter_back),
        (_YEARS, _year_back),
    ):  # fmt: skip
        for pattern, back in patterns:
            take(pattern, lambda _, made=made, back=back: made(today, back))  # type: ignore[misc]
    return list(dict.fromkeys(found))


def is_year(span: Span) -> bool:
    """From the first to the last day of a year?"""
    first, last = span
    return (first.month, first.day, last.month, last.day) == (1, 1, 12, 31) and first.year == last.year


def number_of(text: str) -> int | None:
    """A number as digits, as a word up to twelve, or in Chinese numerals up to 99."""
    if text.isdecimal():
        return int(text)
    if text in _NUMBERS:
        return _NUMBERS[text]
    tens, ten, ones = text.partition("十")
    if not ten:
        return None
    values = [_NUMBERS.get(part) if part else default for part, default in ((tens, 1), (ones, 0))]
    return None if None in values else 10 * (values[0] or 0) + (values[1] or 0)


def _counted(match: re.Match[str]) -> Iterator[int]:
    number = number_of(match[1])
    if number:
        yield from (number, _UNITS[match[2]])


def _ago(match: re.Match[str], today: date) -> Span | None:
    number, length = (*_counted(match), 0, 0)[:2]
    if not number:
        return None
    day = _back(today, number * length)
    slack = timedelta(days=length // 2)
    return day - slack, min(day + slack, today)


def _within(match: re.Match[str], today: date) -> Span | None:
    number, length = (*_counted(match), 0, 0)[:2]
    return (_back(today, number * length), today) if number else None


def _weekday(match: re.Match[str], today: date) -> Span:
    """The last such day before today."""
    day = today - timedelta(days=(today.weekday() - _WEEKDAYS[match[1]] - 1) % 7 + 1)
    return day, day


def _han_weekday(match: re.Match[str], today: date) -> Span:
    """`上周三` is of the last week, `这周三` of this one, `周三` alone the last such day."""
    if not match[1]:
        day = today - timedelta(days=(today.weekday() - _WEEKDAYS[match[2]] - 1) % 7 + 1)
    else:
        first, _ = _week_back(today, int(match[1].startswith("上")))
        day = first + timedelta(days=_WEEKDAYS[match[2]])
    return day, day


def _day_back(today: date, back: int) -> Span:
    return today - timedelta(days=back), today - timedelta(days=back)


def _week_back(today: date, back: int) -> Span:
    first = today - timedelta(days=today.weekday() + 7 * back)
    return first, first + timedelta(days=6)


def _month_back(today: date, back: int) -> Span:
    months = today.year * 12 + today.month - 1 - back
    return date(months // 12, months % 12 + 1, 1), _before(date((months + 1) // 12, (months + 1) % 12 + 1, 1))


def _quarter_back(today: date, back: int) -> Span:
    quarters_ = today.year * 4 + _quarter(today) - 1 - back
    return _quarter_span(quarters_ // 4, quarters_ % 4 + 1)


def _year_back(today: date, back: int) -> Span:
    return date(today.year - back, 1, 1), date(today.year - back, 12, 31)


def _quarter(day: date) -> int:
    return (day.month + 2) // 3


def _quarter_span(year: int, number: int) -> Span:
    after = date(year + number // 4, number % 4 * 3 + 1, 1)
    return date(year, number * 3 - 2, 1), _before(after)


def _before(day: date) -> date:
    return day - timedelta(days=1)


def _back(today: date, days: int) -> date:
    return today - timedelta(days=min(days, today.toordinal() - 400))
