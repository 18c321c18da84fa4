"""Words for times in English, German and Chinese: which days they mean, and that other words mean none."""

from datetime import date
from typing import Any

import pytest

from aimemory.index.read import read
from aimemory.recall.answer import Request, search
from aimemory.recall.dates import dates_in, day_of, fit

TUESDAY = date(2026, 12, 1)
NOON_NS = 1_796_122_800 * 10**9  # 2026-12-01 11:00 UTC

DAYS = {
    "2026-11-30": "yesterday; last night; gestern; 昨天; 昨晚; a day ago; vor einem Tag; 一天前; last Monday; am Montag; 这周一",
    "2026-11-28": "three days ago; 3 days ago; vor drei Tagen; vor 3 Tagen; 三天前; 3天前; on Saturday; letzten Samstag",
    "2026-11-19": "twelve days ago; vor zwölf Tagen; 十二天前",
    "2026-11-25": "上周三; last Wednesday; 周三; last week; letzte Woche; vorige Woche; 上周; 上个星期; 上礼拜",
    "2026-11-17": "two weeks ago; vor zwei Wochen; 两周前; 2周前; the week before last; vorletzte Woche; 上上周",
    "2026-11-02": "last month; letzten Monat; im letzten Monat; 上个月; 上月; a month ago; vor einem Monat; 一个月前; in november",
    "2026-12-01": "today; this morning; heute; 今天; last 3 days; in den letzten drei Tagen; 最近三天; this week; diese Woche; 本周",
    "2026-05-14": "14 May; May 14th; 14. Mai; 14.5.2026; 2026/05/14; 5月14日; 五月十四日; 2026年5月14号",
    "2026-03-09": "in March; im März; 三月; 3月; since mar; seit März; Q1; first quarter; erstes Quartal; 1. Quartal; 第一季度",
    "2025-08-20": "Q3 2025; 2025-Q3; third quarter of 2025; drittes Quartal 2025; 2025年第三季度; 2025年三季度; August of last year",
    "2025-02-03": "last year; letztes Jahr; voriges Jahr; 去年; im Februar letzten Jahres; 去年二月; 去年2月; February 2025",
    "2024-07-01": "two years ago; vor zwei Jahren; 两年前; 前年",
}  # fmt: skip


@pytest.mark.promise("P6.360")
@pytest.mark.parametrize(("day", "words"), DAYS.items())
def test_words_for_times_mean_the_day_and_not_one_of_two_years_before(day: str, words: str) -> None:
    meant = date.fromisoformat(day)
    other = meant.replace(year=meant.year - 3, month=meant.month % 12 + 1, day=15)
    for text in words.split("; "):
        for query in (text, f"what failed {text}?", f"{text} der Export"):
            dates = dates_in(query, TUESDAY)
            assert (fit(dates, meant) > 0, fit(dates, other)) == (True, 0.0), (query, dates)


def test_other_words_mean_no_time() -> None:
    texts = (
        "may I use mar 3x", "the last one", "last 5 commits", "months ago", "version 2.2023.1", "1.2.2023.4", "vor 30 Sekunden",
        "每周一 备份", "一天", "一个库", "下周", "quarter", "Q7", "error 2024-99-99", "month", "vor dem Start", "999 parsecs ago",
    )  # fmt: skip
    assert {text: found for text in texts if (found := dates_in(text, TUESDAY))} == {}
    assert not dates_in("last week, gestern, 三天前")
    assert dates_in("999 years ago and 十十十天前", TUESDAY).spans, "however long ago"


@pytest.mark.promise("P6.360")
@pytest.mark.parametrize(
    "query", ["release notes three weeks ago", "release notes vor drei Wochen", "release notes 三周前"]
)
def test_pages_of_the_time_that_was_meant_come_first(store: Any, query: str) -> None:
    for day in ("2026-12-01", "2026-11-24", "2026-11-10", "2026-08-10", "2025-11-10"):
        store.page(f"{day}.md", "release notes", title="Release", created=f"{day}T12:00:00+00:00")

    hits = read(store.db, search(Request(query, now_ns=NOON_NS))).hits

    assert day_of(NOON_NS) == TUESDAY
    assert hits[0].path == "2026-11-10.md" and "the date that was named" in hits[0].explanation
