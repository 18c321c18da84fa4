"""Quality of recall on retrieval sets, beside the floor and the reference.

    python bench/retrieval/run.py --data DIR [--tasks git,locomo-turn] [--rankers plain,reference,in-process,daemon]
        [--vectors]

DIR holds the sets (`sets.py` says in which form); none of their text is part of this repository. Prints one JSON line
per task and ranker. The floor is plain full text: the exit status is 1 where ours falls below it.
"""

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import rankers
from sets import TASKS, Group, Question, groups, metrics

MAIN = {"locomo-session": "recall@5", "locomo-turn": "recall@10"}
"""The main figure of a task; of others hit@5."""
Opened = Callable[[Group], AbstractContextManager[rankers.Ranker]]


def measure(of_task: list[Group], opened: Opened) -> dict[str, Any]:
    """Metrics over all groups of a task, and how long a query took."""
    ranked: list[list[int]] = []
    questions: list[Question] = []
    times: list[float] = []
    for group in of_task:
        with opened(group) as ask:
            for question in group.questions:
                start = time.perf_counter()
                ranked.append(ask(question.text))
                times.append((time.perf_counter() - start) * 1e3)
                questions.append(question)
    times.sort()
    quick = {"p50_ms": round(times[len(times) // 2], 1), "p95_ms": round(times[int(0.95 * len(times))], 1)}
    return {"queries": len(questions), **metrics(ranked, questions), **quick}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True, help="folder of the retrieval sets")
    options.add_argument("--tasks", default="ansible,git,locomo-session,locomo-turn", help=f"of {TASKS}")
    options.add_argument("--rankers", default="plain,reference,in-process,daemon")
    options.add_argument("--vectors", action="store_true", help="ours with static vectors too, beside ours without")
    given = options.parse_args()
    by_task: dict[str, list[Group]] = defaultdict(list)
    for group in groups(given.data, given.tasks.split(",")):
        by_task[group.task].append(group)
    module = rankers.reference(given.data)
    known: dict[str, Opened] = {"plain": rankers.plain, "in-process": rankers.in_process}
    if module is not None:
        known["reference"] = lambda group: rankers.fused_reference(module, group)
    if "daemon" in given.rankers:
        import daemon  # imports the server's client only when it is needed

        known["daemon"] = daemon.through_daemon
        known["daemon+vectors"] = lambda group: daemon.through_daemon(group, with_vectors=True)
    known["in-process+vectors"] = lambda group: rankers.in_process(group, with_vectors=True)
    names = given.rankers.split(",")
    if given.vectors:
        names = [one for name in names for one in (name, f"{name}+vectors") if one in known]
    held = True
    for task, of_task in by_task.items():
        floor = 0.0
        for name in names:
            if name not in known:
                continue
            got = measure(of_task, known[name])
            print(json.dumps({"task": task, "ranker": name, **got}), flush=True)
            if name == "plain":
                floor = got[MAIN.get(task, "hit@5")]
            elif name != "reference":
                held = held and got[MAIN.get(task, "hit@5")] >= floor
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
