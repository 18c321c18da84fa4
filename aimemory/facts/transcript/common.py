"""Small things that every format's decoder needs: values of expected types, times, texts of content blocks."""

from datetime import UTC, datetime

from aimemory.facts.commits import may_commit
from aimemory.facts.testruns import may_run_tests
from aimemory.model.event import Json

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def text_of(value: Json) -> str | None:
    return value if type(value) is str and value else None


def table_of(value: Json) -> dict[str, Json]:
    return value if type(value) is dict else {}


def number_of(value: Json) -> int | None:
    return value if type(value) is int and abs(value) < 2**53 else None


def time_ns(value: Json) -> int | None:
    """Nanoseconds since the epoch of RFC 3339 text; None where it is no such text."""
    if type(value) is not str:
        return None
    try:
        when = datetime.fromisoformat(value)
    except ValueError:
        return None
    since = (when if when.tzinfo else when.replace(tzinfo=UTC)) - _EPOCH
    micros = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    return micros * 1000 if 0 < micros < 2**53 else None


def block_texts(content: Json, *kinds: str) -> list[str]:
    """The texts of content blocks of these types; content that is plain text is one."""
    if type(content) is str:
        return [content]
    if type(content) is not list:
        return []
    return [
        block["text"]
        for block in content
        if type(block) is dict and block.get("type") in kinds and type(block.get("text")) is str
    ]


def wants_output(command: str | None, failed: bool | None) -> bool:
    """Whether anybody will look at what a call printed: failures, unsettled ones, tests, commits.

    Most of a transcript is output of the other kind, and taking that through the privacy boundary is most of the time.
    """
    return failed is not False or (command is not None and (may_run_tests(command) or may_commit(command)))
