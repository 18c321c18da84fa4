import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def git(tmp_path: Path) -> Callable[..., str]:
    """Runs the real git in a directory, with no configuration but its own, and returns what it prints."""
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path / "git-home"), "GIT_CONFIG_NOSYSTEM": "1"}
    options = ["user.name=Ada", "user.email=ada@example.org", "init.defaultBranch=main", "protocol.file.allow=always"]

    def run(where: Path, *args: str, code: int = 0) -> str:
        where.mkdir(parents=True, exist_ok=True)
        command = ["git", *(part for option in options for part in ("-c", option)), *args]
        done = subprocess.run(command, cwd=where, env=env, capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == code, done.stderr
        return done.stdout

    return run


@pytest.fixture
def repo(git: Callable[..., str], tmp_path: Path) -> Path:
    """A repository with one commit of two files."""
    top = tmp_path / "app"
    git(top, "init", "-q")
    (top / "a.txt").write_text("one\ntwo\n")
    (top / "b.txt").write_text("bee\n")
    git(top, "add", ".")
    git(top, "commit", "-q", "-m", "First commit")
    return top


@pytest.fixture
def wrapper(tmp_path: Path) -> Callable[[str], str]:
    """Makes a program that is called instead of git; `$GIT` in its text is the real one."""

    def make(script: str) -> str:
        path = tmp_path / "git-wrapper"
        path.write_text(f"#!/bin/sh\nGIT=git\n{script}\n")
        path.chmod(0o755)
        return str(path)

    return make
