"""A set from translated documentation: headings as queries, the sections below them as pages.

    python bench/retrieval/make_headings.py REPOSITORY --under src/guide --under src/api --name zh --out DIR

REPOSITORY: a git directory with markdown. A page is a section of `##` or `###` without its own heading; its title is
the title of its document, so several pages share one. Code stays (that is where Latin identifiers come from), comments
and anchors go. A heading is a query when it has at least two characters of Chinese, Japanese or Korean, stands once in
the whole set, and its section has at least 80 characters. Queries are a sample by hash. Written as `sets.py` reads it;
the text is the repository's and no part of this one.
"""

import argparse
import hashlib
import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from aimemory.index.words import SPACELESS

_HEADING = re.compile(r"^(#{1,4})\s+(.+?)\s*$")
_ANCHOR = re.compile(r"\s*\{#[^}]*\}|<sup[^>]*>.*?</sup>|</?(?:sup|span|a|br|div)\b[^>]*>")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_TAG = re.compile(r"</?(?:div|p|span|VueSchoolLink|script|style)\b[^>]*>")
_FENCE = ("```", "~~~", "````")
_LEAST_BODY, _LEAST_CHARS = 80, 2


def sections(text: str) -> Iterator[tuple[str, str, str]]:
    """(title of the document, heading, text below it) of every section that has a heading of its own."""
    title, heading = "", ""
    lines: list[str] = []
    is_code = False
    for line in _TAG.sub("", _COMMENT.sub("", text)).splitlines():
        if line.lstrip().startswith(_FENCE):
            is_code = not is_code
        found = None if is_code else _HEADING.match(line)
        if not found:
            lines.append(line)
            continue
        if heading:
            yield title, heading, "\n".join(lines).strip()
        lines = []
        name = _ANCHOR.sub("", found[2]).strip()
        if len(found[1]) == 1:
            title, heading = name, ""
        else:
            heading = name
    if heading:
        yield title, heading, "\n".join(lines).strip()


def says_enough(heading: str, is_latin: bool) -> bool:
    if is_latin:
        return len(re.findall(r"[A-Za-z]{2,}", heading)) >= _LEAST_CHARS
    return sum(len(run) for run in SPACELESS.findall(heading)) >= _LEAST_CHARS


def files(repository: Path, under: list[str]) -> Iterator[str]:
    git = ["git", f"--git-dir={repository}"]
    names = subprocess.run(
        [*git, "-c", "core.quotePath=off", "ls-tree", "-r", "--name-only", "HEAD", "--", *under],
        capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    for name in sorted(names):
        if name.endswith(".md"):
            yield subprocess.run([*git, "show", f"HEAD:{name}"], capture_output=True, check=True).stdout.decode()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("repository", type=Path)
    options.add_argument("--under", action="append", default=[], help="folder of the repository; several may be given")
    options.add_argument("--name", required=True)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--queries", type=int, default=300)
    options.add_argument("--latin", action="store_true", help="headings of two Latin words instead: the original text")
    given = options.parse_args()
    found = [part for text in files(given.repository, given.under or ["."]) for part in sections(text)]
    kept = [part for part in found if len(part[2]) >= _LEAST_BODY]
    times = Counter(heading for _, heading, _ in kept)
    documents = [
        {"id": str(i), "date": "2026-01-01", "title": title, "body": body[:6000], "paths": [], "idents": []}
        for i, (title, _, body) in enumerate(kept)
    ]
    asked = [
        {"id": str(i), "query": heading, "relevant": [str(i)], "verbatim": heading in body}
        for i, (_, heading, body) in enumerate(kept)
        if times[heading] == 1 and says_enough(heading, given.latin)
    ]
    asked.sort(key=lambda row: hashlib.sha256(str(row["query"]).encode()).digest())
    asked = asked[: given.queries]
    given.out.mkdir(parents=True, exist_ok=True)
    for part, rows in (("docs", documents), ("queries", asked)):
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (given.out / f"{given.name}-{part}-00.jsonl").write_text(text, encoding="utf-8")
    print(
        json.dumps(
            {"pages": len(documents), "queries": len(asked), "verbatim": sum(bool(q["verbatim"]) for q in asked)}
        )
    )


if __name__ == "__main__":
    main()
