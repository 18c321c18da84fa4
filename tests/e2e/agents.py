"""Claude Code and Codex as a user has them: configured, connected to the memory, and run."""

import json
import subprocess

from programs import Programs
from terminal import Terminal
from world import PORT, Running, World

CLAUDE_ENV = {
    "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{PORT}",
    "ANTHROPIC_AUTH_TOKEN": "not-a-key",  # the variable for API keys would make the terminal ask about it
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
}
CODEX_ENV = {"STANDIN_KEY": "not-a-key"}
CODEX_CONFIG = """\
model = "gpt-5.5"  # a name it knows, or it offers no tool for patches
model_provider = "standin"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.standin]
name = "standin"
base_url = "http://127.0.0.1:{port}/v1"
env_key = "STANDIN_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false

[feedback]
enabled = false

[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"  # asked and answered: the terminal does not advertise another model

[projects."{project}"]
trust_level = "trusted"
"""


def configure(world: World) -> None:
    """What each agent finds in a HOME where it was used before."""
    (world.home / ".claude").mkdir()
    allowed = {"permissions": {"allow": ["Bash", "Edit", "Write", "Read"]}}
    (world.home / ".claude/settings.json").write_text(json.dumps(allowed, indent=2) + "\n")
    trusted = {str(world.project): {"hasTrustDialogAccepted": True}}
    known = {"hasCompletedOnboarding": True, "theme": "dark", "projects": trusted}
    (world.home / ".claude.json").write_text(json.dumps(known))
    (world.home / ".codex").mkdir()
    (world.home / ".codex/config.toml").write_text(CODEX_CONFIG.format(port=PORT, project=world.project))


def settings(world: World) -> dict[str, bytes | None]:
    """The bytes of every file that connecting may change, as they are now."""
    paths = [world.home / name for name in (".claude/settings.json", ".codex/hooks.json", ".codex/config.toml")]
    return {path.name: path.read_bytes() if path.exists() else None for path in paths}


def install_hooks(world: World) -> None:
    """Connect both agents to the memory, as a user does."""
    said = world.aimemory("connect", "--apply")
    assert said.count("is in the journal") == 2, said


class Agent:
    """One of the two: how it is run without a terminal, and in one."""

    def __init__(self, world: World, program: str, env: dict[str, str], headless: list[str]) -> None:
        self._world, self._program, self._env, self._headless = world, program, env, headless

    def run(self, prompt: str, *more: str) -> subprocess.CompletedProcess[str]:
        """One headless run to its end."""
        done = self._world.run([self._program, *self._headless, *more, prompt], **self._env)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def start(self, prompt: str) -> Running:
        return self._world.start([self._program, *self._headless, prompt], **self._env)

    def terminal(self, *more: str) -> Terminal:
        return Terminal(self._world.command([self._program, *more], **self._env))


class Claude(Agent):
    def __init__(self, world: World, programs: Programs) -> None:
        super().__init__(world, str(programs.claude), CLAUDE_ENV, ["-p"])

    def run_on(self, prompt: str) -> subprocess.CompletedProcess[str]:
        """Continue the last session of the directory, headless."""
        return self.run(prompt, "-c")

    def ready(self, terminal: Terminal) -> None:
        """Wait until the terminal takes prompts."""
        terminal.wait("? for shortcuts")


class Codex(Agent):
    def __init__(self, world: World, programs: Programs) -> None:
        super().__init__(world, str(programs.codex), CODEX_ENV, ["exec", "--dangerously-bypass-hook-trust"])

    def run_on(self, prompt: str) -> subprocess.CompletedProcess[str]:
        """Continue the last session of the directory, headless."""
        return self.run(prompt, "resume", "--last")

    def ready(self, terminal: Terminal) -> None:
        """Trust the hooks, as a user does at the first start with them, and wait until the terminal takes prompts."""
        terminal.wait("Hooks need review")
        terminal.press_until("2", lambda: "› 2. Trust all" in terminal.text, "the second choice is marked")
        terminal.press("\r")
        terminal.wait("Ask Codex to do anything")
