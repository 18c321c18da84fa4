"""Test runs in a shell command: which were started, and what became of each, by its own summary and the exit status.

A run is `passed` only where nothing speaks against it and something reliable speaks for it; a pipe, `|| true`, `;` or
a run in the background proves nothing by its exit status, and a summary that may be another program's proves nothing
by itself.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from aimemory.facts.programs import Program, programs_of
from aimemory.facts.testoutput import CUT, READERS, Summary, any_summaries, plain
from aimemory.facts.testrunners import Started, started, word_set
from aimemory.model.testrun import TestRun, Verdict

_MAY_START = re.compile(
    r"test|spec|jest|mocha|ava|tap|tox|nox|check|verify|cypress|karma|phpunit|pest|bats|behave|robot|trial|ginkgo|unit|e2e"
    r"|\bnpm\b|\bmake\b",
    re.IGNORECASE,
)
"""A command without any of these starts no tests that are known here; most commands end at this question."""

_SHOWS = word_set(
    "cat bat tac nl head tail less more grep egrep fgrep rg ag ack sed awk gawk jq yq xargs find "
    "diff strings cut sort gh glab docker podman kubectl journalctl curl wget python python3 perl "
    "node ruby php tee column watch script screen tmux zcat zgrep xmllint"
)
"""Programs that may print what some other run once said."""

_SHOWING_GIT = frozenset(["show", "log", "diff", "blame", "grep", "cat-file", "notes"])
_SUMMARY_LIKE = re.compile(r"\d+\s+(?:pass|fail|error|tests?\b)|\bOK\b|\bok\b|test result|Tests:|\bFAIL", re.IGNORECASE)
_HARMLESS = word_set("cd export set source . true : pushd popd umask ulimit unset")
_ONE_FOR_ALL = frozenset(["go test", "cargo test"])
"""Readers that make one summary of all that a command printed."""

_NO_VERDICT = frozenset([124, 126, 127, 130, 137, 143])
"""Timed out, not found, interrupted, killed: nothing that the tests said."""

_NEVER_RAN = re.compile(
    r"No module named|command not found|not found\b|Cannot find module|could not determine executable|Missing script"
    r"|No rule to make target|no such (?:file|command|subcommand)|unrecognized arguments|No such file or directory"
    r"|can't open file|not recognized|No tests found|no test files",
    re.IGNORECASE,
)
_GOOD = re.compile(
    r"\b[1-9]\d* (?:pass(?:ed|ing)?|tests? passed)\b|\b[1-9]\d* runs, \d+ assertions, 0 failures, 0 errors"
    r"|\b[1-9]\d* (?:examples?|tests?|specs?), 0 failures|^OK \([1-9]"
    r"|\bBUILD SUCCESS|\b100% tests passed|\bAll (?:tests|\d+ tests?) passed|^Passed!",
    re.MULTILINE,
)
_BAD = re.compile(
    r"\b[1-9]\d* (?:failed|failing|failures?|errors?)\b|\bFAIL(?:ED|URES?|URE|)\b|\bBUILD FAILED"
    r"|^not ok \d|\bError:|^error\b|\*\*\* \[|npm (?:ERR!|error)|ELIFECYCLE",
    re.MULTILINE,
)
_PER_LINE = word_set("grep egrep fgrep rg ag ack sed awk gawk cut sort uniq jq perl python python3 head tr")
_TAKING_A_PATTERN = frozenset(["grep", "egrep", "fgrep", "rg", "ag", "ack", "sed", "awk", "gawk", "jq", "perl"])
_FILTER_VALUED = {
    **dict.fromkeys(("head", "tail"), ("-n", "-c")),
    **dict.fromkeys(("grep", "egrep", "fgrep", "rg"), ("-e", "-A", "-B", "-C", "-m", "-f")),
}
_STDIN_ONLY = re.compile(r"(?:-|[+-]?\d+)\Z")


def may_run_tests(command: str) -> bool:
    """False for a command that starts no tests that are known here; most don't."""
    return _MAY_START.search(command) is not None


