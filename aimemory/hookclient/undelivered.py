"""The detached child's work: apply the capture rule it can, sanitise, write one spool file or reject.

Nobody waits for it and nobody sees it fail, so what it can't keep it counts beside the spool.
"""

import os
import time

from aimemory.errors import Unavailable
from aimemory.hookclient.room import Limits, add_counts, make_room, write_durable
from aimemory.model.spool import DROPPED_FILE, REJECTED_FILE, SpoolFile, event_kind, file_name, serialise
from aimemory.privacy import Sanitized, sanitize, sanitize_payload

TYPE_CHECKING = False
if TYPE_CHECKING:  # under the stub that module has another name, and importing it twice helps nobody
    from aimemory.hookclient.main import Call
    from aimemory.hookclient.rules import Told

SPOOL_DAYS = 30
REJECTS_BYTES = 10 << 20
TEXT_BYTES = 1 << 18
"""Cap of a payload that is not JSON, after scrubbing; fields of JSON are capped by the daemon."""


def keep(call: "Call", status: int | None) -> None:
    """Write the event into the spool, or into the rejects when the daemon refused it with this HTTP status.

    Once per call. What the nearest `.aimemory.toml` forbids, and what happened where `aimemory off` holds, is not kept.
    Raises OSError when nothing can be written, not even the count.
    """
    told = capture_told(call.cwd)
    if told is not None and told.is_off:
        return
    use_privacy_settings(call)
    spool = call.spool
    _make_folder(spool)
    try:
        entry = entry_of(call, status)
        if is_switched_off(call, entry.value):
            return
        if told is not None:
            from aimemory.hookclient import rules

            level = rules.level_of(entry.value, told)
            if level == "drop":
                return
            if level == "metadata":
                entry = entry.derive(rules.without_texts)
        content = entry.derive(serialise)
        if status is None:
            _write(call, spool, content, Limits(call.spool_bytes, SPOOL_DAYS, DROPPED_FILE))
        else:
            rejects = f"{spool}/rejects"
            _make_folder(rejects)
            add_counts(rejects, REJECTED_FILE, {str(status): 1})
            _write(call, rejects, content, Limits(REJECTS_BYTES, SPOOL_DAYS, DROPPED_FILE))
    except Exception:  # a full disk, or a fault of ours in the sanitiser: raw bytes are never an alternative
        add_counts(spool, DROPPED_FILE, {event_kind(call.event): 1})


def use_privacy_settings(call: "Call") -> None:
    """Sanitise by the settings that the daemon wrote at its last start, where there are any."""
    path = f"{call.data}/bin/privacy.json"
    if os.path.exists(path):
        from aimemory.privacy import put_in_force, settings  # most have none, and this child is paid for by every event

        if (rules := settings.read(path)) is not None:
            put_in_force(rules)


def open_breaker(call: "Call") -> None:
    """Make every hook spool at once for a while, without trying the daemon."""
    _make_folder(call.spool)
    os.close(os.open(call.breaker, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    os.utime(call.breaker)


def entry_of(call: "Call", status: int | None) -> Sanitized[SpoolFile]:
    """The sanitised form of the event. A payload that is no JSON, or was cut off, is kept as text."""

    def entry(body: object, text: str | None) -> SpoolFile:
        return SpoolFile(
            harness=sanitize(call.harness).value,
            event=sanitize(call.event).value,
            at_ns=call.at_ns,
            pid=call.pid,
            cwd=None if call.cwd is None else sanitize(os.fsdecode(call.cwd)).value,
            body=body,
            text=text,
            incomplete=not call.whole,
            status=status,
        )

    try:
        return sanitize_payload(call.body).derive(lambda body: entry(body, None))
    except ValueError:
        raw = call.body.decode("utf-8", "replace")
        return sanitize(raw, cap_bytes=TEXT_BYTES).derive(lambda text: entry(None, text))


def capture_told(cwd: bytes | None) -> "Told | None":
    """What the nearest `.aimemory.toml` with capture rules says, from `cwd` upwards; None where no file says anything.

    A linked work tree goes on at its main one, where such a file may lie uncommitted.
    """
    folder = cwd
    while folder:
        path = os.path.join(folder, b".aimemory.toml")
        if os.path.isfile(path):
            from aimemory.hookclient import rules  # its TOML parser is a third of this child's work, and seldom needed

            told = rules.told_by(path)
            if told is not None:
                return told
        folder = _main_tree(folder) or os.path.dirname(folder)
        if folder == os.path.dirname(folder):
            return None
    return None


def _main_tree(folder: bytes) -> bytes | None:
    """The main work tree of the linked one whose top this is."""
    try:
        with open(os.path.join(folder, b".git"), "rb") as file:
            pointer = file.read(4096)
    except OSError:  # a folder, or none
        return None
    main, mark, _ = pointer.removeprefix(b"gitdir:").strip().partition(b"/.git/worktrees/")
    return main if mark and main != folder else None


def is_switched_off(call: "Call", entry: SpoolFile) -> bool:
    """Whether `aimemory off` holds where the event happened: in the directory it names, else in this process's own.

    Of two forms, with and without links, either will do. A table that can't be read counts as silent: the daemon, which
    says what is wrong, decides again when it drains.
    """
    path = f"{call.data}/folders.json"
    if not os.path.exists(path):
        return False
    from aimemory.privacy import folders  # seldom needed, and this child is paid for by every event

    said = entry.body.get("cwd") if isinstance(entry.body, dict) else None
    where = said if isinstance(said, str) and said.startswith("/") and "\0" not in said else entry.cwd
    if where is None:
        return False
    try:
        table = folders.read(path)
    except Unavailable:
        return False
    return any(folders.off_by(table, form) for form in (where, os.path.realpath(where)))


def _write(call: "Call", folder: str, content: Sanitized[bytes], limits: Limits) -> None:
    if make_room(folder, len(content.value), call.event, time.time_ns(), limits):
        name = file_name(call.at_ns, call.pid, event_kind(call.event), os.urandom(4).hex())
        write_durable(f"{folder}/{name}", content.value)


def _make_folder(path: str) -> None:
    """mkdir as the first one needs it; the daemon has not necessarily run since."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass
