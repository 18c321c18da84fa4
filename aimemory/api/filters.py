"""What a search is narrowed by, from what a caller gave: understood as a whole, or refused with what would do."""

from collections.abc import Sequence

from aimemory.api.times import instant_ns
from aimemory.errors import UserError
from aimemory.index.search import Scope
from aimemory.recall.query import about_file

MOST_HITS = 50
EVENTS = "observation"
"""The kind that stands for recorded events alone."""


def scope_of(
    *, projects: Sequence[str], kind: str | None, tag: str | None, harness: str | None, session: str | None,
    since: str | None, until: str | None, file: str | None, include_observations: bool,
) -> Scope:  # fmt: skip
    """The scope of these filters; an empty one narrows nothing.

    kind: of pages, or `observation`. file: a path or a part of one. until: a day counts to its end.
    Raises UserError for a value that can't be understood, and for filters that nothing can meet together.
    """
    events_only = kind == EVENTS
    of_pages = [name for name, is_given in (("kind", kind and not events_only), ("tag", tag)) if is_given]
    of_events = [
        name
        for name, is_given in (("harness", harness), ("session", session), (f"kind {EVENTS}", events_only))
        if is_given
    ]
    if of_pages and of_events:
        raise UserError(
            f"{' and '.join(of_pages)} narrow pages, {' and '.join(of_events)} recorded events: nothing can be both."
        )
    if of_events and not include_observations:
        raise UserError(f"{' and '.join(of_events)} narrow recorded events, which were to be left out.")
    match = about_file(file) if file else None
    if file and match is None:
        raise UserError(f"file is {file[:40]!r}, which has no letter or digit; give a path or a part of one.")
    since_ns, until_ns = instant_ns(since, "since"), instant_ns(until, "until", is_end=True)
    if since_ns is not None and until_ns is not None and since_ns > until_ns:
        raise UserError(f"since ({since}) is after until ({until}).")
    return Scope(
        projects=tuple(projects), kinds=(kind,) if kind and not events_only else (), tag=tag or None,
        harness=harness or None, session=session or None, since_ns=since_ns, until_ns=until_ns, file=match,
        pages=not events_only, observations=include_observations or events_only,
    )  # fmt: skip


def limit_of(limit: int) -> int:
    """How many hits. Raises UserError below 1 and above `MOST_HITS`."""
    if not 1 <= limit <= MOST_HITS:
        raise UserError(f"limit is {limit}; give 1 to {MOST_HITS}. The cursor of an answer leads to more.")
    return limit
