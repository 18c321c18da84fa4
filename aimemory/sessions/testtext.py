"""Tests of a session as lines of markdown: what ran, how it ended, and how that is known."""

from aimemory.model.session import SessionState, TestState
from aimemory.model.testrun import TestRun, Verdict
from aimemory.sessions.quoting import clip, code, one_line

_TARGET_CHARS = 120
_WORDS_CHARS = 160
_NAMES = 5


def tests_section(state: SessionState, limit_bytes: int) -> str:
    """The page's section on tests; "" when none ran. Failing ones first, then unsettled ones, each latest first."""
    if not state.tests:
        return ""
    order = (Verdict.FAILED, Verdict.UNKNOWN, Verdict.PASSED)
    tests = sorted(state.tests.items(), key=lambda item: (order.index(_verdict(item[1])), -item[1].at_ns))
    lines = [f"- {_line(key[0], test)}" for key, test in tests]
    kept: list[str] = []
    size = 0
    for line in lines:
        size += len(line.encode("utf-8")) + 1
        if size > limit_bytes:
            kept.append(f"- … and {len(lines) - len(kept)} more")
            break
        kept.append(line)
    head = "By program and target, as of the last run (each says how it is known):\n"
    return "\n".join(["## Tests\n", head, "\n".join(kept) + "\n"])


def test_line(test: TestState) -> str:
    """A test's standing in one line of markdown."""
    return _line(test.last.runner, test)


test_line.__test__ = False  # type: ignore[attr-defined]  # not a test, whatever pytest thinks of its name


def test_words(run: TestRun) -> str:
    """Verdict and counts in words: `failed: 1 failed, 3 passed`."""
    counts = [(run.failed, "failed"), (run.passed, "passed"), (run.skipped, "skipped")]
    told = ", ".join(f"{number} {word}" for number, word in counts if number)
    verdict = "outcome unknown" if run.verdict is Verdict.UNKNOWN else run.verdict.value
    return f"{verdict}: {told}" if told else verdict


test_words.__test__ = False  # type: ignore[attr-defined]


def standing(test: TestState) -> TestRun:
    """The run that says how it stands: the last one, but a known failure as long as nothing speaks against it."""
    return test.known if test.is_failing and test.known is not None else test.last


def _verdict(test: TestState) -> Verdict:
    return Verdict.PASSED if test.cleared_by is not None else standing(test).verdict


def _line(runner: str, test: TestState) -> str:
    named = f"{code(runner)} {code(clip(test.target, _TARGET_CHARS))}" if test.target else f"{code(runner)} (all)"
    line = f"{named}: {test_words(test.last)} ({_how(test)})"
    known = test.known
    if test.cleared_by is not None:
        line += f"; passed since as part of {code(clip(test.cleared_by, _TARGET_CHARS))}"
    elif test.last.verdict is Verdict.UNKNOWN and known is not None:
        line += f"; last known: {test_words(known)}"
    if test.is_failing and known is not None and known.failing:
        names = ", ".join(code(clip(name, _TARGET_CHARS)) for name in known.failing[:_NAMES])
        more = len(known.failing) - _NAMES
        line += f"; failing: {names}" + (f" and {more} more" if more > 0 else "")
    if test.count > 1:
        line += f"; {test.count} runs"
    return line


def _how(test: TestState) -> str:
    how = clip(one_line(test.last.how), _WORDS_CHARS)
    return f"{how}, {test.evidence}" if test.evidence != "observed" else how
