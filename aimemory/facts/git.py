"""The state of one checkout as git tells it: what a handoff, a brief and a re-check say about the working tree.

Text is git's own; callers sanitise it. Which project the checkout belongs to is the resolver's matter.
"""

import asyncio
import re
from dataclasses import dataclass, replace
from pathlib import Path

from aimemory.facts.changes import Changes, LineCount, read_numstat, read_status
from aimemory.facts.gitrun import GitRunner, Output
from aimemory.facts.known import Fact, Known, Unknown

MAX_COMMITS = 1000
"""Commits are counted up to here: a longer walk would not be done in time, and tells a reader no more."""

_SUBJECT_CHARS = 500
_MAX_REFLOG = 500
_COMMITTING = ("commit", "cherry-pick", "revert")
_MAX_FILTERS = 100


@dataclass(frozen=True, slots=True)
class GitFacts:
    """What git says; each fact by itself known or unknown. Paths are relative to `repository`.

    repository: top folder that the answers are about, or the git directory of a bare one. branch: None when detached.
    head, subject, committed_at (seconds since the epoch), lines: None before the first commit. upstream, ahead, behind:
    None without an upstream. unpushed: commits on no remote, at most 1,000; None if no remote was ever fetched.
    uncommitted: tracked files, of submodules only another commit. untracked: files not ignored, whole folders as one.
    in_progress: merge, rebase, am, cherry-pick, revert, bisect. fetched_at: when a remote was last asked; None: never.
    own_commits: `short-id subject` of commits made here since the instant asked about, the latest first; None if nobody
    asked.
    """

    repository: Fact[str]
    bare: Fact[bool]
    shallow: Fact[bool]
    in_progress: Fact[tuple[str, ...]]
    fetched_at: Fact[float | None]
    branch: Fact[str | None]
    upstream: Fact[str | None]
    ahead: Fact[int | None]
    behind: Fact[int | None]
    head: Fact[str | None]
    committed_at: Fact[int | None]
    subject: Fact[str | None]
    unpushed: Fact[int | None]
    stashes: Fact[int]
    uncommitted: Fact[Changes]
    untracked: Fact[Changes]
    lines: Fact[LineCount | None]
    own_commits: Fact[tuple[str, ...] | None]


async def git_facts(
    checkout: str, *, timeout_s: float, git: str = "git", home: str | None = None, since_ns: int | None = None
) -> GitFacts | None:
    """Look at the checkout that the folder `checkout` lies in, with all probes at once; None if it lies in none.

    timeout_s: for all of it. What is not known by then is `Unknown`, never "clean"; no process is left behind.
    since_ns: ask for the commits made here since then. git: the program. home: the user's home folder, whose git
    configuration (`safe.directory`) then holds.
    """
    run = GitRunner(checkout, asyncio.get_running_loop().time() + timeout_s, timeout_s, git, home)
    async with asyncio.TaskGroup() as probes:
        place_probe = probes.create_task(_place(run))
        head_probe = probes.create_task(_head(run))
        branch_probe = probes.create_task(_branch(run))
        unpushed = probes.create_task(_unpushed(run))
        stashes = probes.create_task(_stashes(run))
        own_commits = probes.create_task(_own_commits(run, since_ns))
        tree_probe = probes.create_task(_tree(run))
    place, head, branch, tree = place_probe.result(), head_probe.result(), branch_probe.result(), tree_probe.result()
    if place is None:
        return None
    if place.bare == Known(True):
        tree = _Tree.unknown(Unknown("a bare repository has no work tree"))
    return GitFacts(
        place.repository, place.bare, place.shallow, place.in_progress, place.fetched_at,
        branch.name, branch.upstream, branch.ahead, branch.behind,
        head.commit, head.committed_at, head.subject, unpushed.result(), stashes.result(),
        tree.uncommitted, tree.untracked, tree.lines, own_commits.result(),
    )  # fmt: skip


# -- where ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    repository: Fact[str]
    bare: Fact[bool]
    shallow: Fact[bool]
    in_progress: Fact[tuple[str, ...]]
    fetched_at: Fact[float | None]


async def _place(run: GitRunner) -> _Place | None:
    questions = ("--absolute-git-dir", "--git-common-dir", "--is-bare-repository", "--is-shallow-repository")
    # The top folder comes last: where there is none git fails at it, after the other answers.
    done = await run.run("rev-parse", *questions, "--show-toplevel")
    if isinstance(done, Output) and done.code and _says(done, "not a git repository", "cannot change to"):
        return None
    lines = done.stdout.decode("utf-8", "surrogateescape").split("\n")[:-1] if isinstance(done, Output) else []
    if len(lines) not in (4, 5):
        reason = _failed("rev-parse", done)
        return _Place(reason, reason, reason, reason, reason)
    git_dir, common_dir, bare, shallow, *top = lines
    in_progress, fetched_at = await _git_dir_state(run, Path(git_dir), Path(run.directory) / common_dir)
    return _Place(
        Known(top[0] if top else git_dir), Known(bare == "true"), Known(shallow == "true"), in_progress, fetched_at
    )


