"""`aimemory demo` as a newcomer runs it: in a folder of its own, with nothing left behind."""

import os
import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.alone


def test_the_demo_shows_a_false_and_a_true_claim_and_leaves_nothing(tmp_path):
    home, temp = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temp.mkdir()
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "TMPDIR": str(temp), "LANG": "C.UTF-8"}
    done = subprocess.run(
        [sys.executable, "-I", "-m", "aimemory", "demo"],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    told = [re.sub(r"\s+(?:│\s+)?", " ", part) for part in done.stdout.split("\n──")]
    first, second = [part for part in told if "is offered to you" in part]
    assert "FAILED (failures=1, errors=1)" in first and "test_total_of_two" in first and "all tests pass" in first
    assert "passed: 2 passed" in second and "It continues handoff" in second and "all tests pass" in second
    assert re.search(r"was taken by codex .*\n.* is done: its receiver used it and closed", done.stdout)
    assert [path for path in temp.rglob("*") if path.name != f"aimemory-{os.getuid()}"] == []
    assert list(home.iterdir()) == []