def test_runs(command: str, output: str | None, exit_code: int | None, failed: bool | None) -> tuple[TestRun, ...]:
    """The runs that a command line started, in its order; empty when it started none.

    output: standard output and error as the harness gives them, perhaps cut in the middle. exit_code, failed: of the
    whole line, None where it isn't known; `failed` decides where there is no code.
    """
    if not may_run_tests(command):
        return ()
    programs, whole = programs_of(command)
    runs = [found for program in programs if (found := started(program)) is not None]
    if not runs:
        return ()
    text = plain(output or "")
    whole = whole and not CUT.search(command)
    code = _status(exit_code, failed) if whole else None
    foreign = not whole or _shows_other_text(programs, runs)
    summaries = _told(runs, text, code)
    return tuple(_judged(run, summaries.get(at), code, text, foreign) for at, run in enumerate(runs))


test_runs.__test__ = False  # type: ignore[attr-defined]  # not a test, whatever pytest thinks of its name


def _status(exit_code: int | None, failed: bool | None) -> int | None:
    if exit_code:
        return exit_code
    if failed is not None:
        return -1 if failed else 0
    return exit_code


def _shows_other_text(programs: Sequence[Program], runs: Sequence[Started]) -> bool:
    """Whether a summary in the output may be an old one that another command printed."""
    own = {id(run.program) for run in runs}
    filters = {words for run in runs for words in run.program.command.after}
    if any(run.runner.name == "cargo test" for run in runs) and any(
        program.name == "cargo" and id(program) not in own for program in programs
    ):
        return True  # errors of `cargo clippy` read as those of `cargo test`
    kinds = {run.runner.reader for run in runs}
    if len(kinds) > 1 and None in kinds:  # a script may print what another program of the line prints
        return True
    for program in programs:
        if id(program) in own:
            continue
        if program.command.words in filters:
            if _reads_a_file(program):
                return True
        elif _shows(program):
            return True
    return False


def _shows(program: Program) -> bool:
    if program.name == "git":
        return bool(_SHOWING_GIT.intersection(program.words[:3]))
    if program.name in ("echo", "printf"):
        return _SUMMARY_LIKE.search(" ".join(program.words)) is not None
    return program.name in _SHOWS


def _reads_a_file(program: Program) -> bool:
    """A filter that was given a file doesn't read the run's output."""
    if program.name == "tee" or program.name not in _SHOWS:
        return False
    valued = _FILTER_VALUED.get(program.name, ())
    plain_words, skip = [], False
    for word in program.words:
        if not skip and not word.startswith("-") and not _STDIN_ONLY.match(word):
            plain_words.append(word)
        skip = not skip and word in valued
    takes = int(program.name in _TAKING_A_PATTERN)
    takes -= bool({"-e", "-f"}.intersection(program.words))
    return len(plain_words) > max(takes, 0)


def _told(runs: Sequence[Started], text: str, code: int | None) -> dict[int, Summary]:
    """Which summary is which run's, by position among the runs; only where that is sure."""
    found: dict[int, Summary] = {}
    for reader in dict.fromkeys(run.runner.reader for run in runs):
        mine = [at for at, run in enumerate(runs) if run.runner.reader == reader]
        summaries = READERS[reader](text) if reader is not None else any_summaries(text)
        if not summaries:
            continue
        if reader is None or len(mine) == 1:
            if len(mine) == 1:
                found[mine[0]] = _together(summaries)
        elif reader in _ONE_FOR_ALL:
            # Whose lines are whose isn't to be told; that all of them passed is, if the line's exit status says so.
            if code == 0 and all(runs[at].program.command.ok_if_zero for at in mine):
                counted = replace(summaries[-1], passed=None, failed=None, skipped=None)
                found.update(dict.fromkeys(mine, counted))
        elif len(summaries) == len(mine):
            found.update(zip(mine, summaries, strict=True))
        elif len(summaries) < len(mine) and summaries[-1].verdict is Verdict.FAILED and _chained(runs, mine):
            found.update(zip(mine, summaries, strict=False))  # the chain ended at the failure
    return found


def _together(summaries: Sequence[Summary]) -> Summary:
    """Several summaries of what is one run: the last, unless an earlier one speaks against it."""
    last = summaries[-1]
    if len(summaries) == 1 or last.verdict is Verdict.FAILED:
        return last
    worse = next((s for s in summaries if s.verdict is not Verdict.PASSED), None)
    if worse is None:
        return last
    return replace(worse, verdict=Verdict.UNKNOWN, why="its output holds several summaries that disagree")


def _chained(runs: Sequence[Started], mine: Sequence[int]) -> bool:
    first = runs[mine[0]].program.command
    return all(runs[at].program.command.words in first.beside for at in mine[1:])


