"""What a harness's own transcript adds to a session: outcomes that hooks did not say, and the tail they did not see.

Pure. Both sources are events, so both go through the one fold; nothing is counted twice.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from aimemory.facts.transcript.read import Transcript
from aimemory.model.event import Event, EventKind
from aimemory.model.ids import ObservationId, ProjectId, Seq, SessionId, session_id
from aimemory.model.observation import Observation
from aimemory.model.session import SessionState
from aimemory.privacy import sanitize
from aimemory.privacy.capture import judge, metadata_of
from aimemory.project.bounds import Bounds
from aimemory.sessions.state import MESSAGE_CHARS, fold

CLOSE_NS = 5_000_000_000
"""How far apart a hook's time and the transcript's time of the same thing may lie: hooks run before or after it."""

_ONCE = (EventKind.PROMPT, EventKind.TURN_END, EventKind.COMPACT)


def enrich(observations: Iterable[Observation], transcript: Transcript) -> SessionState | None:
    """The session's state with what its transcript adds; None if there are no observations.

    - A call of which the hooks don't say how it ended gets its exit code and outcome from the transcript, by call id.
    - What the transcript holds after the last observed event is folded in: a crash leaves the hooks without an end.
    - The agent's last words, if no turn's end brought them; tokens; the model, where no hook named it.
    Source of each: `evidence` of the event, and so of the command and the test.
    """
    seen = sorted(observations, key=lambda o: (o.at_ns, o.seq))
    if not seen:
        return None
    outcomes = {e.call_id: e for e in transcript.events if e.kind is EventKind.POST_TOOL and e.call_id}
    known = [_settled(observation, outcomes) for observation in seen]
    tail = list(_tail(seen, transcript.events))
    state = fold([*known, *_observed(tail, seen[-1])])
    return None if state is None else _finish(state, transcript, settled=known, before=seen, tail=tail)


def state_of(transcript: Transcript, harness: str, project: ProjectId) -> SessionState | None:
    """The state of a session of which nothing but its transcript is known; None if that holds no work."""
    native = transcript.report.session or (transcript.paths[-1] if transcript.paths else "")
    session = session_id(harness, native)
    at_ns, observations = transcript.report.first_ns or 0, []
    for number, event in enumerate(transcript.events, 1):
        at_ns = max(event.at_ns or at_ns, at_ns)
        observations.append(_observation(number, session, project, at_ns, event))
    state = fold(observations)
    return None if state is None else _finish(state, transcript)


def without_ignored(transcript: Transcript, bounds: Bounds, real: Callable[[str], str]) -> Transcript:
    """The transcript as capture would have kept it: without what touches ignored paths, without the text of others.

    What answers such a call is treated as the call is, whatever it names itself. real: a path without links.
    """
    if not bounds.rules.has_paths:
        return transcript
    verdicts = [judge(event, bounds.rules, bounds.tree, real).level for event in transcript.events]
    calls = {
        level: {e.call_id for e, v in zip(transcript.events, verdicts, strict=True) if v == level and e.call_id}
        for level in ("drop", "metadata")
    }
    kept = []
    for event, verdict in zip(transcript.events, verdicts, strict=True):
        if verdict == "drop" or event.call_id in calls["drop"]:
            continue
        kept.append(metadata_of(event) if verdict == "metadata" or event.call_id in calls["metadata"] else event)
    return replace(transcript, events=tuple(kept))


def without_places(transcript: Transcript, is_off: Callable[[str | None], bool]) -> Transcript:
    """The transcript without what happened in folders that are off; hooks would not have recorded it either."""
    off = {cwd for cwd in {event.cwd for event in transcript.events} if is_off(cwd)}
    if not off:
        return transcript
    kept = tuple(event for event in transcript.events if event.cwd not in off)
    last = next((e for e in reversed(kept) if e.message and e.message.strip() and not e.agent_id), None)
    words, at_ns = ((last.message or "").strip(), last.at_ns or 0) if last is not None else (None, 0)
    return replace(transcript, events=kept, report=replace(transcript.report, last_words=words, last_words_ns=at_ns))


def _observation(number: int, session: SessionId, project: ProjectId, at_ns: int, event: Event) -> Observation:
    return Observation(Seq(number), ObservationId(f"transcript-{number}"), session, project, at_ns, event)


def _settled(observation: Observation, outcomes: dict[str, Event]) -> Observation:
    """The observation with the outcome that its harness recorded, if its hook did not say one."""
    event = observation.event
    if event.kind is not EventKind.POST_TOOL or event.failed is not None or not event.call_id:
        return observation
    told = outcomes.get(event.call_id)
    if told is None or (told.failed is None and told.exit_code is None):
        return observation
    settled = replace(event, failed=told.failed, exit_code=told.exit_code, evidence="transcript")
    return replace(observation, event=settled)


def _tail(seen: Sequence[Observation], events: Sequence[Event]) -> Iterator[Event]:
    """Events of the transcript that the hooks did not tell of: later than all they told, and no part of it."""
    last_ns = seen[-1].at_ns
    calls = {o.event.call_id for o in seen if o.event.kind is EventKind.POST_TOOL and o.event.call_id}
    begun = {o.event.call_id for o in seen if o.event.kind is EventKind.PRE_TOOL and o.event.call_id}
    ended = seen[-1].event.kind is EventKind.SESSION_END
    for event in events:
        at_ns = event.at_ns or 0
        if event.kind is EventKind.POST_TOOL and event.call_id in begun and event.call_id not in calls:
            yield event  # the hook saw it begin; that it ended, only the transcript knows
        elif ended or event.call_id in calls or event.call_id in begun:
            continue
        elif event.kind in (EventKind.PRE_TOOL, EventKind.POST_TOOL):
            if at_ns > last_ns:
                yield event
        elif event.kind in _ONCE and at_ns > last_ns and not _is_known(event, seen):
            yield event


def _is_known(event: Event, seen: Sequence[Observation]) -> bool:
    """Whether a hook told of the same thing a moment before: the transcript's row is often written after it."""
    for observation in reversed(seen):
        if (event.at_ns or 0) - observation.at_ns > CLOSE_NS:
            return False
        if observation.event.kind is event.kind and (event.kind is not EventKind.PROMPT or _same(event, observation)):
            return True
    return False


