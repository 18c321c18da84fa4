"""The baton: a session's state carried to the next one, and what happens to it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NewType

from aimemory.model.ids import ProjectId, SessionId, digest

HandoffId = NewType("HandoffId", str)


class HandoffState(StrEnum):
    """An offer is no state: several sessions may hold one while the handoff is open."""

    OPEN = "open"
    CLAIMED = "claimed"
    DONE = "done"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


FINAL = frozenset({HandoffState.DONE, HandoffState.CANCELLED, HandoffState.EXPIRED})


class HandoffOp(StrEnum):
    """What a journal line of type `handoff` says. `open`: its page was written, or written anew. `tell`: a session that
    holds an offer was told that another one took the baton."""

    OPEN = "open"
    OFFER = "offer"
    CLAIM = "claim"
    RELEASE = "release"
    DONE = "done"
    CANCEL = "cancel"
    EXPIRE = "expire"
    TELL = "tell"


@dataclass(frozen=True, slots=True)
class Party:
    """Who did something to a handoff: a session, or a person at the command line (session None)."""

    session: SessionId | None
    harness: str | None
    user: str
    machine: str


@dataclass(frozen=True, slots=True)
class Offer:
    """A session was told of a handoff, in its brief, at this instant; or at a later one it was given back."""

    session: SessionId
    at_ns: int


@dataclass(frozen=True, slots=True)
class Handoff:
    """One handoff as its journal lines tell it.

    session: whose work it carries; None for one that a client without a session began. page: None while it is
    provisional: its session isn't closed, and nobody took it. checkout: top of the work tree, or the directory outside
    of git. upto: journal position up to which its page tells of its session's work. to: for whom (harness, user or
    machine), None for anyone. continues: the handoff that its session had taken.
    opened_at_ns, changed_at_ns: first and latest line, offers not counted. offers: sessions that were told of it. told:
    those of them that know who took it. claimed_at_ns: None unless claimed or done after a claim.
    """

    id: HandoffId
    session: SessionId | None
    project: ProjectId
    harness: str
    manual: bool
    state: HandoffState
    opened_at_ns: int
    changed_at_ns: int
    title: str = ""
    summary: str = ""
    next_steps: str = ""
    page: str | None = None
    upto: int | None = None
    branch: str | None = None
    checkout: str | None = None
    to: str | None = None
    continues: HandoffId | None = None
    offers: tuple[Offer, ...] = ()
    told: tuple[SessionId, ...] = ()
    claimed_by: Party | None = None
    claimed_at_ns: int | None = None

    @property
    def holder(self) -> SessionId | None:
        """The session that took it; None while it is open, or for a person."""
        return self.claimed_by.session if self.claimed_by else None

    def offered_at_ns(self, session: SessionId) -> int | None:
        """When this session was told of it; None if it wasn't."""
        return next((offer.at_ns for offer in self.offers if offer.session == session), None)


def automatic_handoff_id(session: SessionId, number: int) -> HandoffId:
    """The id of a session's automatic handoff: the first is number 0, the next one follows when that was claimed.

    Derived, so that the offer before its page is written and the page after a crash are the same handoff.
    """
    return HandoffId(digest("handoff", session, str(number), size=6))
