import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

GitTool = Callable[..., str]


@pytest.fixture(scope="module")
def git(tmp_path_factory: pytest.TempPathFactory) -> GitTool:
    """Runs the real git in a directory, with no configuration but its own, and returns what it prints."""
    home = tmp_path_factory.mktemp("git-home")
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    options = [
        "user.name=Ada", "user.email=ada@example.org", "init.defaultBranch=main", "protocol.file.allow=always",
        "commit.gpgSign=false", "gc.auto=0",
    ]  # fmt: skip

    def run(where: Path, *args: str) -> str:
        where.mkdir(parents=True, exist_ok=True)
        command = ["git", *(part for option in options for part in ("-c", option)), *args]
        done = subprocess.run(command, cwd=where, env=env, capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="module")
def repo(git: GitTool) -> Callable[..., Path]:
    """Makes a repository with one commit, and a remote where a URL is given."""

    def make(where: Path, url: str | None = None) -> Path:
        git(where, "init", "-q")
        git(where, "commit", "-q", "--allow-empty", "-m", "first")
        if url:
            git(where, "remote", "add", "origin", url)
        return where

    return make
