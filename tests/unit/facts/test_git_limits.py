"""Git probes on hostile, slow and foreign repositories: nothing runs, is written, hangs or is guessed."""

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from aimemory.facts.git import GitFacts, git_facts
from aimemory.facts.gitrun import GitRunner, Output
from aimemory.facts.known import Known, Unknown
from aimemory.facts.summary import git_summary

Git = Callable[..., str]
Wrapper = Callable[[str], str]
HANG = 'sleep 600 & echo "$$ $!" >> "$(dirname "$0")/pids"; wait'


def facts(checkout: Path, timeout_s: float = 20, **more: Any) -> GitFacts:
    found = asyncio.run(git_facts(str(checkout), timeout_s=timeout_s, **more))
    assert found is not None
    return found


def all_facts(found: GitFacts) -> dict[str, object]:
    return {field.name: getattr(found, field.name) for field in fields(found)}


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (ProcessLookupError, FileNotFoundError):
        return False


def assert_all_gone(pids: Path) -> None:
    started = [int(pid) for pid in pids.read_text().split()]
    assert started
    give_up = time.monotonic() + 60
    while (left := [pid for pid in started if is_alive(pid)]) and time.monotonic() < give_up:
        time.sleep(0.005)
    assert left == []


@pytest.mark.promise("P6.41")
def test_a_git_that_hangs_leaves_every_fact_unknown_and_no_process(
    repo: Path, wrapper: Wrapper, tmp_path: Path
) -> None:
    found = facts(repo, timeout_s=2, git=wrapper(HANG), since_ns=1)

    assert {name for name, fact in all_facts(found).items() if not isinstance(fact, Unknown)} == set()
    assert isinstance(found.uncommitted, Unknown)
    assert found.uncommitted.reason == "git did not answer within 2000 ms"
    assert git_summary(found, 7).uncommitted is None
    assert_all_gone(tmp_path / "pids")


def test_a_probe_that_hangs_takes_no_other_with_it(repo: Path, wrapper: Wrapper, tmp_path: Path) -> None:
    slow = wrapper(f'case "$*" in *porcelain*) {HANG};; esac; exec $GIT "$@"')

    found = facts(repo, timeout_s=6, git=slow)

    unknown = {name for name, fact in all_facts(found).items() if isinstance(fact, Unknown)}
    assert unknown == {"uncommitted", "untracked", "lines"}
    assert_all_gone(tmp_path / "pids")


def test_a_cancelled_caller_leaves_no_process(repo: Path, wrapper: Wrapper, tmp_path: Path) -> None:
    program = wrapper(HANG)

    async def ask_and_leave() -> None:
        task = asyncio.create_task(git_facts(str(repo), timeout_s=60, git=program))
        async with asyncio.timeout(60):
            while not (tmp_path / "pids").exists():
                await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(ask_and_leave())

    assert_all_gone(tmp_path / "pids")


@pytest.mark.parametrize("script", ["exit 1", "echo oops >&2; exit 128", "kill -9 $$", "exit 0", "yes"])
def test_a_git_that_fails_or_talks_nonsense_is_never_taken_for_clean(repo: Path, wrapper: Wrapper, script: str) -> None:
    found = facts(repo, timeout_s=2, git=wrapper(script))

    for name in ("repository", "head", "lines", "in_progress", "bare"):
        assert isinstance(getattr(found, name), Unknown), name
    assert found.uncommitted != Known(())


def test_a_git_that_is_not_there_is_named(repo: Path) -> None:
    found = facts(repo, git="/nonexistent/git")

    assert isinstance(found.head, Unknown)
    assert "could not be started" in found.head.reason


def test_output_beyond_the_limit_is_cut_and_the_process_ended(repo: Path, wrapper: Wrapper, tmp_path: Path) -> None:
    endless = wrapper('echo $$ > "$(dirname "$0")/pids"; yes')

    async def run() -> Output | Unknown:
        deadline = asyncio.get_running_loop().time() + 20
        return await GitRunner(str(repo), deadline, 20, endless, output_bytes=100_000).run("log")

    done = asyncio.run(run())

    assert isinstance(done, Output)
    assert (len(done.stdout), done.cut) == (100_000, True)
    assert_all_gone(tmp_path / "pids")


