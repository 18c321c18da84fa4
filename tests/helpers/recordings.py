"""Recorded scenarios of real agents, to be sent again: see tests/fixtures/captures."""

import json
from pathlib import Path

CAPTURES = Path(__file__).parents[1] / "fixtures" / "captures"
RECORDED_CWD = "/home/dev/project"


def scenarios(harness: str) -> dict[str, list[dict]]:
    """Scenario → its events in recorded order, each with `ts`, `event`, `payload`."""
    found: dict[str, list[dict]] = {}
    for line in (CAPTURES / f"{harness}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        found.setdefault(row["scenario"], []).append(row)
    return found


def moved(payload: dict, cwd: Path) -> dict:
    """The payload as if it had been recorded in `cwd`."""
    return json.loads(json.dumps(payload).replace(RECORDED_CWD, str(cwd)))
