"""What must hold whatever an agent does: secrets, processes, settings."""

import os
import signal

import pytest
from agents import settings
from living import all_bytes
from scenes import GOAL, worked
from world import briefs, poll

pytestmark = pytest.mark.e2e

SECRETS = {  # made up, each with a form that its vendor uses
    "AWS_SECRET_ACCESS_KEY=": "q7Gd2vXwPz9LkT4mYc1RbN8sHf3JtE6uAa0ZoKxV",
    "aws_access_key_id = ": "AKIAQX7PZ3MNTR5VW2KL",
    "token: ": "ghp_" + "k3Zp9XwQ7rTn2VbY6mLc4HsJ8dGf1NaUxE5o",
    "DB_PASSWORD=": "tr0ub4dor-and-9-horses",
    "https://ada:": "s3cr3t-Pa55word-ofAda@db.example.invalid/",
}


@pytest.mark.promise("P4.11")
def test_a_secret_that_a_tool_printed_reaches_no_byte_of_the_memory_and_no_other_agent(world, claude, codex):
    (world.project / ".env").write_text("".join(f"{before}{secret}\n" for before, secret in SECRETS.items()))
    for goal in (GOAL, "Once more"):
        world.model.plan(goal, ["run", "cat .env"], ["run", "cat .env >&2; exit 3"], ["say", "I looked at .env."])

    claude.run(GOAL)
    codex.run("Once more")
    claude.run("And now?")
    poll(lambda: len(world.memory.lines("done")) == 3, "all sessions are closed")
    world.aimemory("down")

    seen = str(world.model.requests(GOAL)[-1]["body"]) + str(world.model.requests("Once more")[-1]["body"])
    kept = all_bytes(world.data.root).decode(errors="replace")
    told = "\n".join(text for request in world.model.requests() for text in briefs(request))
    assert "cat .env" in kept and "cat .env" in told
    for secret in map(key, SECRETS.values()):
        assert secret in seen
        assert secret not in kept
        assert secret not in told


def key(secret):
    return secret.partition("@")[0]


@pytest.mark.parametrize("which", ["claude-code", "codex"])
def test_a_daemon_that_a_hook_started_outlives_the_process_groups_of_agent_and_hooks(world, claude, codex, which):
    (first,) = world.daemons()
    os.kill(first, signal.SIGTERM)
    poll(lambda: not world.daemons(), "the daemon is gone")
    world.model.plan(GOAL, ["hang"])

    running = (claude if which == "claude-code" else codex).start(GOAL)
    poll(lambda: world.model.hanging(GOAL), "the agent waits for the model")
    (second,) = poll(world.daemons, "a hook started a daemon")
    poll(world.memory.is_up, "it answers")
    world.namespace.kill_groups(but=second)
    running.wait()

    assert world.memory.is_up() and second in world.daemons()
    poll(lambda: "UserPromptSubmit" in world.events(which), "the prompt is stored")


def test_after_down_no_process_of_the_memory_is_left(world, claude, codex):
    worked(world, claude, GOAL, "till.py")
    worked(world, codex, "Print the receipt", "receipt.py")
    assert world.daemons()

    world.aimemory("down")

    poll(lambda: not world.ours(), "all are gone")


def test_disconnect_gives_back_the_settings_as_they_were(world, settings_before, claude, codex):
    worked(world, claude, GOAL, "till.py")
    worked(world, codex, "Print the receipt", "receipt.py")
    assert settings(world) != settings_before

    world.aimemory("disconnect", "--apply")

    assert settings(world) == settings_before
    assert "aimemory" not in (world.home / ".claude.json").read_text()  # Claude itself writes into it at each run
