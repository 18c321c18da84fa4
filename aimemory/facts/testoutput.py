"""The summaries that test programs print about themselves, read out of a command's output.

One reader for each program, from text to the summaries in it in order. A summary that can't be complete is no pass.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aimemory.model.testrun import Verdict

MAX_FAILING = 20
_NAME_CHARS = 200
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CARET_ANSI = re.compile(r"\^?\[(?:\d{1,3}(?:;\d{1,3})*)m")
CUT = re.compile(
    r"\[… [\d,]{1,20} bytes cut …\]|\[\d+ (?:characters|lines) truncated\]|…\d+ (?:tokens|chars) truncated…"
)
"""Marks of a middle that is missing: ours, Claude Code's, Codex's."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What one run says of itself. Counts are None where it names none. why: what speaks against a pass.

    partial: unknown only because a part of it is missing, which exit code 0 makes up for.
    """

    verdict: Verdict
    line: str
    passed: int | None = None
    failed: int | None = None
    skipped: int | None = None
    failing: tuple[str, ...] = ()
    why: str = ""
    partial: bool = False


def plain(text: str) -> str:
    """Output as a terminal would show it: no colours, a line that was rewritten as it was last."""
    text = _ANSI.sub("", text).replace("\r\n", "\n")
    if "[" in text:
        text = _CARET_ANSI.sub("", text)
    return re.sub(r"^.*\r(?=[^\n])", "", text, flags=re.MULTILINE) if "\r" in text else text


def verdict_of(passed: int | None, failed: int) -> Verdict:
    if failed:
        return Verdict.FAILED
    return Verdict.PASSED if passed else Verdict.UNKNOWN


def _names(pattern: re.Pattern[str], text: str) -> tuple[str, ...]:
    found = dict.fromkeys(" ".join(m[1].split())[:_NAME_CHARS] for m in pattern.finditer(text))
    return tuple(list(found)[:MAX_FAILING])


def _number(text: str, pattern: str) -> int:
    return sum(int(m) for m in re.findall(pattern, text))


# -- pytest -----------------------------------------------------------------------------------------------------------

_PYTEST_WORD = (
    r"\d+ (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?|rerun|subtests (?:passed|failed))"
)
_PYTEST_LAST = re.compile(
    rf"^=*[ ]?((?:{_PYTEST_WORD}(?:, )?)+|no tests ran|no tests collected)"
    r" in \d+(?:\.\d+)?s?(?: \([\d:, a-z]+\))?[ ]?=*[ ]*$",
    re.MULTILINE,
)
_PYTEST_FAILING = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", re.MULTILINE)
_PYTEST_BROKEN = re.compile(
    r"^(?:!{3,} .*(?:Interrupt|Exit|stopping).*!{3,}|INTERNALERROR>.*|.*(?:Required test coverage of \S+ not reached"
    r"|Coverage failure: ).*)$",
    re.MULTILINE,
)


def pytest_summaries(text: str) -> list[Summary]:
    """`1 failed, 3 passed in 0.12s`, with or without its rule of equal signs."""
    found, start = [], 0
    for last in _PYTEST_LAST.finditer(text):
        words, part = last[1], text[start : last.end()]
        start = last.end()
        failed = _number(words, r"(\d+) (?:failed|errors?|subtests failed)\b")
        passed = _number(words, r"(\d+) passed\b")
        verdict, why = verdict_of(passed, failed), ""
        broken = _PYTEST_BROKEN.search(part) or _PYTEST_BROKEN.match(text[start:].lstrip("\n"))
        if broken is not None and verdict is Verdict.PASSED:
            coverage = "overage" in broken[0]
            verdict, why = (Verdict.FAILED if coverage else Verdict.UNKNOWN), broken[0].strip("! ")[:_NAME_CHARS]
        skipped = _number(words, r"(\d+) (?:skipped|deselected)\b")
        line, names = last[0].strip("= "), _names(_PYTEST_FAILING, part)
        found.append(Summary(verdict, line, passed, failed, skipped, names, why))
    return found


# -- unittest ---------------------------------------------------------------------------------------------------------

_UNITTEST = re.compile(
    r"^Ran (\d+) tests? in [\d.]+s\n\s*\n?(OK|FAILED|NO TESTS RAN)(?: \(([^)\n]*)\))?[ ]*$", re.MULTILINE
)
_UNITTEST_FAILING = re.compile(r"^(?:FAIL|ERROR|UNEXPECTED SUCCESS): (\S.*)$", re.MULTILINE)


def unittest_summaries(text: str) -> list[Summary]:
    """`Ran 3 tests in 0.001s`, and the word behind it; Django's test runner prints the same."""
    found, start = [], 0
    for last in _UNITTEST.finditer(text):
        ran, word, rest = int(last[1]), last[2], last[3] or ""
        part = text[start : last.end()]
        start = last.end()
        failed = _number(rest, r"(?<!expected )(?:failures|errors|unexpected successes)=(\d+)")
        skipped = _number(rest, r"skipped=(\d+)")
        passed = max(ran - failed - skipped - _number(rest, r"expected failures=(\d+)"), 0)
        verdict = Verdict.FAILED if word == "FAILED" else verdict_of(passed if word == "OK" else 0, failed)
        line = " ".join(last[0].split())
        found.append(Summary(verdict, line, passed, failed, skipped, _names(_UNITTEST_FAILING, part)))
    return found


