"""The real agents against the real memory. What this machine can't do is said as SKIPPED, with the reason."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import agents
import programs as npm
import world as worlds

_SKIPPED = pytest.StashKey[str]()


@pytest.fixture(scope="session")
def machine(pytestconfig):
    """(the installed agents, how to make a namespace here)."""
    try:
        return npm.programs(), worlds.ways_in()
    except npm.NotHere as reason:
        pytestconfig.stash[_SKIPPED] = str(reason)
        pytest.skip(str(reason))


@pytest.fixture
def alone(tmp_path, machine):
    """A namespace with a model and a running daemon; both agents are configured and know nothing of the memory."""
    made = worlds.World(tmp_path, machine[1])
    try:
        agents.configure(made)
        made.aimemory("up")
        yield made
    finally:
        made.close()


@pytest.fixture
def settings_before(alone):
    """The agents' settings before they were connected."""
    return agents.settings(alone)


@pytest.fixture
def world(alone, settings_before):
    """The same with both agents connected."""
    agents.install_hooks(alone)
    return alone


@pytest.fixture
def claude(world, machine):
    return agents.Claude(world, machine[0])


@pytest.fixture
def codex(world, machine):
    return agents.Codex(world, machine[0])


def pytest_terminal_summary(terminalreporter, config):
    if reason := config.stash.get(_SKIPPED, None):
        terminalreporter.write_line(f"SKIPPED e2e: {reason}")
