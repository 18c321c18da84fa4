"""The wiki: pages that can be read, git's objects, and how HEAD and files stand to each other."""

import asyncio
import hashlib

from aimemory.datadir import DataDir
from aimemory.errors import AimemoryError, NotFound, TooLarge, Unavailable
from aimemory.facts.gitrun import GitRunner, Output
from aimemory.privacy import sanitize
from aimemory.upkeep.backup.archive import Progress
from aimemory.upkeep.backup.check import fsck
from aimemory.upkeep.verify.findings import Findings
from aimemory.wiki.files import WikiFiles
from aimemory.wiki.names import PAGE_SUFFIX, is_ours_ignored
from aimemory.wiki.parse import parse_page
from aimemory.wiki.walk import scan

_GIT_S = 120.0
_LIST_BYTES = 256 << 20
_EVERY = 100


def check_wiki(data: DataDir, findings: Findings, progress: Progress) -> None:
    """Read every page and compare it with what HEAD holds. Runs git processes; blocks."""
    if not data.wiki.is_dir():
        findings.add("damage", "wiki", "wiki", "The folder is missing.", "Is it unmounted? Else restore a backup.")
        return
    blobs = _pages(data, findings, progress)
    if not (data.wiki / ".git").exists():
        findings.add(
            "damage", "git", "wiki/.git", "There is no repository.", "Restore a backup; pages are not affected."
        )
        return
    progress("git", 0)
    for line in fsck(data.wiki):
        findings.add(
            "damage", "git", "wiki/.git", line.removeprefix("git: "),
            "Pages are not affected. Take the history from another clone or a backup; else `aimemory doctor --deep "
            "--fix` keeps what is whole of it.",
        )  # fmt: skip
    _compare_with_head(data, blobs, findings)


def _pages(data: DataDir, findings: Findings, progress: Progress) -> dict[str, str | None]:
    """Read all pages; returns git's id of each one's content, None for a file that is not taken in as it stands."""
    files = WikiFiles(data.wiki)
    blobs: dict[str, str | None] = {}
    found = scan(data.wiki, {})
    if found.problem:
        findings.add("damage", "wiki", "wiki", found.problem, "Give the folders back to yourself (chown, chmod).")
    for path in found.nameless:
        what = "Its name can be no page's (no UTF-8, control characters, a backslash): it is not committed."
        findings.add("note", "wiki", f"wiki/{path}", what, "Rename it.")
    for path in sorted(found.added):
        findings.counts["pages"] += 1
        if findings.counts["pages"] % _EVERY == 0:
            progress("pages", findings.counts["pages"])
        try:
            raw, _ = files.read(path)
        except NotFound:  # removed since the walk
            continue
        except TooLarge as error:  # a person's doing, as below
            findings.add("note", "wiki", f"wiki/{path}", str(error), "Until then it is neither found nor committed.")
            blobs[path] = None
            continue
        except Unavailable as error:
            do = "Make it readable, or take it from git or a backup."
            findings.add("damage", "wiki", f"wiki/{path}", str(error), do)
            blobs[path] = None
            continue
        except AimemoryError as error:
            findings.add("damage", "wiki", f"wiki/{path}", str(error), "It is in no answer until it can be read.")
            continue
        if sanitize(path).counts:
            what = "Its name looks as if it held a secret: it is neither found nor committed."
            findings.add("note", "wiki", f"wiki/{path}", what, "Rename it.")
            blobs[path] = None
            continue
        blobs[path] = hashlib.sha1(b"blob %d\0" % len(raw) + raw, usedforsecurity=False).hexdigest()
        if problem := parse_page(path, raw).problem:
            what = f"Its front matter can't be read: {problem}"
            findings.add(
                "note", "wiki", f"wiki/{path}", what, "Correct that line; until then only the text is searched."
            )
    return blobs


def _compare_with_head(data: DataDir, blobs: dict[str, str | None], findings: Findings) -> None:
    """Pages that wait for a commit are no damage: held for a secret, edited just now, or left by a crash."""
    head = asyncio.run(_head(data))
    if head is None:
        findings.add("damage", "git", "wiki/.git", "HEAD can't be listed.", "`git -C wiki log` says more.")
        return
    do = "The daemon commits it, unless `aimemory status` names a reason."
    for path in sorted(blobs.keys() | head.keys()):
        if blobs.get(path, "") in (None, head.get(path)):
            continue
        what = "HEAD lacks it." if path not in head else "HEAD has it, the disk doesn't." if path not in blobs else (
            "The disk has another text than HEAD."
        )  # fmt: skip
        findings.add("note", "git", f"wiki/{path}", what, do)


async def _head(data: DataDir) -> dict[str, str] | None:
    """Pages in HEAD: path → blob; None when that can't be had, {} before the first commit."""
    deadline = asyncio.get_running_loop().time() + _GIT_S
    runner = GitRunner(str(data.wiki), deadline, _GIT_S, output_bytes=_LIST_BYTES)
    born = await runner.run("rev-parse", "--verify", "--quiet", "HEAD")
    if isinstance(born, Output) and born.code == 1:
        return {}
    done = await runner.run("ls-tree", "-r", "-z", "HEAD")
    if not isinstance(done, Output) or done.code or done.cut:
        return None
    found = {}
    for entry in done.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        about, _, path = entry.partition("\t")
        if path.endswith(PAGE_SUFFIX) and not any(is_ours_ignored(part) for part in path.split("/")):
            found[path] = about.split()[2]
    return found
