"""The retrieval sets, read from a folder that is given: documents, queries, and which documents answer each.

    HISTORIES           DIR/<name>-docs-*.jsonl: id, date, title, body, paths[], idents[]
                        DIR/<name>-queries-*.jsonl: id, query, relevant[]
    locomo              DIR/locomo-docs-*.jsonl: conv, session, when, turns[{id, speaker, text}]
                        DIR/locomo-queries-*.jsonl: conv, query, turns[], sessions[]

redmine, hibernate are made by `make_issues.py`; zh, ja, ko, en by `make_headings.py`. LoCoMo is two tasks, sessions as
pages and turns as recorded events, with one index per conversation.
"""

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HISTORIES = ("ansible", "git", "redmine", "hibernate", "zh", "ja", "ko", "en")
TASKS = (*HISTORIES, "locomo-session", "locomo-turn")

_WHEN = re.compile(r"(\d{1,2}):(\d\d) ([ap])m on (\d{1,2}) (\w+), (\d{4})")
_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]


@dataclass(frozen=True, slots=True)
class Document:
    """One page, or one event of a session. at: when, as the set says it. speaker, session: of events."""

    title: str
    body: str
    at: datetime
    paths: tuple[str, ...] = ()
    idents: tuple[str, ...] = ()
    speaker: str = ""
    session: str = ""
    when: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A query and the positions of the documents that answer it."""

    text: str
    answers: frozenset[int]


@dataclass(frozen=True, slots=True)
class Group:
    """One index: its task, its name, its documents and the queries that are asked of it."""

    task: str
    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]

    @property
    def is_turns(self) -> bool:
        return self.task == "locomo-turn"


def groups(folder: Path, tasks: Sequence[str] = TASKS) -> list[Group]:
    """All groups of these tasks. Raises FileNotFoundError where the folder has none of a set's files."""
    found: list[Group] = []
    for name in HISTORIES:
        if name in tasks:
            found.append(_history(folder, name))
    if any(task.startswith("locomo") for task in tasks):
        found += [group for group in _conversations(folder) if group.task in tasks]
    return found


def metrics(ranked: Sequence[Sequence[int]], questions: Sequence[Question]) -> dict[str, float]:
    """hit@k: an answer is among the first k. recall@k: the part of the answers that is. mrr: of the first, in 10."""
    sums: dict[str, float] = defaultdict(float)
    for found, question in zip(ranked, questions, strict=True):
        places = [i for i, document in enumerate(found[:10]) if document in question.answers]
        for k in (1, 5, 10):
            sums[f"hit@{k}"] += any(place < k for place in places)
            sums[f"recall@{k}"] += sum(place < k for place in places) / len(question.answers)
        sums["mrr"] += 1 / (places[0] + 1) if places else 0.0
    return {name: round(total / len(questions), 4) for name, total in sorted(sums.items())}


def _rows(folder: Path, name: str) -> list[dict[str, Any]]:
    files = sorted(folder.glob(f"{name}-[0-9][0-9].jsonl"))
    if not files:
        raise FileNotFoundError(f"{folder} has no {name}-*.jsonl")
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def _history(folder: Path, name: str) -> Group:
    rows = _rows(folder, f"{name}-docs")
    position = {row["id"]: i for i, row in enumerate(rows)}
    documents = tuple(
        Document(
            row["title"], row["body"], datetime.fromisoformat(row["date"]).replace(tzinfo=UTC), tuple(row["paths"]),
            tuple(row["idents"]), when=row["date"],
        )
        for row in rows
    )  # fmt: skip
    questions = tuple(
        Question(row["query"], frozenset(position[r] for r in row["relevant"]))
        for row in _rows(folder, f"{name}-queries")
    )
    return Group(name, name, documents, questions)


def _conversations(folder: Path) -> list[Group]:
    docs, queries = _rows(folder, "locomo-docs"), _rows(folder, "locomo-queries")
    found: list[Group] = []
    for name in sorted({row["conv"] for row in docs}):
        sessions = [row for row in docs if row["conv"] == name]
        asked = [row for row in queries if row["conv"] == name]
        pages = tuple(
            Document(
                row["when"], "\n".join(f"{turn['speaker']}: {turn['text']}" for turn in row["turns"]),
                _moment(row["when"]), session=str(row["session"]), when=row["when"],
            )
            for row in sessions
        )  # fmt: skip
        position = {row["session"]: i for i, row in enumerate(sessions)}
        found.append(
            Group(
                "locomo-session", name, pages,
                tuple(Question(q["query"], frozenset(position[s] for s in q["sessions"])) for q in asked),
            )
        )  # fmt: skip
        turns: list[Document] = []
        place: dict[str, int] = {}
        for row in sessions:
            for turn in row["turns"]:
                place[turn["id"]] = len(turns)
                turns.append(
                    Document(
                        "", turn["text"], _moment(row["when"]), speaker=turn["speaker"], session=str(row["session"]),
                        when=row["when"],
                    )
                )  # fmt: skip
        found.append(
            Group(
                "locomo-turn", name, tuple(turns),
                tuple(Question(q["query"], frozenset(place[t] for t in q["turns"])) for q in asked),
            )
        )  # fmt: skip
    return found


def _moment(when: str) -> datetime:
    match = _WHEN.fullmatch(when)
    if not match:
        raise ValueError(f"not a moment: {when}")
    hour, minute, half, day, month, year = match.groups()
    return datetime(
        int(year), _MONTHS.index(month.lower()) + 1, int(day), int(hour) % 12 + 12 * (half == "p"), int(minute),
        tzinfo=UTC,
    )  # fmt: skip
