"""Commits in groups: whatever git says, no change is lost."""

import asyncio
import os
import re
import subprocess
import time
from dataclasses import replace

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


@pytest.mark.promise("P9.106")
def test_a_page_that_waited_for_a_merge_and_was_settled_by_hand_is_not_committed_in_its_old_text(tmp_path):
    path, other = "default/app/a.md", "default/app/b.md"

    def git(*arguments, **env):
        command = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.invalid", *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env={**os.environ, **env}, capture_output=True, text=True, check=False
        ).stdout

    def save(text):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    async def story():
        committer = Committer(tmp_path, SystemClock())
        save("base\n")
        committer.add(change(path, "base\n"))
        await committer.flush()
        git("switch", "-q", "-c", "side")
        save("theirs\n")
        git("commit", "-qam", "theirs")
        git("switch", "-q", "main")
        save("mine\n")
        git("commit", "-qam", "mine")
        git("merge", "side")
        for text in ("waited\n", "waited longer\n"):  # an agent writes over the markers
            save(text)
            committer.add(change(path, text))
        (tmp_path / other).write_text("elsewhere\n")
        committer.add(change(other, "elsewhere\n"))
        with pytest.raises(Unavailable, match="merge"):
            await committer.flush()
        save("settled\n")
        git("commit", "-qam", "merged", GIT_COMMITTER_DATE=f"{int(time.time()) + 2} +0000")  # git knows seconds only
        await committer.flush()
        after = git("show", f"HEAD:{path}"), git("show", f"HEAD:{other}"), git("log", "--format=%s", "--", path)
        for text in ("later\n", "latest\n"):
            committer.add(change(path, text))
        save("latest\n")
        await committer.flush()
        await committer.close()
        return after, git("log", "--format=%s", "--", path).split("\n")

    (settled, elsewhere, log), later = asyncio.run(story())

    assert (settled, elsewhere) == ("settled\n", "elsewhere\n")
    assert "Add" not in log.split("\n")[0] and log.count("Add") == 1
    assert len([line for line in later if line.startswith("Add")]) == 3  # every version of ours has its commit again


@pytest.mark.promise("P9.223")
def test_what_a_checkout_has_done_half_of_is_not_committed_as_a_persons_doing(tmp_path):
    """Git holds the index for as long as it changes files, and moves HEAD behind that."""
    lock = tmp_path / ".git" / "index.lock"
    paths = [f"default/app/{name}.md" for name in "abc"]

    def save(path, text):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    def seen(path, text):
        return replace(change(path, text or ""), content=text.encode() if text else None, found=True)

    def text_of(path):
        tree = pygit2.Repository(str(tmp_path)).head.peel().tree
        return tree[path].data.decode() if path in tree else None

    async def story():
        committer = Committer(tmp_path, SystemClock())
        for text in ("old\n", "new\n"):
            for path in paths:
                save(path, text)
                committer.add(change(path, text))
            await committer.flush()
        head = committer.head
        lock.touch()
        (tmp_path / paths[0]).unlink()
        save(paths[1], "old\n")
        save(paths[2], "typed meanwhile\n")
        for path, text in zip(paths, (None, "old\n", "typed meanwhile\n"), strict=True):
            committer.add(seen(path, text))
        save("default/app/ours.md", "ours\n")
        committer.add(change("default/app/ours.md", "ours\n"))
        await committer.flush(patient=True)  # says nothing yet
        said = committer.problem
        with pytest.raises(Unavailable, match=re.escape(str(lock))):
            await committer.flush()
        during = [text_of(path) for path in (*paths, "default/app/ours.md")]
        lock.unlink()
        save(paths[0], "new\n")
        save(paths[1], "new\n")
        await committer.flush()
        after = [text_of(path) for path in paths]
        log = subprocess.run(["git", "log", "--format=%s", f"{head}.."], cwd=tmp_path, capture_output=True, text=True)
        (tmp_path / paths[0]).unlink()
        committer.add(seen(paths[0], None))
        await committer.flush()
        await committer.close()
        return said, during, after, log.stdout.splitlines(), text_of(paths[0]), committer.waiting

    said, during, after, log, deleted, left = asyncio.run(story())

    assert said is None and during == ["new\n", "new\n", "new\n", "ours\n"]
    assert after == ["new\n", "new\n", "typed meanwhile\n"]
    assert log == ["Add: default/app/c.md", "Add: default/app/ours.md"]  # nothing of the half
    assert deleted is None and left == 0


def test_an_older_change_that_waits_never_comes_after_a_newer_one_of_its_page(tmp_path):
    path, lock = "default/app/a.md", tmp_path / ".git" / "index.lock"

    async def story():
        committer = Committer(tmp_path, SystemClock())
        committer.add(change(path, "one\n"))
        await committer.flush()
        lock.touch()
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("three\n")
        committer.add(replace(change(path, "two\n"), found=True))
        committer.add(change(path, "three\n"))
        await committer.flush(patient=True)
        waiting = committer.waiting
        lock.unlink()
        past = await committer.past(path, 10)
        texts = [await committer.content(one.commit.blob) for one in past]
        await committer.close()
        return waiting, texts

    assert asyncio.run(story()) == (2, [b"three\n", b"two\n", b"one\n"])
