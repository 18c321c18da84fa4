"""Which handoff a starting session is offered, and why not the others: pure rules over what is open."""

from dataclasses import dataclass

from aimemory.model.handoff import Handoff, HandoffState
from aimemory.model.ids import SessionId
from aimemory.sessions.liveness import Liveness


@dataclass(frozen=True, slots=True)
class Asking:
    """The session that starts, or a person who asks (session None). cwd: its directory; checkout: as
    `Handoff.checkout`."""

    session: SessionId | None = None
    harness: str | None = None
    user: str | None = None
    machine: str | None = None
    cwd: str | None = None
    checkout: str | None = None
    branch: str | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A handoff that could be offered. standing: of its session. provisional: no page is written yet."""

    handoff: Handoff
    standing: Liveness
    provisional: bool = False


def withheld(candidate: Candidate, asking: Asking) -> str | None:
    """Why a handoff is not offered to this session, as a phrase; None if it can be."""
    handoff = candidate.handoff
    if handoff.session is not None and handoff.session == asking.session:
        return "it is this session's own"
    if handoff.state is not HandoffState.OPEN:
        return f"it is {handoff.state}"
    if candidate.standing is Liveness.LIVE and not handoff.manual:
        return "its session is still at work"
    if not _is_for(handoff.to, asking):
        return f"it is for {handoff.to}"
    return None


def by_rank(candidates: list[Candidate], asking: Asking) -> list[Candidate]:
    """The best first: made by hand, named for this reader, same work tree, same branch, the newest."""

    def rank(candidate: Candidate) -> tuple[bool, bool, bool, bool, int, str]:
        handoff = candidate.handoff
        return (
            not handoff.manual,
            handoff.to is None,
            asking.checkout is None or handoff.checkout != asking.checkout,
            asking.branch is None or handoff.branch != asking.branch,
            -handoff.changed_at_ns,
            handoff.id,
        )

    return sorted(candidates, key=rank)


def _is_for(to: str | None, asking: Asking) -> bool:
    """`to` names a harness, a user or a machine, with or without `harness:`, `user:`, `machine:` before it."""
    if not to or asking.session is None:
        return True
    kind, _, name = to.strip().lower().rpartition(":")
    known = {"harness": asking.harness, "user": asking.user, "machine": asking.machine}
    meant = [known[kind]] if kind in known else list(known.values())
    return any(value is not None and value.lower() == name for value in meant)
