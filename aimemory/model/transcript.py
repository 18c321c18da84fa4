"""A harness's own record of a session: where such records lie, and what reading one came to."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TranscriptSource:
    """Where a harness keeps its transcripts and how they read; data of its `harness.toml`.

    format: name of the reader. home: the harness's folder (`~/.codex`), which the variable `home_variable` may move.
    folders: below it.
    """

    harness: str
    format: str
    home: str
    folders: tuple[str, ...]
    home_variable: str | None = None


@dataclass(slots=True)
class TranscriptReport:
    """What was read. lines: all; records: those understood, also such as carry nothing.

    skipped: reason → lines that were not used. unknown: type → records of types that the reader doesn't know.
    tokens: kind → number, for the whole session. first_ns, last_ns: times of the first and the last record.
    last_words, last_words_ns: the agent's latest text, whether or not its turn ended. title: as the harness has it.
    """

    format: str = ""
    bytes: int = 0
    lines: int = 0
    records: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    session: str | None = None
    cwd: str | None = None
    model: str | None = None
    version: str | None = None
    first_ns: int | None = None
    last_ns: int | None = None
    last_words: str | None = None
    last_words_ns: int = 0

    @property
    def is_understood(self) -> bool:
        """False for a file with content in a layout that nobody here knows: that is not an empty session."""
        return self.records > 0 or self.lines == 0

    def skip(self, reason: str) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + 1
