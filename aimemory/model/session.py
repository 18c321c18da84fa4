"""A session as the fold over its observations sees it."""

from dataclasses import dataclass, field
from typing import ClassVar

from aimemory.model.ids import ProjectId, SessionId
from aimemory.model.process import Process
from aimemory.model.testrun import TestRun, Verdict


@dataclass(slots=True)
class CommandRun:
    """A shell command that was run, with the outcome of its *last* run.

    failed: None where the harness doesn't tell. count: runs of this very command; failures: those known to have failed.
    error: the end of what a failed run said. printed: the end of the output of a run whose outcome is unknown, which
    is then all the evidence there is. evidence: what the outcome is known from, `observed` or `transcript`.
    tests: keys in `SessionState.tests` of the tests that failed in that run.
    """

    command: str
    at_ns: int
    failed: bool | None
    exit_code: int | None
    error: str = ""
    count: int = 1
    failures: int = 0
    printed: str = ""
    evidence: str = "observed"
    tests: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class TestState:
    """One target of one test program over a session: its *last* run, and the last one whose verdict is known.

    target: with its folder, as shown. folder: relative to the session's, "" for that one. evidence: where the run is
    known from, `observed` or `transcript`.
    cleared_by: target of a later run that passed and included this one.
    """

    __test__: ClassVar[bool] = False  # not a test class, whatever pytest thinks of its name

    target: str
    folder: str
    command: str
    last: TestRun
    known: TestRun | None
    at_ns: int
    evidence: str = "observed"
    count: int = 1
    cleared_by: str | None = None

    @property
    def is_failing(self) -> bool:
        """The last verdict is a failure, and no later run speaks against it."""
        return self.known is not None and self.known.verdict is Verdict.FAILED and self.cleared_by is None


@dataclass(frozen=True, slots=True)
class Todo:
    """An entry of the agent's own list. status: `open`, `in progress` or `done`."""

    text: str
    status: str


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit that git reported in the output of a command. id: abbreviated."""

    id: str
    subject: str


@dataclass(slots=True)
class SessionState:
    """What is known of a session from its observations, without a model.

    goal: the first real prompt; last_request: the latest one. A sub-agent's prompts are neither.
    prompts: the first and the latest ones, each cut to a bound; prompt_count counts all.
    turn_open: the last request's turn has not been reported as ended. turn_error, interrupted: how the last turn ended.
    files_written, files_read: path → number of times, in order of first touch, relative to `cwd` where below it.
    commands: one entry per different command, in order of first run. pending_calls: call → what it was, for calls
    whose result has not been reported.
    tests: by program and shown target, in order of first run. todos: the agent's list as last written. commits: those
    that git reported, in order, each once.
    transcript: what the transcript added, or why it did not; None where nobody asked. from_transcript: some of what is
    listed is known from there alone. tokens: by kind, from there.
    *_more: how often something was touched or run that the bounded collections no longer list.
    first_at_ns, last_at_ns: capture times. worked_at_ns: of the latest request, tool call or answer; 0 without any.
    worked_seq: highest journal position of one, which a late one may have.
    ended_at_ns: the end event (of several the first) that nothing reopened.
    process: the harness's, as the latest event that tells it does; None where it is unknown.
    last_seq: highest journal position folded in. tail_seq: position of the latest by capture time.
    """

    id: SessionId
    harness: str
    native: str
    project: ProjectId
    cwd: str | None = None
    model: str | None = None
    transcript_path: str | None = None
    process: Process | None = None
    first_at_ns: int = 0
    last_at_ns: int = 0
    worked_at_ns: int = 0
    worked_seq: int = 0
    ended_at_ns: int | None = None
    end_reason: str | None = None
    goal: str | None = None
    last_request: str | None = None
    last_message: str | None = None
    turn_open: bool = False
    turn_error: str | None = None
    prompts: list[str] = field(default_factory=list)
    prompt_count: int = 0
    tool_count: int = 0
    tools: dict[str, int] = field(default_factory=dict)
    agents: set[str] = field(default_factory=set)
    compactions: int = 0
    interrupted: bool = False
    files_written: dict[str, int] = field(default_factory=dict)
    files_written_more: int = 0
    files_read: dict[str, int] = field(default_factory=dict)
    files_read_more: int = 0
    commands: dict[str, CommandRun] = field(default_factory=dict)
    commands_more: int = 0
    tests: dict[tuple[str, str], TestState] = field(default_factory=dict)
    todos: tuple[Todo, ...] = ()
    commits: dict[str, Commit] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    other_cwds: set[str] = field(default_factory=set)
    pending_calls: dict[str, str] = field(default_factory=dict)
    last_seq: int = 0
    tail_seq: int = 0
    tokens: dict[str, int] = field(default_factory=dict)
    transcript: str | None = None
    from_transcript: bool = False

    @property
    def did_work(self) -> bool:
        """A prompt, and a tool event or an answer: what "did nothing" denies (design: no handoff for such a one)."""
        return self.prompt_count > 0 and (self.tool_count > 0 or self.last_message is not None)
