"""One version of each agent: recorded in its data file, run end to end, and named in the docs."""

import json
import re
from pathlib import Path

import pytest

from aimemory.harness.registry import load_registry

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "tests" / "e2e" / "programs"
PACKAGES = {"claude-code": "@anthropic-ai/claude-code", "codex": "@openai/codex"}


@pytest.mark.parametrize("harness", PACKAGES)
def test_the_version_that_is_run_is_the_one_that_the_data_file_was_verified_with(harness):
    wanted = json.loads((PROGRAMS / "package.json").read_text())["dependencies"][PACKAGES[harness]]

    assert wanted == load_registry().get(harness).verified.version
    assert wanted in (ROOT / "docs/testing.md").read_text(encoding="utf-8")


def test_what_is_fetched_has_checksums_and_comes_from_whatever_registry_npm_is_set_to():
    lock = json.loads((PROGRAMS / "package-lock.json").read_text())

    fetched = [package for name, package in lock["packages"].items() if name]
    assert fetched and all(re.match("sha512-", package["integrity"]) for package in fetched)
    assert not [package for package in fetched if "resolved" in package]
