"""The real agents, from npm, at the versions and with the checksums of `programs/package-lock.json`.

They are installed once into a cache outside the tree and never run their installers' scripts.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

WANTED = Path(__file__).parent / "programs"
NPM_LIMIT_S = 300
_NPM_CI = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--prefer-offline",
           "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"]  # fmt: skip
_FAULTS = r"\b(?:EINTEGRITY|EUSAGE|EJSONPARSE)\b"
"""What is wrong with what came, or with our own lock file: a failure, not a machine that lacks something."""

_HOME = Path(os.environ.get("HOME") or "/")  # as it is before any test replaces it: npm's own settings lie there
_CACHES = Path(os.environ.get("XDG_CACHE_HOME") or _HOME / ".cache")
CACHE = Path(os.environ.get("AIMEMORY_E2E_CACHE") or _CACHES / "aimemory-e2e")


class NotHere(Exception):
    """Why the agents can't be had or run on this machine: no fault of ours."""


@dataclass(frozen=True, slots=True)
class Programs:
    claude: Path
    codex: Path


def programs() -> Programs:
    """The installed agents, installing them first where the cache has none. Raises NotHere."""
    lock = (WANTED / "package-lock.json").read_bytes()
    place = CACHE / hashlib.sha256(lock).hexdigest()[:16]
    if not place.exists():
        _install(place)
    return Programs(
        claude=_only(place, "node_modules/@anthropic-ai/claude-code-*/claude"),
        codex=_only(place, "node_modules/@openai/codex-*/vendor/*/bin/codex"),
    )


def _only(place: Path, pattern: str) -> Path:
    found = sorted(place.glob(pattern))
    if not found:
        raise NotHere(f"npm has no program for this platform: nothing is at {pattern}")
    return found[0]


def _install(place: Path) -> None:
    if shutil.which("npm") is None:
        raise NotHere("npm is missing")
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix="installing-") as folder:
        made = Path(folder) / "made"
        shutil.copytree(WANTED, made)
        env = {**os.environ, "HOME": str(_HOME), "npm_config_update_notifier": "false"}
        try:
            done = subprocess.run(
                _NPM_CI, cwd=made, env=env, capture_output=True, text=True, timeout=NPM_LIMIT_S, check=False
            )
        except subprocess.TimeoutExpired:
            raise NotHere(f"npm did not finish within {NPM_LIMIT_S} s") from None
        assert not re.search(_FAULTS, done.stderr), done.stderr
        if done.returncode:
            raise NotHere(f"npm could not fetch the agents: {_reason(done.stderr)}")
        try:
            made.rename(place)
        except OSError:
            if not place.exists():  # another run was first
                raise


def _reason(stderr: str) -> str:
    """npm's first sentence that says something."""
    lines = [line.removeprefix("npm error").strip() for line in stderr.splitlines()]
    return next(
        (line for line in lines if line and not re.match(r"(?:code|errno|syscall) ", line)), "it gave no reason"
    )
