"""The daemon's log: what stands in its message, its fields or its traceback passes the privacy boundary."""

import logging
import sys

import pytest

from aimemory.server.logs import SanitizedFormatter

SECRET = "ghp_" + "Zq8R" * 9


@pytest.mark.promise("P4.11")
def test_no_part_of_a_log_line_holds_a_secret() -> None:
    try:
        raise ValueError(f"no such thing: {SECRET}")
    except ValueError:
        record = logging.LogRecord("aimemory", logging.ERROR, "", 0, "at %s", (SECRET,), sys.exc_info())
    record.route = f"/x/{SECRET}"

    text = SanitizedFormatter("%(levelname)s %(message)s").format(record)

    assert text.startswith("ERROR at [redacted:") and "route=/x/[redacted:" in text
    assert "no such thing: [redacted:" in text
    assert SECRET not in text