_MARKS = (
    ("MERGE_HEAD", "merge"), ("rebase-merge", "rebase"), ("rebase-apply/rebasing", "rebase"),
    ("rebase-apply/applying", "am"), ("CHERRY_PICK_HEAD", "cherry-pick"), ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)  # fmt: skip
"""Files that git keeps in the git directory while something is in progress."""


async def _git_dir_state(
    run: GitRunner, git_dir: Path, common_dir: Path
) -> tuple[Fact[tuple[str, ...]], Fact[float | None]]:
    def look() -> tuple[tuple[str, ...], float | None]:
        times = []
        for path in {git_dir / "FETCH_HEAD", common_dir / "FETCH_HEAD"}:
            try:
                times.append(path.stat().st_mtime)
            except FileNotFoundError:
                continue
        return tuple(name for mark, name in _MARKS if (git_dir / mark).exists()), max(times, default=None)

    try:
        async with asyncio.timeout_at(run.deadline):
            in_progress, fetched_at = await asyncio.to_thread(look)
    except TimeoutError:
        return run.late(), run.late()
    except OSError as error:
        reason = Unknown(f"the git directory can't be read ({error.strerror})")
        return reason, reason
    return Known(in_progress), Known(fetched_at)


# -- commits and branches ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Head:
    commit: Fact[str | None]
    committed_at: Fact[int | None]
    subject: Fact[str | None]


async def _head(run: GitRunner) -> _Head:
    done = await run.run("log", "-1", "-s", "--no-color", "--no-decorate", "--format=%H%x00%ct%x00%s")
    if isinstance(done, Output) and done.code and _says(done, "does not have any commits yet"):
        return _Head(Known(None), Known(None), Known(None))
    parts = _text(done).rstrip("\n").split("\0")
    if len(parts) != 3:
        reason = _failed("log", done)
        return _Head(reason, reason, reason)
    return _Head(Known(parts[0]), Known(int(parts[1])), Known(parts[2][:_SUBJECT_CHARS]))


@dataclass(frozen=True, slots=True)
class _Branch:
    name: Fact[str | None]
    upstream: Fact[str | None]
    ahead: Fact[int | None]
    behind: Fact[int | None]


async def _branch(run: GitRunner) -> _Branch:
    none: Known[None] = Known(None)
    done = await run.run("symbolic-ref", "-q", "HEAD")
    ref = _text(done).strip()
    if not ref:
        if isinstance(done, Output) and done.code == 1:
            return _Branch(none, none, none, none)
        reason = _failed("symbolic-ref", done)
        return _Branch(reason, reason, reason, reason)
    name = Known(ref.removeprefix("refs/heads/"))
    done = await run.run("for-each-ref", "--format=%(upstream:short)%00%(upstream:track,nobracket)", ref)
    if isinstance(done, Unknown) or done.code:
        reason = _failed("for-each-ref", done)
        return _Branch(name, reason, reason, reason)
    upstream, _, track = _text(done).strip("\n").partition("\0")
    if not upstream:
        return _Branch(name, none, none, none)
    if track == "gone":
        reason = Unknown("the upstream branch no longer exists")
        return _Branch(name, Known(upstream), reason, reason)
    counts = {word: int(number) for word, number in re.findall(r"(ahead|behind) (\d+)", track)}
    return _Branch(name, Known(upstream), Known(counts.get("ahead", 0)), Known(counts.get("behind", 0)))


async def _unpushed(run: GitRunner) -> Fact[int | None]:
    remotes = await run.run("for-each-ref", "--count=1", "--format=x", "refs/remotes")
    if isinstance(remotes, Unknown) or remotes.code:
        return _failed("for-each-ref", remotes)
    if not remotes.stdout:
        return Known(None)
    done = await run.run("rev-list", "--count", f"--max-count={MAX_COMMITS}", "HEAD", "--not", "--remotes")
    if _no_commit(done):
        return Known(0)
    count = _text(done).strip()
    return Known(int(count)) if count.isdigit() else _failed("rev-list", done)