def _judged(run: Started, summary: Summary | None, code: int | None, text: str, foreign: bool) -> TestRun:
    command = run.program.command
    proven = code == 0 and command.ok_if_zero
    alone = all(_is_harmless(words) for words in command.beside)
    blamed = code not in (None, 0) and command.failed_if_not and alone
    named = TestRun(run.runner.name, run.target, run.program.directory)
    if summary is None:
        return _by_status(named, run, text, code, proven=proven, blamed=blamed)
    told = replace(
        named, passed=summary.passed, failed=summary.failed, skipped=summary.skipped, failing=summary.failing,
        summary=summary.line,
    )  # fmt: skip
    if summary.partial and proven and run.runner.exits.get(0):
        return replace(told, verdict=Verdict.PASSED, how="exit code 0")
    if summary.verdict is Verdict.UNKNOWN:
        return replace(told, how=summary.why or "its summary counts no test that passed")
    if summary.verdict is Verdict.FAILED:
        if proven:
            return replace(told, how="its summary counts failures, but its exit code is 0")
        if foreign and not blamed:
            return replace(told, how="the summary in the output may be another run's")
        return replace(told, verdict=Verdict.FAILED, how=summary.why or "its own summary")
    return _passed(told, run, text, code, proven=proven, blamed=blamed, foreign=foreign)


def _passed(
    told: TestRun, run: Started, text: str, code: int | None, *, proven: bool, blamed: bool, foreign: bool
) -> TestRun:
    """The summary names no failure: is that enough?"""
    command = run.program.command
    doubt = ""
    if blamed:
        doubt = "its summary counts no failure, but it did not end with exit code 0"
    elif not proven and (foreign or command.into_file):
        doubt = "the summary in the output may be another run's"
    elif not proven and command.repeated:
        doubt = "it ran in a loop, and a run that crashed would leave no summary"
    elif not proven and run.runner.reader is None:
        doubt = "its script's own exit code is not known"
    elif not proven and run.runner.reader in ("go test", "cargo test") and _loses_lines(run, text):
        doubt = "its output was filtered, so a failure may not be shown"
    if doubt:
        return replace(told, how=doubt)
    return replace(told, verdict=Verdict.PASSED, how="its own summary and exit code 0" if proven else "its own summary")


def _loses_lines(run: Started, text: str) -> bool:
    command = run.program.command
    names = {words[0].rpartition("/")[2] for words in command.after}
    if names & _PER_LINE:
        return True
    shortened = bool(names & {"tail"}) or CUT.search(text) is not None
    return run.runner.reader == "cargo test" and command.no_errors and shortened


def _by_status(named: TestRun, run: Started, text: str, code: int | None, *, proven: bool, blamed: bool) -> TestRun:
    """No summary: the exit status of the right part, where it is known and the program's means something."""
    if run.runner.reader is None:
        return _by_status_and_words(named, text, proven=proven, blamed=blamed and code not in _NO_VERDICT)
    known = code is not None and (proven or blamed)
    if not known:
        return replace(named, how="it printed no summary, and its exit code is not known")
    said = _NEVER_RAN.search(text) is not None
    meaning = run.runner.exits.get(1 if code == -1 else code or 0)
    if meaning is None or said or code in _NO_VERDICT:
        return replace(named, how=f"it printed no summary{f'; exit code {code}' if code != -1 else ''}")
    if meaning and _BAD.search(text):
        return replace(named, how="it printed no summary, but errors")
    verdict = Verdict.PASSED if meaning else Verdict.FAILED
    return replace(named, verdict=verdict, how=f"exit code {code}" if code != -1 else "its exit code")


def _by_status_and_words(named: TestRun, text: str, *, proven: bool, blamed: bool) -> TestRun:
    """A program whose summary isn't read here, or a script: exit status and output must agree."""
    if proven and (good := _GOOD.search(text)) and not _BAD.search(text):
        return replace(
            named, verdict=Verdict.PASSED, summary=good[0], how="exit code 0, and its output names no failure"
        )
    if blamed and not _NEVER_RAN.search(text) and (bad := _BAD.search(text)):
        return replace(named, verdict=Verdict.FAILED, summary=bad[0], how="its exit code and its output")
    return replace(named, how="its output and exit code don't settle it")


def _is_harmless(words: tuple[str, ...]) -> bool:
    return bool(words) and words[0] in _HARMLESS
