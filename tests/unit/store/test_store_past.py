"""A page's past from two sources: git has the texts, the journal who wrote them."""

from aimemory.index.pagelines import PageLine
from aimemory.model.ids import Version
from aimemory.store.committer import Past
from aimemory.store.past import joined
from aimemory.wiki.repo import PageCommit


def commit(version, at_ns, author="ada"):
    blob = f"blob-{version}" if version else None
    return Past(PageCommit(f"commit-{at_ns}", author, at_ns, "message", blob), Version(version) if version else None)


def line(version, at_ns, op="write", **more):
    return PageLine(at_ns, "a.md", None, version, op, at_ns, "ada", more.get("harness"), more.get("session"))


def told(past, lines):
    return [(one.what, one.version, one.by_hand, one.commit) for one in joined(past, lines)]


def test_a_commit_and_the_line_of_its_version_are_one_change_told_by_the_line():
    (one,) = joined([commit("v1", 9)], [line("v1", 5, harness="codex", session="s")])

    assert (one.what, one.at_ns, one.harness, one.session, one.commit, one.by_hand) == (
        "created", 5, "codex", "s", "commit-9", False,
    )  # fmt: skip


def test_what_only_git_knows_was_done_by_hand_and_what_only_the_journal_knows_is_in_no_commit():
    assert told([commit("v1", 10), commit("v2", 20), commit("v4", 40)], [line("v1", 9), line("v3", 30)]) == [
        ("created", "v1", False, "commit-10"),
        ("changed", "v2", True, "commit-20"),
        ("changed", "v3", False, None),
        ("changed", "v4", True, "commit-40"),
    ]


def test_gone_and_back_again_keeps_its_order_when_versions_repeat():
    past = [commit("v1", 10), commit(None, 20), commit("v1", 30), commit(None, 40)]

    assert told(past, [line("v1", 9), line(None, 19, "delete"), line("v1", 29, "restore")]) == [
        ("created", "v1", False, "commit-10"),
        ("deleted", None, False, "commit-20"),
        ("restored", "v1", False, "commit-30"),
        ("deleted", None, True, "commit-40"),
    ]


def test_a_page_without_a_past_has_none():
    assert joined([], []) == []


def test_a_name_alone_is_no_version_and_takes_no_line_from_the_one_that_is():
    past = [commit("v1", 10), commit("v1", 20), commit("v2", 30)]

    assert told(past, [line("v1", 9), line("v2", 29)]) == [
        ("created", "v1", False, "commit-10"), ("changed", "v2", False, "commit-30"),
    ]  # fmt: skip
