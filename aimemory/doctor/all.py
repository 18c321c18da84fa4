"""Every check, in the order in which a reader wants to know."""

from aimemory.doctor.agents import check_agents
from aimemory.doctor.daemon import check_daemon
from aimemory.doctor.files import check_files
from aimemory.doctor.finding import Finding, Level, Situation
from aimemory.doctor.folder import check_folder
from aimemory.doctor.names import check_names
from aimemory.doctor.stores import check_stores

CHECKS = (check_files, check_daemon, check_stores, check_names, check_agents, check_folder)


def examine(situation: Situation) -> list[Finding]:
    """All findings. A check that breaks is a finding of its own: the others still tell what they see."""
    found: list[Finding] = []
    for check in CHECKS:
        try:
            found += check(situation)
        except (OSError, KeyError, TypeError, ValueError) as error:
            found.append(
                Finding(f"doctor.{check.__name__}", Level.WARNING, "A check could not be made.", repr(error)[:300])
            )
    return found
