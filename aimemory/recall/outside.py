"""Where nothing was found: which filter stood in the way, what there is instead, whether other projects have it."""

from collections.abc import Iterator
from dataclasses import replace

from aimemory.index.read import Plan
from aimemory.index.search import Scope, kinds_of, known_session, recorded_harnesses, scope_count
from aimemory.model.page import COUNTED, total_text
from aimemory.recall.query import Query, expression

_NAMED = 12


def what_would_help(query: Query, scope: Scope) -> Plan[tuple[str, ...]]:
    """Sentences for an answer without hits. query: as it was taken, without requirements that nothing meets."""
    notes = list((yield from _unknown(scope)))
    if not query.is_empty:
        match = expression(query, query.terms)
        within = replace(scope, pages=True, observations=True)
        for name, wider in _wider(within):
            if count := (yield from _count(match, wider)):
                notes.append(f"Without {name}: {total_text(count)}.")
                break
        if scope.projects and (count := (yield from _count(match, replace(scope, projects=())))):
            notes.append(f"Other projects have {total_text(count)}: search them with the project *.")
    return tuple(notes)


def _wider(scope: Scope) -> Iterator[tuple[str, Scope]]:
    """The scope without each of its filters, then without all of them."""
    bare = Scope(projects=scope.projects)
    given = {
        "the kind": replace(scope, kinds=()), "the tag": replace(scope, tag=None),
        "the harness": replace(scope, harness=None), "the session": replace(scope, session=None),
        "the file": replace(scope, file=None), "the dates": replace(scope, since_ns=None, until_ns=None),
    }  # fmt: skip
    changed = [(name, wider) for name, wider in given.items() if wider != scope]
    yield from changed
    if len(changed) > 1:
        yield "these filters", bare


def _count(match: str, scope: Scope) -> Plan[int]:
    pages = (yield from scope_count("page", match, scope, COUNTED)) if scope.has_pages else 0
    events = (yield from scope_count("observation", match, scope, COUNTED)) if scope.has_observations else 0
    return pages + events


def _unknown(scope: Scope) -> Plan[list[str]]:
    """Values of filters that nothing has, with those that there are."""
    notes = []
    if scope.kinds:
        kinds = yield from kinds_of(scope.projects)
        if not set(scope.kinds) & set(kinds):
            asked = " or ".join(scope.kinds)
            notes.append(f"No page here is of the kind {asked!r}. {_listed('Kinds', [*kinds, 'observation'])}")
    if scope.harness is not None:
        harnesses = yield from recorded_harnesses()
        if scope.harness not in harnesses:
            notes.append(f"Nothing is recorded of {scope.harness!r}. {_listed('Harnesses', harnesses)}")
    if scope.session is not None and not (yield from known_session(scope.session)):
        notes.append(f"No session has the id {scope.session!r}.")
    return notes


def _listed(what: str, values: list[str]) -> str:
    more = f" and {len(values) - _NAMED} more" if len(values) > _NAMED else ""
    return f"{what} that there are: {', '.join(values[:_NAMED]) or 'none'}{more}."
