"""What one run of a test program came to."""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar


class Verdict(StrEnum):
    """`unknown` is also what a run is that collected nothing, crashed, was interrupted, or contradicts itself."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class TestRun:
    """One run of one test program.

    runner: `pytest`, `go test`, `npm`, … target: which tests, as given (paths, names, selecting options); "" is all.
    directory: where it ran, relative to the shell's own directory or absolute; "" is there.
    passed, failed, skipped: counts of its own summary, None where it names none. failing: names, the first ones.
    summary: the summary's own line. how: what the verdict rests on, or why there is none, as the end of a sentence.
    """

    __test__: ClassVar[bool] = False  # not a test class, whatever pytest thinks of its name

    runner: str
    target: str = ""
    directory: str = ""
    verdict: Verdict = Verdict.UNKNOWN
    passed: int | None = None
    failed: int | None = None
    skipped: int | None = None
    failing: tuple[str, ...] = ()
    summary: str = ""
    how: str = ""
