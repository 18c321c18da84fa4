"""What happens in more than one story."""

from agents import Agent
from world import World

GOAL = "Round every total to whole cents"
TILL = "def total(prices):\n    return sum(prices)\n"
TEST = "from till import total\n\n\ndef test_total_has_whole_cents():\n    assert total([0.1, 0.2]) == 0.3\n"
FAILING = "test_till.py::test_total_has_whole_cents"
RUN_TESTS = ["run", "pytest -q -p no:cacheprovider"]


def till_with_a_test(world: World) -> None:
    """A program that adds up, and a test that it does not pass."""
    (world.project / "till.py").write_text(TILL)
    (world.project / "test_till.py").write_text(TEST)


def worked(world: World, agent: Agent, prompt: str, path: str) -> None:
    """An earlier session: one headless turn that writes one file."""
    world.model.plan(prompt, ["write", path, "x = 1\n"])
    agent.run(prompt)