async def _own_commits(run: GitRunner, since_ns: int | None) -> Fact[tuple[str, ...] | None]:
    """From HEAD's reflog, which says what was committed here and not what a pull or a checkout brought."""
    if since_ns is None:
        return Known(None)
    done = await run.run(
        "log", "-g", "-s", f"--max-count={_MAX_REFLOG}", "--date=unix", "--format=%h%x00%gd%x00%gs%x00%s", "HEAD", "--"
    )
    if isinstance(done, Output) and done.code and _says(done, "does not have any commits yet", "bad revision"):
        return Known(())
    if isinstance(done, Unknown) or done.code:
        return _failed("log", done)
    found: list[str] = []
    amended = False
    for line in _text(done).splitlines():
        commit, when, action, subject = [*line.split("\0", 3), "", "", ""][:4]
        at_s = re.search(r"@\{(\d+)\}", when)
        if at_s is None or int(at_s[1]) < since_ns // 1_000_000_000:
            break
        kind = action.partition(":")[0]
        if kind.startswith(_COMMITTING):
            if not amended:
                found.append(f"{commit} {subject[:_SUBJECT_CHARS]}")
            amended = kind == "commit (amend)"  # what it replaced is the entry before it
    return Known(tuple(found))


async def _stashes(run: GitRunner) -> Fact[int]:
    done = await run.run("log", "-g", "-s", "--format=%gd", "refs/stash", "--")
    if isinstance(done, Output) and done.code and _says(done, "bad revision"):
        return Known(0)
    count = _text(done).count("\n")
    return Known(count) if count else _failed("log", done)


# -- the work tree ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Tree:
    uncommitted: Fact[Changes]
    untracked: Fact[Changes]
    lines: Fact[LineCount | None]

    @staticmethod
    def unknown(reason: Unknown) -> "_Tree":
        return _Tree(reason, reason, reason)


_STATUS = (
    "--porcelain=v2", "-z", "--branch", "--no-ahead-behind", "--untracked-files=normal", "--ignore-submodules=dirty",
)  # fmt: skip
"""With a header that is always there, so that no output at all is not taken for no changes."""

_DIFF = (
    "--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "HEAD", "--",
)  # fmt: skip
"""For `diff-index`: `git diff` locks the index to refresh it, optional locks or not (seen with 2.39)."""


async def _tree(run: GitRunner) -> _Tree:
    off = await _filters_off(run)
    if isinstance(off, Unknown):
        return _Tree.unknown(off)
    run = replace(run, options=off)
    async with asyncio.TaskGroup() as probes:
        status_probe = probes.create_task(run.run("status", *_STATUS))
        diff_probe = probes.create_task(run.run("diff-index", *_DIFF))
    status, diff = status_probe.result(), diff_probe.result()
    if isinstance(status, Unknown) or (status.code and not status.cut) or not status.stdout.startswith(b"# branch."):
        return _Tree.unknown(_failed("status", status))
    uncommitted, untracked = read_status(status.stdout, cut=status.cut)
    return _Tree(Known(uncommitted), Known(untracked), _lines(diff))


def _lines(diff: Output | Unknown) -> Fact[LineCount | None]:
    if _no_commit(diff):
        return Known(None)
    if isinstance(diff, Unknown) or diff.code or diff.cut:
        return _failed("diff-index", diff)
    return Known(read_numstat(diff.stdout))


async def _filters_off(run: GitRunner) -> tuple[str, ...] | Unknown:
    """Settings that keep content filters of the repository from running; those of the user himself stay.

    A file that was only touched may then count as changed if its filter is the repository's own.
    """
    done = await run.run("config", "--show-scope", "--name-only", "-z", "--get-regexp", r"^filter\.")
    if isinstance(done, Unknown) or done.code not in (0, 1) or done.cut:
        return _failed("config", done)
    fields = done.stdout.decode("utf-8", "surrogateescape").split("\0")
    own = zip(fields[::2], fields[1::2], strict=False)
    names = sorted({key[7:].rpartition(".")[0] for scope, key in own if scope not in ("system", "global")})
    if len(names) > _MAX_FILTERS or any("=" in name for name in names):
        return Unknown("the repository has content filters that can't be kept from running")
    return tuple(
        f"filter.{name}.{setting}" for name in names for setting in ("clean=", "smudge=", "process=", "required=false")
    )


# -- what git says ----------------------------------------------------------------------------------------------------


def _text(done: Output | Unknown) -> str:
    """What it printed, or nothing if it failed."""
    return done.stdout.decode("utf-8", "replace") if isinstance(done, Output) and not done.code else ""


def _says(done: Output, *words: str) -> bool:
    text = done.stderr.decode("utf-8", "replace")
    return any(word in text for word in words)


def _no_commit(done: Output | Unknown) -> bool:
    return isinstance(done, Output) and done.code == 128 and _says(done, "bad revision 'HEAD'", "argument 'HEAD'")


def _failed(command: str, done: Output | Unknown) -> Unknown:
    if isinstance(done, Unknown):
        return done
    if _says(done, "dubious ownership"):
        return Unknown("the folder belongs to another user, and git's safe.directory does not allow it")
    if done.cut:
        return Unknown(f"git {command} printed too much")
    first = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0][:200]
    return Unknown(f"git {command} failed with code {done.code}: {first}")