# -- jest and vitest --------------------------------------------------------------------------------------------------

_JEST = re.compile(r"^Tests:\s+((?:\d+ [a-z]+(?:, )?)+)\s*$", re.MULTILINE)
_JEST_SUITES = re.compile(r"^Test Suites:\s+((?:\d+ [a-z]+(?:, )?|of \d+ total)+)\s*$", re.MULTILINE)
_JEST_FAILING = re.compile(r"^\s*● (?!Console$)(\S.*)$", re.MULTILINE)
_JEST_BROKEN = re.compile(r"^(?:Jest: .*threshold .*not met.*|.*Test run was interrupted.*)$", re.MULTILINE)


def jest_summaries(text: str) -> list[Summary]:
    """`Tests: 1 failed, 3 passed, 4 total`; a pass needs the line on suites as well, since one may not even compile."""
    return _counted(text, _JEST, _JEST_SUITES, _JEST_FAILING, _JEST_BROKEN, "test suites", 400)


_VITEST = re.compile(r"^\s*Tests\s{2,}((?:\d+ [a-z ]+?(?: \| )?)+)\s*\(\d+\)\s*$", re.MULTILINE)
_VITEST_FILES = re.compile(r"^\s*Test Files\s{2,}((?:\d+ [a-z ]+?(?: \| )?)+)\s*\(\d+\)\s*$", re.MULTILINE)
_VITEST_FAILING = re.compile(r"^\s*(?:FAIL|❯|×)\s+(\S+ > \S.*?|\S+\.[cm]?[jt]sx?\b.*?)(?: \d+ms)?\s*$", re.MULTILINE)
_VITEST_BROKEN = re.compile(
    r"^.*(?:Unhandled (?:Errors?|Rejections?)|Errors\s+\d+ errors?|coverage for .* does not meet).*$", re.MULTILINE
)


def vitest_summaries(text: str) -> list[Summary]:
    """`Tests  1 failed | 3 passed (4)`; a pass needs the line on files as well, and no unhandled error."""
    return _counted(text, _VITEST, _VITEST_FILES, _VITEST_FAILING, _VITEST_BROKEN, "test files", 1000)


def _counted(
    text: str, tests: re.Pattern[str], groups: re.Pattern[str], failing: re.Pattern[str], broken: re.Pattern[str],
    groups_are: str, behind_chars: int,
) -> list[Summary]:  # fmt: skip
    """One summary for each line of `tests`, with the line of `groups` (suites, files) before it.

    broken: what makes a pass a failure, before that line or up to behind_chars after it. groups_are: said when their
    line is missing.
    """
    found, start = [], 0
    for last in tests.finditer(text):
        part = text[start : last.end()]
        behind = text[last.end() : last.end() + behind_chars]
        start = last.end()
        grouped = _last(groups, part)
        passed, failed = _number(last[1], r"(\d+) passed"), _number(last[1], r"(\d+) failed")
        broken_groups = _number(grouped[1], r"(\d+) failed") if grouped else 0
        verdict, why = verdict_of(passed, failed + broken_groups), ""
        if verdict is Verdict.PASSED:
            fault = broken.search(part) or broken.search(behind)
            if grouped is None:
                verdict, why = Verdict.UNKNOWN, f"the line on {groups_are} is missing"
            elif fault is not None:
                verdict, why = Verdict.FAILED, " ".join(fault[0].split())[:_NAME_CHARS]
        skipped = _number(last[1], r"(\d+) (?:skipped|todo)")
        line, names = " ".join(last[0].split()), _names(failing, part)
        partial = grouped is None and verdict is Verdict.UNKNOWN
        found.append(Summary(verdict, line, passed, failed, skipped, names, why, partial))
    return found


# -- go, cargo, node --------------------------------------------------------------------------------------------------

_GO_OK = re.compile(r"^ok  ?\s*\t?(\S+)\s+(?:\(cached\)|[\d.]+s)(.*)$", re.MULTILINE)
_GO_BAD = re.compile(
    r"^(?:FAIL(?:\t.*)?|\s*--- FAIL: .*|panic: .*|FAIL\s+\S+ \[(?:build|setup) failed\].*)$", re.MULTILINE
)
_GO_FAILING = re.compile(r"^\s*--- FAIL: (\S+)", re.MULTILINE)
_GO_BROKEN = re.compile(r"^FAIL\s+(\S+(?: \[(?:build|setup) failed\])?)", re.MULTILINE)
_GO_PASSED = re.compile(r"^\s*--- PASS: ", re.MULTILINE)
_GO_SKIPPED = re.compile(r"^\s*--- SKIP: ", re.MULTILINE)


