"""A question-shaped coding set from a repository whose commits name their issues: titles as queries, commits as pages.

    python bench/retrieval/make_issues.py REPOSITORY --changelog doc/CHANGELOG --issue '#(\\d+)' \\
        --listed '^\\* (?:Defect|Feature|Patch) #(\\d+): (.+)$' --name redmine --out DIR

REPOSITORY: a git directory. The titles, as the reporters wrote them, are read from the changelog of that repository.
Pages are the newest commits that name an issue: subject, message, changed paths, identifiers of the changed lines; the
changelog itself is left out, and so are commits of nothing else. A title is no query when it has fewer than four words,
when it repeats the subject of one of its commits (same words: Jaccard >= 0.6) or stands in such a commit's message, or
when more than eight commits belong to it. Of the rest a sample by hash. Written as `sets.py` reads it; the text is the
repository's and no part of this one.
"""

import argparse
import hashlib
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_COMMIT, _FIELD, _DIFF = "\x01", "\x00", "\x02"
_WORD = re.compile(r"[^\W_]+")
_NAME = re.compile(r"\b(?:[A-Za-z]+_[A-Za-z_0-9]+|[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*)\b")
_MOST_COMMITS, _MOST_NAMES, _MOST_PATHS, _LEAST_WORDS, _SAME = 8, 80, 60, 4, 0.6


def commits(repository: Path, most: int, changelog: str) -> Iterator[dict[str, Any]]:
    """The newest commits, merges left out, with what they touched; the changelog left out."""
    command = [
        "git", f"--git-dir={repository}", "log", "--no-merges", "--no-renames", "-p", "-U0", "-n", str(most),
        "--format=%x01%H%x00%cs%x00%s%x00%b%x02", "HEAD", "--", ".", f":(exclude){changelog}",
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8", errors="replace") as process:
        assert process.stdout
        lines: list[str] = []
        for line in process.stdout:
            if line.startswith(_COMMIT) and lines:
                yield _commit("".join(lines))
                lines = []
            lines.append(line)
        if lines:
            yield _commit("".join(lines))
    if process.returncode:
        print("git gave up before the end: the history behind is left out", file=sys.stderr)


def _commit(text: str) -> dict[str, Any]:
    head, _, diff = text.removeprefix(_COMMIT).partition(_DIFF)
    number, date, subject, body = head.split(_FIELD, 3)
    paths: dict[str, None] = {}
    names: Counter[str] = Counter()
    for line in diff.splitlines():
        if line.startswith("diff --git "):
            paths[line.rsplit(" b/", 1)[-1]] = None
        elif line[:1] in "+-" and not line.startswith(("+++", "---")):
            names.update(_NAME.findall(line[:300]))
    return {
        "id": number[:12], "date": date, "title": subject, "body": body.strip()[:6000],
        "paths": list(paths)[:_MOST_PATHS], "idents": [name for name, _ in names.most_common(_MOST_NAMES)],
    }  # fmt: skip


def is_told(title: str, document: dict[str, Any]) -> bool:
    """Does the commit repeat the title, so that finding it would prove nothing?"""
    a, b = (set(_WORD.findall(text.lower())) for text in (title, document["title"]))
    return (
        len(a & b) / max(1, len(a | b)) >= _SAME or title.lower() in f"{document['title']} {document['body']}".lower()
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("repository", type=Path)
    options.add_argument("--changelog", required=True)
    options.add_argument("--issue", required=True, help="pattern of an issue in a commit's subject; group 1 its number")
    options.add_argument("--listed", required=True, help="pattern of a changelog line; groups: number, title")
    options.add_argument("--at", default="HEAD", help="commit whose changelog is read")
    options.add_argument("--name", required=True)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--pages", type=int, default=5000)
    options.add_argument("--queries", type=int, default=500)
    given = options.parse_args()
    listing = subprocess.run(
        ["git", f"--git-dir={given.repository}", "show", f"{given.at}:{given.changelog}"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    titles = {number: title.strip() for number, title in re.findall(given.listed, listing, re.MULTILINE)}
    documents: list[dict[str, Any]] = []
    of_issue: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for document in commits(given.repository, 4 * given.pages, given.changelog):
        numbers = set(re.findall(given.issue, document["title"]))
        if numbers and document["paths"] and len(documents) < given.pages:
            documents.append(document)
            for number in numbers:
                of_issue[number].append(document)
    asked = [
        {"id": number, "query": title, "relevant": [d["id"] for d in of_issue[number]]}
        for number, title in titles.items()
        if 0 < len(of_issue[number]) <= _MOST_COMMITS
        and len(_WORD.findall(title)) >= _LEAST_WORDS
        and not any(is_told(title, d) for d in of_issue[number])
    ]
    asked.sort(key=lambda row: hashlib.sha256(row["id"].encode()).digest())
    given.out.mkdir(parents=True, exist_ok=True)
    for part, rows in (("docs", documents), ("queries", asked[: given.queries])):
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (given.out / f"{given.name}-{part}-00.jsonl").write_text(text, encoding="utf-8")
    print(json.dumps({"titles": len(titles), "pages": len(documents), "usable": len(asked)}))


if __name__ == "__main__":
    main()
