"""`preview`: what the next agent would be told here, out of the transcripts that are on this machine already.

Only reads: no hooks, no daemon, nothing in the data directory.
"""

import asyncio
import os.path
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import PurePath

import click

from aimemory.brief.fill import fill
from aimemory.brief.parts import BriefSession, last_session_parts, other_sessions_part
from aimemory.cli.output import clean, examples, json_option, note, print_json, translated
from aimemory.cli.pages import here
from aimemory.config import Config, load_config
from aimemory.errors import UserError
from aimemory.facts.known import Unknown
from aimemory.facts.look import look
from aimemory.facts.transcript.find import Candidate, candidates, listing
from aimemory.facts.transcript.locate import roots
from aimemory.facts.transcript.read import Transcript, read_transcript
from aimemory.harness.registry import Registry, load_registry
from aimemory.model.ids import ProjectId
from aimemory.model.protocols import SystemClock, instant
from aimemory.model.session import SessionState
from aimemory.privacy import folders, put_in_force, sanitize, settings
from aimemory.privacy.capture import CaptureRules, stricter
from aimemory.project.bounds import bounds_of
from aimemory.project.resolve import Resolution, Resolver
from aimemory.sessions.enrich import state_of, without_ignored, without_places

_SESSIONS = 6
_OTHERS_S = 1.0
"""How long after the start further sessions are still read: the last one is always, and told whole."""

_OTHERS_BYTES = 16 << 20
_READ_S = 30.0


@dataclass(slots=True)
class _Read:
    """A transcript that was read, or why not."""

    harness: str
    path: str
    changed: str
    bytes: int
    reason: str = ""
    session: str = ""
    lines: int = 0
    skipped: dict[str, int] = field(default_factory=dict)


@click.command(epilog=examples("aimemory preview", "aimemory preview ~/app --json"))
@click.argument("directory", required=False, type=click.Path(exists=True, file_okay=False, resolve_path=True))
@json_option
@translated
def preview(directory: str | None, as_json: bool) -> None:
    """Print what the next agent would be told here, from transcripts alone; nothing has to be set up.

    Reads the newest transcripts of Claude Code and Codex for this directory's project. Writes nothing.
    """
    folder = directory or here()
    if folder is None:
        raise UserError("The working directory does not exist any more. Name another one: aimemory preview DIR")
    config, registry = load_config(), load_registry()
    put_in_force(settings.checked(config.privacy.table()))
    told = _Preview(config, registry, folder)
    told.read()
    text = told.text()
    if as_json:
        reads = [asdict(read) for read in told.reads]
        project = told.here.identity
        print_json(
            {"directory": folder, "project": project, "text": text, "transcripts": reads, "looked_at": told.looked_at}
        )
        return
    told.say()
    if text:
        click.echo(clean(text))


class _Preview:
    """Finds, reads and tells; `reads` is the account of it."""

    def __init__(self, config: Config, registry: Registry, folder: str) -> None:
        self._config = config
        self._registry = registry
        self._folder = folder
        self._resolver = Resolver(config.home, temp_dirs=config.temp_dirs)
        self._began = time.monotonic()
        self.here: Resolution = self._resolver.resolve(folder)
        bounds = bounds_of(self.here, config.home)
        self._off = folders.read(str(config.data.folders_file))
        is_off = any(folders.off_by(self._off, path) is not None for path in (folder, self.here.place))
        self._rules = CaptureRules("off") if is_off else stricter(config.capture.mode, bounds.rules)
        self._bounds = replace(bounds, rules=self._rules)
        self.reads: list[_Read] = []
        self.states: list[tuple[SessionState, str]] = []
        self.looked_at = 0
        self._sources = [spec.transcript for spec in registry.specs.values() if spec.transcript is not None]

    def read(self) -> None:
        """The newest sessions of this project; all but the first only while there is time."""
        if self._rules.mode != "full":
            return
        files = listing(self._sources, self._config.home, self._config.harness_env)
        self.looked_at = len(files.files)
        for candidate in candidates(files, self.here.checkout or self._folder):
            if len(self.states) >= _SESSIONS:
                break
            if candidate.cwd is None or not self._is_here(candidate.cwd):
                continue
            read = _Read(
                self._registry.get(candidate.source.harness).title, candidate.path,
                instant(candidate.changed_ns).astimezone().isoformat(timespec="seconds"), candidate.size,
            )  # fmt: skip
            self.reads.append(read)
            if self.states and (time.monotonic() - self._began > _OTHERS_S or candidate.size > _OTHERS_BYTES):
                read.reason = "an earlier session, left out to answer soon"
                continue
            self._take(candidate, read)
        self.states.sort(key=lambda told: -told[0].last_at_ns)

    def _is_here(self, cwd: str) -> bool:
        """The same rule as for events: what resolves to the same project, wherever in it."""
        if cwd == self._folder:
            return True
        found = self._resolver.resolve(cwd)
        return bool(found.identity) and found.identity == self.here.identity

    def _take(self, candidate: Candidate, read: _Read) -> None:
        session = candidate.session if candidate.source.format != "claude" else PurePath(candidate.path).stem
        found = read_transcript(
            candidate.source, candidate.path, session=session, home=self._config.home, env=self._config.harness_env,
            limit_s=_READ_S,
        )  # fmt: skip
        if isinstance(found, Unknown):
            read.reason = found.reason
            return
        read.session, read.lines = found.report.session or "", found.report.lines
        read.skipped = dict(found.report.skipped)
        state = self._state(found, candidate)
        if state is None or not state.prompt_count:
            read.reason = "nobody asked for anything in it"
            return
        self.states.append((state, candidate.path))

    def _state(self, found: Transcript, candidate: Candidate) -> SessionState | None:
        found = without_places(
            without_ignored(found, self._bounds, os.path.realpath),
            lambda cwd: folders.off_by(self._off, cwd) is not None,
        )
        return state_of(found, candidate.source.harness, ProjectId("preview"))

    def text(self) -> str:
        """What would be told, as far as transcripts and git know it; "" when that is nothing."""
        if not self.states:
            return ""
        told = [
            BriefSession(state, page=path, harness_name=self._registry.get(state.harness).title)
            for state, path in self.states
        ]
        limit_s = self._config.brief.git_ms / 1000
        git = asyncio.run(look(self.here.checkout, limit_s, SystemClock(), self._config.home))
        parts = [*last_session_parts(told[0], git, here=self._folder), other_sessions_part(told[1:])]
        return sanitize(fill(parts, self._config.brief.chars).text).value

    def say(self) -> None:
        """On standard error: what was read, what was not, and what to do where there is nothing."""
        for read in self.reads:
            size = f"{read.bytes / 1e6:.1f} MB" if read.bytes >= 1e6 else f"{read.bytes / 1e3:.0f} kB"
            what = f"Not read ({read.reason})" if read.reason else f"Read, {read.lines} lines"
            lost = ", ".join(f"{number} {reason}" for reason, number in read.skipped.items())
            note(clean(f"{what}: {read.harness}, {read.changed}, {size}: {read.path}{f'; {lost}' if lost else ''}"))
        if self._rules.mode != "full":
            note(f"Capture of this project is {self._rules.mode}, so its transcripts are not read either.")
        elif not self.states:
            note(
                f"No session of Claude Code or Codex in this project was found: {self.looked_at} transcripts lie in "
                f"{', '.join(self._places())}. Work with one of them here first, or name another directory."
            )

    def _places(self) -> list[str]:
        home, env = self._config.home, self._config.harness_env
        return [str(root) for source in self._sources for root in roots(source, home, env)]
