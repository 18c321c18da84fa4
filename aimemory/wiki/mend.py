"""A wiki repository that can't be committed to any more: what is wrong, and a sound one in its place.

The broken one is never repaired in itself and never deleted: a new one is built beside it, of all history that is whole
(`salvage`), and the two exchange names in one step. What was committed and still lies in the files as it was counts as
there. Nothing that the broken repository configures gets to run. All functions block.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

import pygit2

from aimemory import points
from aimemory.datadir import sync_dir, sync_fd
from aimemory.errors import AimemoryError, Unavailable
from aimemory.wiki.files import WikiFiles
from aimemory.wiki.gitrefs import Logged, candidates, head_of, read_log, read_refs
from aimemory.wiki.locks import is_held
from aimemory.wiki.mendplace import building_place, finish_cut_off, mark_built, put_in_place
from aimemory.wiki.salvage import Salvage

_LIMIT_S = 300.0
_LOOK_S = 20.0
_TRIED = 200
"""So many commits that names and logs lead to are looked at for one that can be gone on from."""
_BUILT_UPON = "commit: "
"""What git's log says of a commit that was made upon the one before; not of one that was amended or gone back to."""
_TOLD = 5
_BADLY_PUT = ("error in ", "warning in ", "warning: ", "notice: ")
_OPTIONS = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0", "-c", "core.fsync=all")
_ENV = {
    "PATH": "/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mended:
    """aside: where the broken repository lies now. kept: the newest commit of the history, None when nothing of it was
    whole. commits: how many that are. rewritten: those of them that have new ids, since something behind them is left
    out. lost: what is left out, as the log calls it, newest first. refs: branches and tags that were not taken along.
    """

    aside: Path
    kept: str | None
    commits: int
    rewritten: int
    lost: tuple[str, ...]
    refs: tuple[str, ...]

    def said(self) -> str:
        """One paragraph for a person."""
        found = f"The broken repository was set aside whole, in {self.aside}. "
        if self.kept is None:
            found += "No commit of it was there in full: the history begins anew with the files as they are."
        else:
            found += f"The history goes on from commit {self.kept[:12]}, {self.commits:,} commits in all."
        if self.rewritten:
            found += f" {self.rewritten:,} of them are newer than something that is missing, and have new ids."
        if self.lost:
            more = f" and {len(self.lost) - _TOLD:,} more" if len(self.lost) > _TOLD else ""
            found += f" No longer in it: {'; '.join(self.lost[:_TOLD])}{more}."
        if self.refs:
            found += f" Not taken along: {', '.join(self.refs[:_TOLD])}."
        return found


def fault(root: Path) -> str | None:
    """Why nothing sound can be committed on what HEAD names; None when it can.

    Looks at the commits behind HEAD, and at names and heads of HEAD's own objects; the rest is `verify`'s part.
    A repository that is missing, lies elsewhere, or has no commit yet is none of this.
    """
    git_dir = root / ".git"
    if not git_dir.is_dir():
        return None
    try:
        head = head_of(git_dir)
        if head.id is None and head.ref is not None:
            return f"{head.ref} is gone, though its log names commits" if read_log(git_dir, head.ref) else None
        listed = _git(git_dir, "rev-list", "--objects", "--no-walk", "HEAD", "--", limit_s=_LOOK_S)
        if listed.returncode:
            return _last_line(listed) or "HEAD names nothing that can be read"
        behind = _git(git_dir, "rev-list", "--quiet", "HEAD", "--", limit_s=_LOOK_S)
        if behind.returncode:
            return _last_line(behind) or "the history behind HEAD can't be read"
        ids = b"".join(line[:40] + b"\n" for line in listed.stdout.splitlines())
        heads = _git(git_dir, "cat-file", "--batch-check", given=ids, limit_s=_LOOK_S)
        lacking = [line.split()[0].decode() for line in heads.stdout.splitlines() if line.endswith(b" missing")]
        if heads.returncode or lacking:
            return f"{len(lacking)} objects of HEAD are missing or empty, the first {lacking[0]}" if lacking else (
                _last_line(heads)
            )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None  # too large or too slow for a quick look; `verify` looks at it
    except OSError as error:
        return f"{error.filename or git_dir}: {error.strerror}"
    return None


def damage(root: Path) -> str | None:
    """What of all that the history holds is missing or not what was written, however old: the first of it, and how much
    more; None when all is whole. Reads every object. What git only finds badly put in a person's commit is none of it.
    """
    git_dir = root / ".git"
    if not git_dir.is_dir():
        return None
    try:
        done = _git(git_dir, "fsck", "--full", "--no-dangling", "--no-progress")
    except subprocess.TimeoutExpired:
        return None
    except OSError as error:
        return f"{error.filename or git_dir}: {error.strerror}"
    told = (done.stdout + done.stderr).decode("utf-8", "replace").splitlines() if done.returncode else []
    found = [line for line in told if line.strip() and not line.startswith(_BADLY_PUT)]
    more = f", and {len(found) - 1:,} more lines like it" if len(found) > 1 else ""
    return f"{found[0].removeprefix('error: ')}{more}" if found else None


def can_mend(root: Path) -> bool:
    """False where a person has to do something else first: make it readable, or look where `.git` leads."""
    git_dir = root / ".git"
    return git_dir.is_dir() and os.access(git_dir, os.R_OK | os.W_OK | os.X_OK) and _is_readable(git_dir)


def mend(root: Path, aside: Path) -> Mended:
    """Put a sound repository in the place of a broken one, which lies at `aside` afterwards, as it was.

    Whoever calls has closed the repository and commits the present files afterwards; no page is touched. A kill leaves
    the one or the other in place, and the rest to `finish_cut_off`. Raises Unavailable when that can't be done now, and
    says how far it came.
    """
    git_dir = root / ".git"
    if not can_mend(root):
        raise Unavailable(f"{git_dir} can't be read. Give it back to yourself: chmod -R u+rwX {git_dir}")
    if is_held(git_dir / "index.lock", root):
        raise Unavailable(f"Another git holds {git_dir / 'index.lock'}. Try again when it is done.")
    building = building_place(aside)
    try:
        if aside.exists():
            raise FileExistsError(17, "it was mended this very second", str(aside))
        aside.parent.mkdir(mode=0o700, exist_ok=True)
        building.mkdir(mode=0o700)
        done = _build(root, building, aside)
        mark_built(building)
        _sync(building)
        points.reached("mend.built")
        put_in_place(git_dir, building, aside)
        return done
    except (OSError, pygit2.GitError, subprocess.SubprocessError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        try:
            said = " ".join(finish_cut_off(root, aside.parent))
        except OSError:
            said = f"What is left in {building} is settled by the next start or mending."
        raise Unavailable(f"The repository in {root} could not be mended in one go: {reason}. {said}") from error


def _build(root: Path, building: Path, aside: Path) -> Mended:
    """A repository in `building` with all that is sound of the one in `root`, and no index."""
    old = root / ".git"
    head = head_of(old)
    branch = (head.ref or "refs/heads/main").removeprefix("refs/heads/")
    pygit2.settings.enable_fsync_gitdir(False)  # all of it is synced together in the end
    repo = pygit2.init_repository(str(building), initial_head=branch)
    try:
        new = building / ".git"
        _copy_settings(old, new)
        taking = _Taking(root, old, new, repo, read_log(old, head.ref or "HEAD"))
        kept = taking.first(candidates(old))
        commits = 0
        if kept is not None:
            repo.create_reference(f"refs/heads/{branch}", kept, force=True)
            commits = int(_git(new, "rev-list", "--count", kept).stdout or b"0")
        left = []
        for name, oid in read_refs(old).items():
            if name in (f"refs/heads/{branch}", "refs/stash") or name.endswith("/HEAD"):
                continue
            if oid and taking.take(oid):
                repo.create_reference(name, oid, force=True)
            else:
                left.append(name)
        _git(new, "prune-packed", "-q")  # what was made one by one is in the packs that were taken
        rewritten = taking.rewritten if kept is not None else 0
        return Mended(aside, kept, commits, rewritten, tuple(taking.lost(kept)), tuple(left))
    finally:
        repo.free()


def _copy_settings(old: Path, new: Path) -> None:
    """What its owner has set up: remotes, hooks, ignored files. A configuration that git can't read stays behind."""
    try:
        if not _git(new, "config", "--file", str(old / "config"), "--list").returncode:
            shutil.copyfile(old / "config", new / "config")
        if (old / "shallow").exists():
            shutil.copyfile(old / "shallow", new / "shallow")
        for name in ("hooks", "info"):
            if (old / name).is_dir():
                shutil.copytree(old / name, new / name, symlinks=True, dirs_exist_ok=True)
    except (OSError, shutil.Error):
        pass  # they lie in what is set aside


class _Taking:
    """Takes histories over, whole or not at all. What is taken was read, unpacked and hashed anew on its way."""

    def __init__(self, root: Path, old: Path, new: Path, repo: pygit2.Repository, log: list[Logged]) -> None:
        self._files = WikiFiles(root)
        self._new = new
        self._repo = repo
        self._log = log
        quoted = str(old / "objects").replace("\\", "\\\\").replace('"', '\\"')
        self._old_objects = f'"{quoted}"'
        self._taken: list[str] = []
        before = {one.id: one.before for one in reversed(log) if one.before and one.said.startswith(_BUILT_UPON)}
        self._salvage = Salvage(
            repo, old / "objects", before=before, shallow=_lines(old / "shallow"), lend=self._lent_from_files
        )

    def first(self, wanted: Iterator[str]) -> str | None:
        """The first of these commits that can be gone on from, or what stands for it; None when nothing is whole."""
        for oid in islice(wanted, _TRIED):
            if self.take(oid):
                return oid
            found = self._salvage.tip(oid)
            if found is not None and self.take(found):
                return found
        return None

    @property
    def rewritten(self) -> int:
        return len(self._salvage.rewritten)

    def lost(self, kept: str | None) -> Iterator[str]:
        """What is left out: newest first as far as the branch's log names it, then the rest."""
        left = set(self._salvage.left)
        for one in self._log:
            if one.id == kept or self._salvage.stands_for_itself(one.id):
                break
            if one.id not in self._salvage.rewritten:
                yield self._named(one.id, one.said)
                left.discard(one.id)
        yield from (self._named(oid, "") for oid in sorted(left))

    def _named(self, oid: str, said: str) -> str:
        about = f" ({said})" if said else ""
        return f"{oid[:12]}{about}{' and what came before it' if oid in self._salvage.cut else ''}"

    def take(self, oid: str) -> bool:
        """One commit with all that is behind it, if every object of it is there as it was."""
        wanted = "".join(f"{line}\n" for line in (oid, *(f"^{one}" for one in self._taken)))
        pack = self._new / "taken.pack"
        try:
            with pack.open("wb") as file:
                made = _git(
                    self._new, "pack-objects", "--revs", "--stdout", "-q", "--threads=1", given=wanted.encode(),
                    into=file, objects=self._old_objects,
                )  # fmt: skip
            if made.returncode:
                return False
            with pack.open("rb") as file:
                if _git(self._new, "index-pack", "--stdin", source=file).returncode:
                    return False
        finally:
            pack.unlink(missing_ok=True)
        if _git(self._new, "rev-list", "--objects", "--quiet", oid, "--").returncode:
            return False
        if _git(self._new, "cat-file", "-e", f"{oid}^{{commit}}").returncode:
            return False
        self._taken.append(oid)
        return True

    def _lent_from_files(self, path: str, blob: str) -> bool:
        """Write the page as it lies on the disk, if that is what was committed: what is held back because of a secret
        must not get into git this way."""
        try:
            raw = self._files.read(path)[0]
        except (AimemoryError, OSError):
            return False
        return str(pygit2.hash(raw)) == blob and str(self._repo.create_blob(raw)) == blob


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii", errors="replace").split()
    except OSError:
        return []


def _sync(folder: Path) -> None:
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            if not path.is_symlink():
                with path.open("rb") as file:
                    sync_fd(file.fileno())
        sync_dir(Path(place))


def _is_readable(git_dir: Path) -> bool:
    return all(
        os.access(git_dir / name, os.R_OK | os.X_OK) for name in ("objects", "refs") if (git_dir / name).exists()
    )


def _last_line(done: "subprocess.CompletedProcess[bytes]") -> str:
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1].removeprefix("fatal: ") if lines else ""


def _git(
    git_dir: Path, *arguments: str, given: bytes = b"", source: IO[bytes] | None = None, into: IO[bytes] | None = None,
    limit_s: float = _LIMIT_S, objects: str | None = None,
) -> "subprocess.CompletedProcess[bytes]":  # fmt: skip
    """objects: a folder of objects to look into as well. Raises OSError when there is no git, TimeoutExpired when it
    needs longer."""
    command = ["git", *_OPTIONS, f"--git-dir={git_dir}", *arguments]
    env = _ENV | ({"GIT_ALTERNATE_OBJECT_DIRECTORIES": objects} if objects else {})
    out = into or subprocess.PIPE
    if source is not None:
        return subprocess.run(
            command, stdin=source, stdout=out, stderr=subprocess.PIPE, env=env, cwd="/", timeout=limit_s, check=False
        )
    return subprocess.run(
        command, input=given, stdout=out, stderr=subprocess.PIPE, env=env, cwd="/", timeout=limit_s, check=False
    )
