"""Gathers what the checks look at. The same for the command line, which stands outside, and the daemon, which looks at
itself for an agent that asks."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aimemory import __version__
from aimemory.config import Config
from aimemory.doctor.finding import Records, SelfTested, Situation
from aimemory.doctor.known import is_detected, known_agents, launchers
from aimemory.errors import AimemoryError
from aimemory.facts.transcript.find import listing
from aimemory.harness.registry import load_registry
from aimemory.install.agent import Agent
from aimemory.install.record import read_record
from aimemory.install.state import state_of


def look(
    config: Config,
    *,
    status: Mapping[str, Any] | None,
    silence: str = "",
    config_problem: str | None = None,
    cwd: str | None = None,
    place: Mapping[str, Any] | None = None,
    tests: Sequence[SelfTested] = (),
    deep: bool = False,
) -> Situation:
    """Reads agents' settings and lists transcripts. For the arguments see `Situation`. Never raises AimemoryError."""
    registry = load_registry()
    written = read_record(config.data.connect_record)
    agents: list[Agent] = []
    try:
        agents = [agent for agent in known_agents(config, registry).agents.values() if is_detected(agent)]
    except AimemoryError as error:  # a variable that names no place
        config_problem = config_problem or str(error)
    places = launchers(config)
    return Situation(
        config=config, config_problem=config_problem, status=status, silence=silence,
        states=[state_of(agent, places, written) for agent in agents], agents=agents,
        connected=tuple(written), records=_records(config), tests=tests,
        reply_events=registry.reply_events(), cwd=Path(cwd) if cwd else None, place=place,
        version=__version__, now_ns=time.time_ns(),
        deep=deep,
    )  # fmt: skip


def _records(config: Config) -> list[Records]:
    """When each agent wrote its latest transcript."""
    found = []
    for spec in load_registry().specs.values():
        if spec.transcript is None:
            continue
        files = listing([spec.transcript], config.home, config.harness_env).files  # the youngest first
        newest_ns, path = files[0][:2] if files else (None, None)
        found.append(Records(spec.id, spec.title, newest_ns, path))
    return found