def go_summaries(text: str) -> list[Summary]:
    """One for all packages: `go test` ends with a line `FAIL` whenever one of them failed."""
    ran = [m for m in _GO_OK.finditer(text) if "[no tests to run]" not in m[2] and "[no test files]" not in m[2]]
    bad = _GO_BAD.search(text)
    if bad is not None:
        failing = _names(_GO_FAILING, text) or _names(_GO_BROKEN, text)
        named = len(_GO_FAILING.findall(text)) or None
        return [Summary(Verdict.FAILED, _last_line(_GO_BAD, text), None, named, None, failing)]
    if not ran:
        return []
    cut = [m.end() for m in CUT.finditer(text)]
    passed, skipped = len(_GO_PASSED.findall(text)) or None, len(_GO_SKIPPED.findall(text)) or None
    if cut and ran[-1].start() < cut[-1]:
        return [Summary(Verdict.UNKNOWN, ran[-1][0].strip(), why="the end of the output is missing")]
    return [Summary(Verdict.PASSED, " ".join(ran[-1][0].split()), None if cut else passed, 0, skipped)]


_CARGO = re.compile(r"^test result: (ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored;.*$", re.MULTILINE)
_NEXTEST = re.compile(
    r"^\s*Summary \[[^\]]*\]\s+(?:\d+/)?(\d+) tests? run: (\d+) passed(?: \([^)]*\))?(?:, (\d+) failed)?"
    r"(?:, (\d+) timed out)?(?:, (\d+) skipped)?\s*$",
    re.MULTILINE,
)
_CARGO_BROKEN = re.compile(r"^(?:error(?:\[E\d+\])?: .*|\s*warning: build failed.*|Caused by:)$", re.MULTILINE)
_CARGO_FAILING_NAME = re.compile(r"^test (\S.*?) \.\.\. FAILED$", re.MULTILINE)


def cargo_summaries(text: str) -> list[Summary]:
    """One for all test binaries: `test result: ok. 3 passed; 0 failed; …`, and no error of cargo."""
    found = list(_CARGO.finditer(text))
    nextest = list(_NEXTEST.finditer(text))
    broken = _CARGO_BROKEN.search(text)
    if not found and not nextest:
        if broken is None or "could not compile" not in text:
            return []
        return [Summary(Verdict.FAILED, broken[0].strip()[:_NAME_CHARS], why="it could not be compiled")]
    passed = sum(int(m[2]) for m in (*found, *nextest))
    failed = sum(int(m[3] or 0) for m in (*found, *nextest)) + sum(int(m[4] or 0) for m in nextest)
    skipped = sum(int(m[4]) for m in found) + sum(int(m[5] or 0) for m in nextest)
    bad = any(m[1] == "FAILED" for m in found)
    verdict = Verdict.FAILED if bad or broken is not None else verdict_of(passed, failed)
    worst = next((m for m in found if m[1] == "FAILED"), (found or nextest)[-1])
    line = broken[0] if broken is not None and not (bad or failed) else worst[0]
    return [Summary(verdict, line.strip()[:_NAME_CHARS], passed, failed, skipped, _names(_CARGO_FAILING_NAME, text))]


_NODE = re.compile(
    r"^[#ℹ] tests (\d+)\n(?:[#ℹ] suites \d+\n)?[#ℹ] pass (\d+)\n[#ℹ] fail (\d+)\n"
    r"[#ℹ] cancelled (\d+)\n[#ℹ] skipped (\d+)",
    re.MULTILINE,
)
_NODE_FAILING = re.compile(r"^\s*(?:not ok \d+ - |✖ )(?!failing tests:)(\S.*?)(?: # .*| \([\d.]+ms\))?$", re.MULTILINE)


def node_summaries(text: str) -> list[Summary]:
    """The block of counts that both reporters of `node --test` print last."""
    found, start = [], 0
    for last in _NODE.finditer(text):
        part = text[start : last.end()]
        start = last.end()
        passed, failed, skipped = int(last[2]), int(last[3]) + int(last[4]), int(last[5])
        line = " ".join(re.sub(r"^[#ℹ] ", "", last[0], flags=re.MULTILINE).split())
        names = _names(_NODE_FAILING, part)
        found.append(Summary(verdict_of(passed, failed), line, passed, failed, skipped, names))
    return found


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    last = None
    for last in pattern.finditer(text):  # noqa: B007  (the last one is what is wanted)
        pass
    return last


def _last_line(pattern: re.Pattern[str], text: str) -> str:
    last = _last(pattern, text)
    return " ".join(last[0].split())[:_NAME_CHARS] if last is not None else ""


READERS: Mapping[str, Callable[[str], list[Summary]]] = {
    "pytest": pytest_summaries,
    "unittest": unittest_summaries,
    "jest": jest_summaries,
    "vitest": vitest_summaries,
    "go test": go_summaries,
    "cargo test": cargo_summaries,
    "node --test": node_summaries,
}


def any_summaries(text: str) -> list[Summary]:
    """All summaries of all programs that are known, for a script that may run any of them."""
    return [summary for read in READERS.values() for summary in read(text)]
