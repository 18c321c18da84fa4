"""What `status` says: the tasks, what was captured, and everything that is wrong, each with its reason."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from aimemory import __version__
from aimemory.errors import Unavailable
from aimemory.model.protocols import TaskPulse, rfc3339_local
from aimemory.store.gate import CONFLICT_MARKERS, FORGOTTEN

if TYPE_CHECKING:
    from aimemory.daemon.parts import Parts

_STUCK_NS = 120_000_000_000
_SHOWN = 5


def status_of(parts: "Parts") -> dict[str, Any]:
    """A snapshot from memory: cheap, and never waits for a part that hangs."""
    state, projector, committer = parts.state, parts.projector, parts.committer
    now = parts.clock.now_ns()
    return {
        "running": True,
        "version": __version__,
        "pid": os.getpid(),
        "data": str(parts.config.data.root),
        "config": str(parts.config.source) if parts.config.source else None,
        "user": parts.actor.user,
        "machine": parts.actor.machine,
        "started_at": rfc3339_local(state.started_ns),
        "uptime_s": (now - state.started_ns) // 1_000_000_000,
        "endpoint": state.endpoint,
        "journal": {
            "last_seq": projector.known_seq,
            "segment": str(parts.journal.current) if parts.journal.current else None,
            "torn_bytes_at_start": parts.journal.torn_bytes,
            "damage": list(parts.journal.damage),
        },
        "index": {
            "state": projector.state, "applied_seq": projector.applied_seq, "lag": projector.lag,
            "damage": list(projector.damage),
        },
        "git": {"head": committer.head, "waiting": committer.waiting, "problem": committer.problem},
        "wiki": {
            "held": parts.pages.gate.held,
            "unread": list(parts.pages.hand_edits.unread.values()), "problem": parts.pages.hand_edits.last.problem,
            "watch_problem": parts.watcher.problem,
            "conflicts": len(parts.conflicts.unsettled), "conflicts_dropped": parts.conflicts.dropped,
        },
        "spool": state.spool,
        "disk": state.gauge.usage.as_data() if state.gauge.usage is not None else {},
        "backup": parts.automatic.as_data(),
        "self_check": parts.selfcheck.as_data(),
        "retention": parts.retention.as_data(),
        "vectors": parts.vectors.as_data(),
        "capture": parts.counters.as_data(),
        "tasks": [_task(pulse, now) for pulse in state.pulses.values()],
        "problems": _problems(parts, now),
    }  # fmt: skip


def _task(pulse: TaskPulse, now: int) -> dict[str, Any]:
    return {
        "name": pulse.name, "state": pulse.state, "queue": pulse.queue,
        "beat_age_s": round((now - pulse.beat_ns) / 1e9, 1) if pulse.beat_ns else None, "last": pulse.last,
        "error": pulse.error, "error_at": rfc3339_local(pulse.error_ns) if pulse.error_ns else None,
        "over_at": rfc3339_local(pulse.over_ns) if pulse.over_ns else None, "failures": pulse.failures,
    }  # fmt: skip


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def _held(path: str, kinds: str) -> str:
    if kinds == CONFLICT_MARKERS:
        return f"{path} holds {kinds}; it is not committed until they are gone."
    if kinds == FORGOTTEN:
        return (
            f"{path} was forgotten and lies there again as it was; it is in no answer. Delete it, or take it in with "
            f"`aimemory rescan --accept {path}`."
        )
    return (
        f"{path} looks as if it held a secret ({kinds}); it is not committed until that is gone, or acknowledged with "
        f"`aimemory rescan --accept {path}`."
    )


def _problems(parts: "Parts", now: int) -> list[str]:
    """Sentences for a person, each naming what to do or where to look."""
    state = parts.state
    found = [f"{path} was readable by others; its mode is 0700 now." for path in state.tightened]
    source = parts.config.source or parts.config.data.config
    if source.exists() and source.stat().st_mtime_ns > state.started_ns:
        found.append(f"{source} changed since the start; `aimemory restart` brings the new settings into effect.")
    if parts.journal.torn_bytes:
        found.append(
            f"The journal ended in a torn write ({parts.journal.torn_bytes} bytes), which was cut off at start."
        )
    found += [f"Damage: {what}" for what in (*parts.journal.damage, *parts.projector.damage)]
    if parts.committer.problem:
        found.append(f"Pages wait for a commit: {parts.committer.problem}")
    if state.git_fault and "doctor --fix" not in (parts.committer.problem or ""):
        found.append(f"The wiki's git repository is broken: {state.git_fault}. `aimemory doctor --fix` mends it.")
    elif not parts.committer.problem and parts.committer.index_problem:
        found.append(parts.committer.index_problem)
    try:
        parts.folders.table()
    except Unavailable as error:
        found.append(str(error))
    if parts.purge.problem:
        found.append(parts.purge.problem)
    if parts.pages.hand_edits.last.problem:
        found.append(parts.pages.hand_edits.last.problem)
    if names := parts.pages.hand_edits.last.nameless:
        found.append(
            "Names that are no UTF-8, or hold control characters, a backslash or the like, are no pages, and are not "
            f"committed: {_some(names)}. Rename them."
        )
    if names := parts.pages.hand_edits.last.others:
        found.append(f"Links and special files are no pages, and links are not followed: {_some(names)}.")
    no_pages = list(parts.pages.hand_edits.unread.values())
    found += no_pages[:_SHOWN]
    if len(no_pages) > _SHOWN:
        found.append(f"{len(no_pages) - _SHOWN} more files of the wiki are no pages for such reasons.")
    found += [_held(path, kinds) for path, kinds in parts.pages.gate.held.items()]
    found += _conflicts(parts)
    if state.gauge.usage is not None and (problem := state.gauge.usage.warning()):
        found.append(problem)
    if problem := parts.automatic.problem():
        found.append(problem)
    if problem := parts.selfcheck.problem():
        found.append(problem)
    if problem := parts.vectors.problem():
        found.append(problem)
    if parts.watcher.problem:
        found.append(parts.watcher.problem)
    for where, problems in parts.projects.problems.items():
        found += [f"{where}: {problem}" for problem in problems]
    if state.spool.get("dropped"):
        found.append(f"The spool was full: events were given up ({state.spool['dropped']}).")
    if (unread := state.spool.get("unread")) and unread["files"]:
        found.append(
            f"{unread['files']:,} files in the spool can't be taken in, the first {unread['first']}: {unread['why']}. "
            "They stay, and are tried again each minute; make them readable, or remove them."
        )
    for pulse in state.pulses.values():
        told = pulse.name == "watcher" and parts.watcher.problem  # above, and not twice
        if pulse.error and not told and not pulse.over_ns and pulse.error_ns > pulse.beat_ns - _STUCK_NS:
            found.append(f"Task {pulse.name} failed at {rfc3339_local(pulse.error_ns)}: {pulse.error}")
        if pulse.state == "dead":
            found.append(f"Task {pulse.name} is dead; `aimemory restart` starts it again.")
    return found


def _conflicts(parts: "Parts") -> list[str]:
    copies, dropped = parts.conflicts.unsettled, parts.conflicts.dropped
    found = []
    if copies:
        many = "1 text" if len(copies) == 1 else f"{len(copies)} texts"
        found.append(
            f"{many} could not be written since the page had changed, the last for {copies[0].path}. "
            "`aimemory conflicts` shows what was kept."
        )
    if dropped:
        found.append(f"{dropped} conflict copies nobody had looked at were given up for newer ones.")
    return found
