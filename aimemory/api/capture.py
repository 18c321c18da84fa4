"""What capture would keep of an event, and by which line of which file. Changes nothing."""

from collections.abc import Sequence
from os.path import realpath
from typing import Any

from aimemory.config import Config
from aimemory.errors import UserError
from aimemory.model.answers import CaptureVerdict, CaptureView
from aimemory.model.event import Event, EventKind
from aimemory.privacy.capture import Verdict, judge, stricter
from aimemory.privacy.folders import Folders
from aimemory.project.bounds import Bounds
from aimemory.store.projects import Projects

_KEPT = {"full": "kept in full", "metadata": "names, times and outcomes only", "drop": "dropped"}


class CaptureFace:
    """Reached as `Memory.capture`."""

    def __init__(self, *, projects: Projects, folders: Folders, config: Config) -> None:
        self._projects = projects
        self._folders = folders
        self._config = config

    async def explain(
        self, *, cwd: str, paths: Sequence[str] = (), command: str | None = None, tool: str | None = None,
        arguments: Any = None, output: str | None = None,
    ) -> CaptureView:  # fmt: skip
        """The rules that hold in a directory, and what becomes of an event there that names these paths, runs this
        command or calls this tool; without any of them, of one that touches nothing, such as a prompt.

        Raises UserError for a directory that is not absolute, Unavailable for one that doesn't answer.
        """
        if not cwd.startswith("/"):
            raise UserError("Give the directory as an absolute path.")
        bounds = await self._projects.bounds_at(cwd, fresh=True)
        where, how = await self._projects.for_directory(cwd)
        is_call = bool(paths or command or tool or arguments)
        event = Event(
            harness="", event="", kind=EventKind.POST_TOOL if is_call else EventKind.PROMPT, cwd=cwd,
            tool=(tool or "a tool") if is_call else None, command=command, files_read=tuple(paths), input=arguments,
            output=output,
        )  # fmt: skip
        mode = self._config.capture.mode
        rules = stricter(mode, bounds.rules)
        found = await self._projects.aside(lambda: judge(event, rules, bounds.tree, realpath))
        off_by = self._folders.off_by(cwd, await self._projects.place(cwd))
        return CaptureView(
            directory=cwd, project=where.path, project_how=how, file=bounds.file, off_by=off_by,
            settings_mode=mode, settings_file=str(self._config.source) if self._config.source else None,
            rules=bounds.said, problems=bounds.problems,
            work_trees=tuple(dict.fromkeys(filter(None, (bounds.tree.top, *bounds.tree.others)))),
            verdict=self._verdict(found, bounds, rules.mode != bounds.rules.mode, off_by),
        )  # fmt: skip

    def _verdict(self, found: Verdict, bounds: Bounds, by_settings: bool, off_by: str | None) -> CaptureVerdict:
        if off_by is not None:
            return CaptureVerdict("drop", "off", None, None, None, f"dropped: `aimemory off {off_by}` holds here")
        rule = next(
            (one for one in bounds.said if one.setting == found.rule and found.pattern in ("", one.value)), None
        )
        by_mode = found.rule == "mode"
        says_so = (
            rule is not None
            and rule.problem is None
            and (found.pattern or (by_mode and rule.value == bounds.rules.mode))
        )
        line = rule.line if rule is not None and says_so and not by_settings else None
        why = _KEPT[found.level]
        if by_mode and by_settings:
            why += f': capture.mode = "{self._config.capture.mode}" of the settings'
        elif by_mode:
            why += ": mode" if says_so else ": what can't be understood in the file is strict"
        elif found.rule == "only" and found.level == "metadata":
            why += f": {found.path} lies outside of `only`" if found.path else ": it names no path that lies in `only`"
        elif found.rule:
            why += f": {found.path or 'it'} {'lies in' if found.rule == 'only' else 'is taken by'} {found.pattern}"
        if line is not None:
            why += f" ({bounds.file} line {line})"
        return CaptureVerdict(found.level, found.rule or None, found.pattern or None, line, found.path or None, why)
