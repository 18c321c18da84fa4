"""Docs that can't rot: what the program has, the docs name; what the docs link to, exists."""

import json
import re
from pathlib import Path

import hook_settings
import pytest

from aimemory import __version__
from aimemory.cli.main import COMMANDS, cli
from aimemory.config import OPTIONS
from aimemory.harness.registry import load_registry

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_in_the_reference(name):
    assert re.search(rf"`aimemory {name}\b", text("docs/commands.md"))


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_every_setting_is_documented_with_its_default(option):
    row = re.search(rf"^\| `{option.name}` \|.*$", text("docs/settings.md"), re.MULTILINE)

    assert row and f"`{str(option.default).lower() if option.type is bool else option.default}`" in row[0]


@pytest.mark.parametrize("name", load_registry().names())
def test_every_harness_is_in_the_docs(name):
    assert f"`{name}`" in text("docs/hooks.md")


def test_every_harness_that_can_be_connected_is_on_the_page_about_it():
    for name, spec in load_registry().specs.items():
        if spec.hooks.shape == "matcher-groups":
            assert f"`{name}`" in text("docs/connect.md")
            assert f"| `{spec.hooks.file}` | `{spec.mcp.file}` | `{spec.hooks.home_variable}`" in text(
                "docs/connect.md"
            )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name):
    from click.testing import CliRunner

    def leaves(command, path):
        for sub, child in getattr(command, "commands", {}).items():
            yield from leaves(child, [*path, sub])
        if not hasattr(command, "commands"):
            yield path

    command = cli.get_command(None, name)
    for path in leaves(command, [name]):
        shown = CliRunner().invoke(cli, [*path, "--help"])
        assert shown.exit_code == 0
        assert "Example" in shown.output, path


def test_the_newest_changelog_entry_is_unreleased_or_this_version():
    found = re.findall(r"^## \[([^\]]+)\]", text("CHANGELOG.md"), re.MULTILINE)

    assert found[0] in ("Unreleased", __version__)


def test_docs_never_send_people_to_a_package_of_somebody_else():
    for page in PAGES:
        assert not re.search(r"(pip|pipx|uv tool) install aimemory(?!-local)\b", page.read_text(encoding="utf-8")), page


def test_the_hook_settings_in_the_docs_are_those_of_the_data_files():
    page = hook_settings.PAGE.read_text(encoding="utf-8")

    assert hook_settings.page(page) == page
    for harness in ("claude-code", "codex"):
        assert set(json.loads(hook_settings.settings(harness))["hooks"]) >= {
            "SessionStart",
            "PostToolUse",
            "SessionEnd",
        }