def _same(event: Event, observation: Observation) -> bool:
    return (event.prompt or "").strip() == (observation.event.prompt or "").strip()


def _observed(tail: Sequence[Event], last: Observation) -> Iterator[Observation]:
    session = last.session
    if session is None:
        return
    at_ns = last.at_ns
    for number, event in enumerate(tail, 1):
        at_ns = max(event.at_ns or at_ns, at_ns)
        yield _observation(last.seq + number, session, last.project, at_ns, event)


def _finish(
    state: SessionState, transcript: Transcript, *, settled: Sequence[Observation] = (),
    before: Sequence[Observation] = (), tail: Sequence[Event] = (),
) -> SessionState:  # fmt: skip
    report = transcript.report
    state.tokens = {kind: number for kind, number in report.tokens.items() if number}
    state.model = state.model or report.model
    if report.last_words and state.turn_open and report.last_words_ns >= state.first_at_ns:
        state.last_message = report.last_words[:MESSAGE_CHARS]
    if before:
        state.from_transcript = bool(tail)
        state.last_seq = max(o.seq for o in before)
        outcomes = sum(a is not b for a, b in zip(settled, before, strict=True))
        state.transcript = _account(transcript, outcomes, len(tail))
    return state


def _account(transcript: Transcript, outcomes: int, later: int) -> str:
    """What the page says of the transcript: what it gave, and what of it could not be used."""
    gave = [
        *([f"{outcomes} {'outcome' if outcomes == 1 else 'outcomes'} of calls"] if outcomes else []),
        *([f"{later} {'event' if later == 1 else 'events'} that no hook told of"] if later else []),
        *(["tokens"] if transcript.report.tokens else []),
    ]
    unused = {reason: number for reason, number in transcript.report.skipped.items() if reason in _LOST}
    lost = ", ".join(f"{number} {reason}" for reason, number in unused.items())
    parts = [f"read, gave {', '.join(gave)}" if gave else "read, nothing to add"]
    parts += [f"lines not used: {lost}"] if lost else []
    return sanitize("; ".join([*parts, *transcript.problems])).value


_LOST = frozenset(["damaged", "no record", "longer than 16 MiB"])
"""Reasons that mean a loss; empty lines and copies are none."""
