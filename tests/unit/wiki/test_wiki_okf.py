"""The Open Knowledge Format 0.2: what conforms, and pages on their way into and out of a bundle."""

import pytest

from aimemory.errors import UserError
from aimemory.wiki.frontmatter import add_fields
from aimemory.wiki.listing import Entry, Section, listing
from aimemory.wiki.okf import conformance, fit_for_bundle, moved_links, with_markdown_links

PAGE = "---\ntype: Metric\n---\n\n# Text\n"


def test_a_bundle_like_that_of_the_specification_conforms() -> None:
    files = {
        "index.md": '---\nokf_version: "0.2"\n---\n\n# Tables\n\n* [Orders](tables/orders.md) - one row per order\n',
        "tables/index.md": "# Tables\n\n* [Orders](orders.md)\n",
        "tables/orders.md": "---\ntype: BigQuery Table\nverified: {by: human:ada, at: 2026-06-25}\nown: [1]\n---\nSee [x](/gone.md).\n",
        "log.md": "# Directory Update Log\n\n## 2026-05-22\n* **Update**: Added.\n\n## 2026-05-15: First\n* **Creation**\n",
    }  # fmt: skip

    assert conformance(files) == {}


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("a.md", "# No front matter\n", "no front matter"),
        ("a.md", "\n" + PAGE, "no front matter"),
        ("a.md", "---\ntype: [\n---\n", "no valid YAML"),
        ("a.md", "---\ntitle: x\n---\n", "no type"),
        ("a.md", "---\ntype: ''\n---\n", "no type"),
        ("a.md", "---\ntype: [a]\n---\n", "no type"),
        ("x/index.md", '---\nokf_version: "0.2"\n---\n# A\n', "no front matter"),
        ("index.md", "---\ntype: x\n---\n# A\n", "no front matter"),
        ("index.md", "prose\n", "lists pages"),
        ("log.md", "## Yesterday\n* x\n", "dates"),
        ("log.md", PAGE, "no front matter"),
    ],
)
def test_what_does_not_conform_is_named_with_the_reason(path: str, text: str, why: str) -> None:
    assert why in conformance({path: text})[path]


@pytest.mark.parametrize(
    ("text", "fit"),
    [
        (PAGE, PAGE),
        ("\ufeff" + PAGE, PAGE),
        ("# Mine\n", "---\ntype: note\ntitle: Mine\n---\n\n# Mine\n"),
        ("---\ntitle: x # y\n---\nText\r\n", "---\ntitle: x # y\ntype: note\n---\nText\r\n"),
        ("---\ntype: ''\n---\n", "---\ntype: 'note'\n---\n"),
    ],
)
def test_a_page_is_made_to_conform_and_keeps_the_rest(text: str, fit: str) -> None:
    assert fit_for_bundle(text, "note", "Mine") == fit
    assert conformance({"a.md": fit}) == {}


def test_broken_front_matter_is_refused_with_its_line() -> None:
    with pytest.raises(UserError, match="line 3"):
        fit_for_bundle("---\na: [\n---\n", "note", "x")


def test_wiki_links_become_markdown_links_where_the_page_is_in_the_bundle() -> None:
    pages = {"w/p/a.md": "a.md", "w/p/n/b c.md": "n/b c.md"}
    text = "---\nup: '[[b c]]'\n---\n[[b c]] [[B C|it]] [[w/p/n/b c#H x|h]] ![[b c#^b1]] [[gone]] [[#Here]] `[[b c]]` [m](n/b%20c.md)"

    assert with_markdown_links("w/p/a.md", text, pages) == (
        "---\nup: '[[b c]]'\n---\n[b c](n/b%20c.md) [it](n/b%20c.md) [h](n/b%20c.md#H%20x) [b c#^b1](n/b%20c.md#%5Eb1) [[gone]] "
        "[Here](#Here) `[[b c]]` [m](n/b%20c.md)"
    )
    assert "[x](../a.md)" in with_markdown_links("w/p/n/b c.md", "[[a|x]]", pages)


def test_links_of_a_foreign_page_lead_to_where_its_pages_lie_here() -> None:
    places = {"tables/orders.md": "w/p/tables/orders-1.md", "a b.md": "w/p/a-b-2.md", "x/c.md": "w/p/x/c-3.md"}
    text = (
        "---\ntype: t\nup: '[[orders]]'\nsee: \"[o](/tables/orders.md)\"\n---\n[o](/tables/orders.md#H 'T') [r](../a%20b.md) "
        "[c](./c.md) [[orders|O]] [[gone]] [g](gone.md) [e](https://example.com/orders.md) `[o](/tables/orders.md)`"
    )

    assert moved_links("x/c.md", text, places) == (
        "---\ntype: t\nup: '[[orders-1]]'\nsee: \"[o](../tables/orders-1.md)\"\n---\n[o](../tables/orders-1.md#H 'T') "
        "[r](../a-b-2.md) [c](c-3.md) [[orders-1|O]] [[gone]] [g](gone.md) [e](https://example.com/orders.md) "
        "`[o](/tables/orders.md)`"
    )


def test_fields_are_added_last_and_nothing_else_changes() -> None:
    text = "\ufeff---\r\n# why\r\ntype: x\r\n---\r\nText"
    assert add_fields(text, {"imported": {"a": "b"}}) == (
        "\ufeff---\r\n# why\r\ntype: x\r\nimported: {a: b}\r\n---\r\nText"
    )
    for broken in ("Text\n", "---\na: [\n---\n", "---\n{a: b}\n---\n", "---\nimported: 1\n---\n"):
        with pytest.raises(UserError):
            add_fields(broken, {"imported": {"a": "b"}})


def test_no_title_breaks_a_listing() -> None:
    entries = [
        Entry(f"{n} x.md", title, "a\nb")
        for n, title in enumerate(["[[a]]", "x](y", "`c`", "%%d%%", "#tag", "", "<!--"])
    ]
    text = listing([Section("Notes", entries, more=3), Section("None", [])])

    assert conformance({"index.md": text}) == {}
    assert text.count("\n* ") == 8 and "None" not in text
