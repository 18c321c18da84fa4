"""The launchers that agents' settings name: are they there, and do they run this program?"""

import os
import re
import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from aimemory.doctor.finding import Finding, Level, Situation
from aimemory.install.launchers import PACKAGE, hook_script, interpreter, write_launchers

_RUNS = re.compile(r"^p=('(?:[^'\n]|'\\'')*') s=('(?:[^'\n]|'\\'')*')", re.MULTILINE)
_VERSION = re.compile(r'^__version__ = "([^"]+)"', re.MULTILINE)


def check_launchers(situation: Situation) -> Iterator[Finding]:
    """The first thing that is wrong, or that nothing is."""
    data = situation.config.data
    rewrite = partial(
        write_launchers, data, situation.reply_events, spool_bytes=situation.config.storage.spool_bytes
    )  # fmt: skip
    for path in (data.hook_launcher, data.mcp_launcher):
        if not os.access(path, os.X_OK):
            yield Finding(
                "files.launchers", Level.FAILURE, "A launcher that agents' settings name is missing or can't be run.",
                str(path), fix="aimemory restart", repair=rewrite,
            )  # fmt: skip
            return
        found = _RUNS.search(text := path.read_text(encoding="utf-8", errors="surrogateescape"))
        if found is None:
            yield Finding(
                "files.launchers", Level.FAILURE, "A launcher is not what aimemory writes.", str(path),
                fix="aimemory restart", repair=rewrite,
            )  # fmt: skip
            return
        python, script = (Path(shlex.split(word)[0]) for word in found.groups())
        gone = next((one for one in (python, script) if not one.exists()), None)
        if gone is not None:
            yield Finding(
                "files.launchers", Level.FAILURE,
                "The program that a launcher runs is gone: hooks end at once, and nothing is kept.",
                f"{path} runs {gone}", fix="aimemory restart", repair=rewrite,
            )  # fmt: skip
            return
        if PACKAGE not in script.parents:
            yield Finding(
                "files.launchers", Level.WARNING, "The launchers run another installation than this program.",
                f"{path} runs {script.parents[1]}, version {_version(script.parents[1])}; this is {situation.version} "
                f"in {PACKAGE}", fix="aimemory restart, with the one that you mean",
            )  # fmt: skip
            return
        if python.resolve() != interpreter().resolve():
            yield Finding(
                "files.launchers", Level.WARNING, "A launcher runs another interpreter than this program.",
                f"{path} runs {python}, this is {interpreter()}", fix="aimemory restart", repair=rewrite,
            )  # fmt: skip
            return
        if path == data.hook_launcher and text.encode("utf-8", "surrogateescape") != hook_script(
            python, script, data.root, data.socket, situation.reply_events, situation.config.storage.spool_bytes
        ):
            yield Finding(
                "files.launchers", Level.WARNING, "The hook launcher was edited, or another version wrote it.",
                str(path), fix="aimemory restart", repair=rewrite,
            )  # fmt: skip
            return
    yield Finding("files.launchers", Level.OK, "The launchers are in place and run this program.", str(data.bin))


def _version(package: Path) -> str:
    try:
        found = _VERSION.search((package / "__init__.py").read_text(encoding="utf-8"))
    except OSError:
        found = None
    return found[1] if found else "unknown"