def test_a_foreign_owner_is_the_reason_given(repo: Path, wrapper: Wrapper, tmp_path: Path) -> None:
    foreign = wrapper('GIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec $GIT "$@"')

    refused = facts(repo, git=foreign)
    assert isinstance(refused.uncommitted, Unknown)
    assert "belongs to another user" in refused.uncommitted.reason

    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(f"[safe]\ndirectory = {repo}\n")
    assert isinstance(facts(repo, git=foreign, home=str(home)).uncommitted, Known)


def test_the_environment_has_no_influence(
    repo: Path, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = facts(repo)
    git(tmp_path / "elsewhere", "init", "-q", "-b", "wrong")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere/.git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "no-index"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.bare")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "true")

    assert facts(repo) == before


@pytest.mark.promise("P9.62")
def test_nothing_that_a_repository_configures_is_run(repo: Path, git: Git, tmp_path: Path) -> None:
    mark = tmp_path / "it-ran"
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\necho \"$@\" >> '{mark}'\ncat\n")
    evil.chmod(0o755)
    for key in (
        "core.fsmonitor", "diff.external", "filter.evil.clean", "filter.evil.process", "diff.evil.textconv",
        "diff.evil.command", "core.pager", "gpg.program", "core.sshCommand", "credential.helper", "core.editor",
    ):  # fmt: skip
        git(repo, "config", key, str(evil))
    git(repo, "config", "log.showSignature", "true")
    git(repo, "config", "filter.evil.required", "true")
    (repo / ".git/info/attributes").write_text("* filter=evil diff=evil\n")
    for hook in (repo / ".git/hooks").iterdir():
        hook.unlink()
    for hook in ("post-index-change", "fsmonitor-watchman"):
        (repo / ".git/hooks" / hook).symlink_to(evil)
    os.utime(repo / "a.txt", ns=(1, 1))
    (repo / "b.txt").write_text("changed\n")
    signed = tmp_path / "signed"
    headers, _, message = git(repo, "cat-file", "commit", "HEAD").partition("\n\n")
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
    signed.write_text(f"{headers}\n{signature}\n\n{message}")
    commit = git(repo, "hash-object", "-t", "commit", "-w", str(signed)).strip()
    (repo / ".git/refs/heads/main").write_text(f"{commit}\n")

    found = facts(repo)

    assert isinstance(found.uncommitted, Known)
    assert "b.txt" in {change.path for change in found.uncommitted.value.entries}
    assert (found.head, found.subject) == (Known(commit), Known("First commit"))
    assert not mark.exists()


def test_a_filter_that_cannot_be_switched_off_is_not_given_a_chance(repo: Path, git: Git) -> None:
    git(repo, "config", "filter.a=b.clean", "evil")

    found = facts(repo)

    assert isinstance(found.uncommitted, Unknown)
    assert isinstance(found.head, Known)


def test_missing_objects_of_a_partial_clone_are_not_fetched(repo: Path, git: Git, tmp_path: Path) -> None:
    git(repo, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", "--no-checkout", f"file://{repo}", "partial")
    partial = tmp_path / "partial"
    before = sorted(path.name for path in (partial / ".git/objects").rglob("*"))

    found = facts(partial)

    assert isinstance(found.lines, Unknown)
    assert isinstance(found.head, Known)
    assert sorted(path.name for path in (partial / ".git/objects").rglob("*")) == before


@pytest.mark.promise("P9.63")
def test_looking_leaves_no_trace_in_the_repository(repo: Path) -> None:
    os.utime(repo / "a.txt", ns=(1, 1))  # git would like to write its index now
    (repo / "new.txt").write_text("x")

    def trace() -> list[tuple[str, int, int]]:
        return sorted((str(path), path.lstat().st_mtime_ns, path.lstat().st_size) for path in repo.rglob("*"))

    before = trace()
    facts(repo)

    assert trace() == before
