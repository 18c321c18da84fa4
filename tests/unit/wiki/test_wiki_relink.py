"""Links get another target; nothing else of a page changes."""

import pytest

from aimemory.wiki.relink import relinked

NEW = {"shop": "store", "default/shop/a": "default/store/a", "My Shop.md": "My Store.md", "x": "a (b) <c>"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[[shop]]", "[[store]]"),
        ("[[ shop |its name]] ![[shop#H]] [[shop#^b]]", "[[ store |its name]] ![[store#H]] [[store#^b]]"),
        ("| [[shop\\|x]] |", "| [[store\\|x]] |"),
        ("[[default/shop/a]] and [t](default/shop/a#h 'title')", "[[default/store/a]] and [t](default/store/a#h 'title')"),
        ("[t](My%20Shop.md)", "[t](My%20Store.md)"),
        ("[t](<My Shop.md>)", "[t](<My Store.md>)"),
        ("[t](x)", "[t](a%20(b)%20%3Cc%3E)"),
        ("`[[shop]]` %%[[shop]]%% [[Shop]] [[shopping]] shop", None),
        ("```\n[[shop]]\n```\n[[shop]]\r\n", "```\n[[shop]]\n```\n[[store]]\r\n"),
        ("---\nup: '[[shop|x]]'  # [[shop]]\nb: \"[[shop]]\"\nc: see [[shop]]\nl: ['[[shop]]', {k: '[[shop#H]]'}]\n---\n[[shop]]", "---\nup: '[[store|x]]'  # [[shop]]\nb: \"[[store]]\"\nc: see [[shop]]\nl: ['[[store]]', {k: '[[store#H]]'}]\n---\n[[store]]"),
        ("\ufeff---\r\ntitle: shop\r\n---\r\n\r\n[[shop]]\r\nno end", "\ufeff---\r\ntitle: shop\r\n---\r\n\r\n[[store]]\r\nno end"),
        ("---\nsupersedes: shop # shop\nFixed-by: ['shop', \"[[shop]]\"]\nrelated: shop\n---\n", "---\nsupersedes: store # shop\nFixed-by: ['store', \"[[store]]\"]\nrelated: shop\n---\n"),
        ("+++\na = '[[shop]]'\n+++\n", "+++\na = '[[store]]'\n+++\n"),
    ],
)  # fmt: skip
def test_only_the_path_of_a_link_changes(before: str, after: str | None) -> None:
    assert relinked(before, NEW)[0] == (before if after is None else after)


def test_a_way_and_back_gives_the_same_bytes() -> None:
    text = "---\nup: '[[shop]]'\n---\n[[shop#H|x]]\n[a](default/shop/a)\n"
    there, count = relinked(text, NEW)
    back = {new: old for old, new in NEW.items()}

    assert (relinked(there, back)[0], count) == (text, 3)
