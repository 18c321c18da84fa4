"""Commits in groups: whatever git says, no change is lost."""

import asyncio

import pygit2
import pytest

from aimemory.errors import Unavailable
from aimemory.model.protocols import SystemClock
from aimemory.store.committer import Change, Committer
from aimemory.wiki.repo import WikiRepo


def change(path, text="text\n", user="ada"):
    return Change(path, text.encode(), user, f"{user}@m.invalid", "Add")


@pytest.mark.parametrize("error", [pygit2.GitError("no space"), OSError(28, "No space left"), Unavailable("locked")])
def test_what_git_refuses_now_stays_queued_and_is_committed_later(tmp_path, monkeypatch, error):
    async def story():
        committer = Committer(tmp_path, SystemClock())
        committer.add(change("default/app/a.md"))
        committer.add(change("default/app/b.md", user="bob"))
        with monkeypatch.context() as patched:
            patched.setattr(WikiRepo, "commit", lambda *a, **k: (_ for _ in ()).throw(error))
            with pytest.raises(Unavailable):
                await committer.flush()
            waiting, problem = committer.waiting, committer.problem
        done = await committer.flush()
        await committer.close()
        return waiting, problem, done, committer.waiting, committer.problem

    waiting, problem, done, left, after = asyncio.run(story())

    assert waiting == 2 and problem
    assert (done, left, after) == (2, 0, None)
    tree = pygit2.Repository(str(tmp_path)).head.peel().tree
    assert "a.md" in tree["default/app"] and "b.md" in tree["default/app"]


def test_every_version_of_a_page_gets_a_commit_of_its_own(tmp_path):
    async def story():
        committer = Committer(tmp_path, SystemClock())
        for text in ("one\n", "two\n", "three\n"):
            committer.add(change("default/app/a.md", text))
            committer.add(change(f"default/app/{text[:3]}.md", text))
        past = await committer.past("default/app/a.md", 10)
        texts = [await committer.content(one.commit.blob) for one in past]
        await committer.close()
        return texts

    assert asyncio.run(story()) == [b"three\n", b"two\n", b"one\n"]
