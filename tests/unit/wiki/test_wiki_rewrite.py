"""Rewriting git's history: everything a person may have in a repository, and not an object left of what went."""

import subprocess

import pygit2
import pytest
from living import git

from aimemory.errors import Unavailable
from aimemory.wiki.prune import prune
from aimemory.wiki.rewrite import prepare, refuse_unready, switch

WORD = b"AMARYLLIS"


class Without:
    """The word goes from files and messages; `gone.md` goes whole, `amaryllis.md` is called otherwise."""

    def blob(self, path, read):
        return None if path.endswith("gone.md") else read().replace(WORD, b"[x]")

    def name(self, path):
        return path.replace("amaryllis", "forgotten")

    def message(self, raw):
        return raw.replace(WORD, b"[x]")


def commit(root, message, **files):
    for name, text in files.items():
        file = root / "a" / f"{name}.md"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    git(root, "add", "-A")
    git(root, "commit", "-qm", message)


@pytest.fixture
def root(tmp_path):
    """Branches, a merge, an annotated tag, a stash, a pack, a staged file."""
    made = tmp_path / "wiki"
    made.mkdir()
    git(made, "init", "-q")
    commit(made, "clean", y="y\n")
    commit(made, "one AMARYLLIS", x="hello AMARYLLIS\n", gone="AMARYLLIS", amaryllis="named so\n")
    commit(made, "two", x="hello\n")
    git(made, "rm", "-q", "a/gone.md")
    git(made, "commit", "-qm", "only what goes")
    git(made, "gc", "-q", "--prune=now")
    git(made, "checkout", "-qb", "side")
    commit(made, "side", z="z AMARYLLIS")
    git(made, "tag", "-a", "first", "-m", "tag AMARYLLIS")
    commit(made, "side clean", z="z")
    git(made, "checkout", "-q", "main")
    git(made, "mv", "a/amaryllis.md", "a/b.md")
    git(made, "commit", "-qm", "moved")
    (made / "a/y.md").write_text("y AMARYLLIS\n")
    git(made, "stash", "-q")
    git(made, "merge", "-q", "--no-ff", "side", "-m", "merge")
    (made / "a/staged.md").write_text("staged AMARYLLIS\n")
    git(made, "add", "a/staged.md")
    (made / "a/staged.md").write_text("staged [x]\n")
    return made


def objects(root):
    """The content of every object there is, reachable or not."""
    repo = pygit2.Repository(str(root))
    found = b"\n".join(repo.odb.read(oid)[1] for oid in repo)
    repo.free()
    return found


def rewritten(root):
    done = prepare(root, Without())
    switch(root, done, Without())
    prune(root)
    return done


def test_nothing_of_it_is_left_and_everything_else_is(root):
    first = git(root, "rev-list", "--max-parents=0", "main").strip()
    files = git(root, "ls-tree", "-r", "main")
    dry = prepare(root, Without(), dry=True)
    assert WORD in objects(root)

    done = rewritten(root)

    assert (dry.commits, dry.held) == (done.commits, done.held)
    assert WORD not in objects(root)
    raw = subprocess.run(["grep", "-ra", "AMARYLLIS", ".git"], cwd=root, capture_output=True, check=False)
    assert raw.stdout == b""
    assert git(root, "fsck", "--full", "--strict") == ""
    assert git(root, "ls-tree", "-r", "main") == files
    assert git(root, "status", "--porcelain") == "A  a/staged.md\n"
    assert git(root, "rev-list", "--max-parents=0", "main").strip() == first, "what is not concerned keeps its id"
    assert git(root, "log", "--format=%s", "--first-parent", "main").split("\n")[:5] == [
        "merge", "moved", "two", "one [x]", "clean",
    ]  # fmt: skip
    assert git(root, "show", "-s", "--format=%an %s", "first^{commit}").strip() == "Ada side"
    assert "[x]" in git(root, "tag", "-n", "first") and "y [x]" in git(root, "stash", "show", "-p")
    assert git(root, "log", "--all", "--format=%s", "--", "a/amaryllis.md", "a/gone.md") == ""


def test_doing_it_again_changes_nothing(root):
    rewritten(root)
    before = git(root, "for-each-ref")

    assert rewritten(root).changed_commits == 0
    assert git(root, "for-each-ref") == before


def test_a_branch_that_moved_meanwhile_is_not_overwritten(root):
    done = prepare(root, Without())
    git(root, "commit", "--allow-empty", "-qm", "meanwhile")

    with pytest.raises(Unavailable, match="moved"):
        switch(root, done, Without())

    assert git(root, "log", "-1", "--format=%s").strip() == "meanwhile"


def test_what_is_in_the_middle_of_something_is_refused(root):
    git(root, "checkout", "-q", "--detach", "-f")

    with pytest.raises(Unavailable, match="detached"):
        refuse_unready(root)


def test_a_tracking_branch_goes_and_its_remote_is_known_no_less(root, tmp_path):
    git(root, "clone", "-q", "--bare", ".", str(tmp_path / "remote"))
    git(root, "remote", "add", "origin", str(tmp_path / "remote"))
    git(root, "fetch", "-q", "origin")
    assert "refs/remotes/origin/main" in git(root, "for-each-ref")

    rewritten(root)

    assert "refs/remotes" not in git(root, "for-each-ref") and git(root, "remote").strip() == "origin"
    assert WORD not in objects(root)


def test_while_another_git_holds_the_index_no_object_goes(root):
    switch(root, prepare(root, Without()), Without())
    (root / ".git/index.lock").write_text("")

    with pytest.raises(Unavailable, match="at work"):
        prune(root)
    assert WORD in objects(root)
