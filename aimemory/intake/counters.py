"""What capture did since the daemon started, per harness: so that "quiet" and "broken" look different."""

from collections import Counter
from dataclasses import dataclass, field

from aimemory.model.protocols import Clock, rfc3339_local

_REASONS = 20
_HARNESSES = 64


@dataclass(slots=True)
class _HarnessCounts:
    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    last: dict[str, tuple[int, str]] = field(default_factory=dict)


class Counters:
    """Counts of stored, duplicate, dropped and rejected events, with the last instant of each and the reasons."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._harnesses: dict[str, _HarnessCounts] = {}

    def stored(self, harness: str, event: str) -> None:
        self._note(harness, "stored", event)

    def duplicate(self, harness: str, event: str) -> None:
        self._note(harness, "duplicate", event)

    def dropped(self, harness: str, event: str, reason: str) -> None:
        self._note(harness, "dropped", event, reason)

    def rejected(self, harness: str, event: str, reason: str) -> None:
        self._note(harness, "rejected", event, reason)

    def brief(self, harness: str, outcome: str) -> None:
        """A brief was asked for: `given`, `empty`, `late` or `failed`."""
        self._note(harness, f"brief_{outcome}", outcome)

    def known(self, harness: str, event: str, at_ns: int) -> None:
        """Before this start an event was stored last at this instant: a silent harness is not an unknown one."""
        entry = self._entry(harness)
        entry.last.setdefault("stored", (at_ns, event))

    def as_data(self) -> dict[str, dict[str, object]]:
        """For `status`: per harness the counts, the last event of each kind, and why events were not stored."""
        return {
            name: {
                **dict(sorted(entry.counts.items())),
                "last": {
                    what: {"at": rfc3339_local(at), "event": event} for what, (at, event) in sorted(entry.last.items())
                },
                "reasons": dict(entry.reasons),
            }
            for name, entry in sorted(self._harnesses.items())
        }

    def _note(self, harness: str, what: str, event: str, reason: str | None = None) -> None:
        entry = self._entry(harness)
        entry.counts[what] += 1
        entry.last[what] = (self._clock.now_ns(), event)
        if reason is not None and (reason in entry.reasons or len(entry.reasons) < _REASONS):
            entry.reasons[reason] += 1

    def _entry(self, harness: str) -> _HarnessCounts:
        if harness not in self._harnesses and len(self._harnesses) >= _HARNESSES:
            harness = "others"
        return self._harnesses.setdefault(harness, _HarnessCounts())
