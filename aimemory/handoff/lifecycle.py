"""The life of a handoff as pure functions over its journal lines; `store.claims` runs them in the writer.

A line's data: `op`, `handoff`, `by` (session, harness, user, machine), and with `open` or the `offer` of a provisional
one what the handoff is: session, project, harness, manual, title, page, branch, checkout, to, continues, summary,
next_steps, upto. A claim's `since` is the time of the event that took it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from aimemory.model.handoff import FINAL, Handoff, HandoffId, HandoffOp, HandoffState, Offer, Party
from aimemory.model.ids import ProjectId, SessionId
from aimemory.model.protocols import rfc3339_local

_FINAL_STATES = {
    HandoffOp.DONE: HandoffState.DONE,
    HandoffOp.CANCEL: HandoffState.CANCELLED,
    HandoffOp.EXPIRE: HandoffState.EXPIRED,
}
_TEXTS = ("title", "page", "branch", "checkout", "to", "continues", "summary", "next_steps")


def apply(handoff: Handoff | None, data: Mapping[str, Any], at_ns: int) -> Handoff | None:
    """The handoff after one more line; None while no line has said what it is, or for an op of a newer version."""
    try:
        op = HandoffOp(data.get("op", ""))
    except ValueError:
        return handoff
    if handoff is None or op is HandoffOp.OPEN:
        handoff = _described(handoff, data, at_ns)
    if handoff is None:
        return None
    if op not in (HandoffOp.OFFER, HandoffOp.TELL):
        handoff = replace(handoff, changed_at_ns=max(handoff.changed_at_ns, at_ns))
    by = party(data)
    match op:
        case HandoffOp.OPEN:
            return handoff
        case HandoffOp.OFFER:
            if by.session is None or handoff.offered_at_ns(by.session) is not None:
                return handoff
            return replace(handoff, offers=(*handoff.offers, Offer(by.session, at_ns)))
        case HandoffOp.TELL:
            return handoff if by.session is None else replace(handoff, told=(*handoff.told, by.session))
        case HandoffOp.CLAIM:
            since = data.get("since")
            taken_ns = since if isinstance(since, int) else at_ns
            return replace(handoff, state=HandoffState.CLAIMED, claimed_by=by, claimed_at_ns=taken_ns)
        case HandoffOp.RELEASE:
            # Who was told that another had it may be told anew; who was not takes it by what he does from now on, for
            # what he did meanwhile was not done with it.
            past = {handoff.holder, *handoff.told}
            offers = tuple(Offer(o.session, max(o.at_ns, at_ns)) for o in handoff.offers if o.session not in past)
            return replace(
                handoff, state=HandoffState.OPEN, claimed_by=None, claimed_at_ns=None, offers=offers, told=()
            )
        case _:
            return replace(handoff, state=_FINAL_STATES[op])


def fold(lines: Iterable[tuple[int, Mapping[str, Any]]]) -> Handoff | None:
    """The handoff after all its lines, each with its time in ns, in the journal's order."""
    handoff: Handoff | None = None
    for at_ns, data in lines:
        handoff = apply(handoff, data, at_ns)
    return handoff


def refusal(handoff: Handoff | None, op: HandoffOp, by: Party) -> str | None:
    """Why this can't be done to a handoff in its present state, as a sentence; None if it can."""
    if handoff is None:
        return None if op in (HandoffOp.OPEN, HandoffOp.OFFER) else "There is no such handoff."
    name = f"Handoff {handoff.id}"
    if handoff.state in FINAL:
        return None if op is HandoffOp.TELL else f"{name} is {handoff.state} since {_when(handoff.changed_at_ns)}."
    claimed = handoff.state is HandoffState.CLAIMED
    if op in (HandoffOp.CLAIM, HandoffOp.OFFER, HandoffOp.EXPIRE) and claimed:
        return f"{name} was taken by {taker(handoff)}."
    if op is HandoffOp.RELEASE and not claimed:
        return f"{name} is open: nobody has taken it."
    return None


def changes_nothing(handoff: Handoff | None, op: HandoffOp, by: Party) -> bool:
    """Whether the line would only repeat what is known: the same offer, the same claim by the same session."""
    if handoff is None:
        return False
    if op is HandoffOp.OFFER:
        return by.session is not None and handoff.offered_at_ns(by.session) is not None
    if op is HandoffOp.TELL:
        return by.session in handoff.told
    return op is HandoffOp.CLAIM and has(handoff, by)


def has(handoff: Handoff, by: Party) -> bool:
    """Whether it is this party that has taken it. Two agents of one harness whose sessions are not known look alike: of
    them that is never said."""
    is_known = by.session is not None or by.harness is None
    return is_known and handoff.state is HandoffState.CLAIMED and handoff.claimed_by == by


def taker(handoff: Handoff) -> str:
    """Who has it, and since when: `codex (session 3f9a…) at 2026-11-30T14:55:10+01:00`."""
    by = handoff.claimed_by
    if by is None or handoff.claimed_at_ns is None:
        return "nobody"
    if by.session:
        who = f"{by.harness or 'an agent'} (session {by.session})"
    else:
        who = f"{by.harness} (session not known)" if by.harness else f"{by.user} at the command line"
    return f"{who} at {_when(handoff.claimed_at_ns)}"


def party(data: Mapping[str, Any]) -> Party:
    """Who a line says did it."""
    by = data.get("by") or {}
    session = by.get("session")
    return Party(
        session=SessionId(session) if session else None, harness=by.get("harness"), user=by.get("user", ""),
        machine=by.get("machine", ""),
    )  # fmt: skip


def _described(handoff: Handoff | None, data: Mapping[str, Any], at_ns: int) -> Handoff | None:
    if "project" not in data:
        return handoff
    said: dict[str, Any] = {name: data[name] for name in _TEXTS if isinstance(data.get(name), str)}
    if isinstance(data.get("upto"), int):
        said["upto"] = data["upto"]
    if handoff is not None:
        return replace(handoff, **said)
    session = data.get("session")
    return Handoff(
        id=HandoffId(data["handoff"]), session=SessionId(session) if session else None,
        project=ProjectId(data["project"]), harness=data.get("harness", ""), manual=bool(data.get("manual")),
        state=HandoffState.OPEN, opened_at_ns=at_ns, changed_at_ns=at_ns, **said,
    )  # fmt: skip


def _when(ns: int) -> str:
    return rfc3339_local(ns)
