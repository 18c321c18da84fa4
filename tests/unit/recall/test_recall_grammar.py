"""Pairs of characters that hold grammar are left out of a query, as function words are."""

from collections.abc import Callable

import pytest

from aimemory.index.words import pairs
from aimemory.recall.grammar import fillers
from aimemory.recall.query import parse


@pytest.mark.parametrize(
    ("run", "grammar"),
    [
        ("测试的类型", {"试的", "的类"}), ("如何配置插件", {"如何"}), ("使用目的", set()), ("了解测试", set()), ("目的", set()),
        ("什么", {"什么"}), ("記憶を復元する手順", {"憶を", "を復", "する", "元す", "る手"} - {"元す", "る手"}),
        ("ください", set()), ("コンポーネント", set()), ("데이터베이스를", {"스를"}), ("회의", set()), ("설정하기", {"하기"}),
    ],
)  # fmt: skip
def test_grammar_is_told_from_words(run: str, grammar: set[str]) -> None:
    assert fillers(run, pairs(run)[:-1]) == grammar


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("测试的类型", ["测试", "类型"]), ("为什么 测试", ["么 ", "测试"][1:]), ("什么", ["什么"]), ("복원하는 방법", ["복원", "원하", "방법"]),
        ("復元のテスト", ["復元", "テス", "スト"]),
    ],
)  # fmt: skip
def test_a_query_keeps_its_words_and_where_it_has_no_other_its_grammar(query: str, words: list[str]) -> None:
    assert [term.start for term in parse(query).terms] == words


def test_a_page_with_the_words_comes_before_one_with_the_grammar(paths: Callable[..., list[str]], store) -> None:  # type: ignore[no-untyped-def]
    store.page("grammar.md", "面试的时候用到的类比的话，的类的类，试的试的。")
    store.page("words.md", "这里列出了各种测试，每种类型都有例子。")
    for number in range(8):
        store.page(f"other-{number}.md", "这里没有什么内容，只有测试数据。")

    assert paths("测试的类型")[0] == "words.md"
