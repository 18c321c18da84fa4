"""Every event that the real programs sent, through intake: none is taken for another one of its session."""

import json
from pathlib import Path

import pytest
from inside import SECOND_NS, memory

from aimemory.harness.registry import load_registry
from aimemory.model.event import Delivery

pytestmark = pytest.mark.anyio

RECORDED = Path(__file__).parents[2] / "fixtures" / "captures"
REGISTRY = load_registry()
BETWEEN_NS = SECOND_NS // 100


def events_of(harness):
    """What was recorded, each once; of the generic shape, which nobody sends, two calls and requests that read alike."""
    if harness == "generic":
        rows = [("prompt", {"prompt": "go on", "id": f"p{number}"}) for number in range(2)]
        for event in ("pre-tool", "post-tool"):
            rows += [(event, {"tool": "Bash", "input": {"command": "make"}, "id": f"t{number}"}) for number in range(2)]
        return [(event, {"session_id": "s", **payload}) for event, payload in [*rows, ("note", {"text": "go on"})]]
    lines = dict.fromkeys((RECORDED / f"{harness}.jsonl").read_text(encoding="utf-8").splitlines())
    different = {json.dumps([row["event"], row["payload"]], sort_keys=True): row for row in map(json.loads, lines)}
    return [(row["event"], row["payload"]) for row in different.values()]


@pytest.mark.promise("P2.20")
@pytest.mark.parametrize("harness", REGISTRY.names())
async def test_different_events_of_a_session_are_all_stored_and_a_repeated_one_is_known_again(tmp_path, harness):
    events = events_of(harness)
    async with memory(tmp_path) as (parts, clock):

        async def sent(after_s=0):
            said = []
            for number, (event, payload) in enumerate(events):
                at_ns = clock.ns + after_s * SECOND_NS + number * BETWEEN_NS
                delivery = Delivery(harness, event, at_ns=at_ns, pid=100 + number)
                said.append(await parts.intake.take(delivery, json.dumps(payload).encode()))
            return said

        def outcomes(said):
            return [(event, one.outcome) for (event, _), one in zip(events, said, strict=True)]

        first = await sent()
        assert outcomes(first) == [(event, "stored") for event, _ in events]
        assert len({one.id for one in first}) == len(events) > 5

        again = await sent()
        assert outcomes(again) == [(event, "duplicate") for event, _ in events]
        assert [one.id for one in again] == [one.id for one in first]

        later = await sent(after_s=3600)  # the same texts: what has no name of its own happened once more
        nameless = [not one.event.identity for one in first]
        assert [one.outcome == "stored" for one in later] == nameless and 0 < sum(nameless) < len(events)
