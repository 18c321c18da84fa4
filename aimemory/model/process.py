"""A process of the operating system, so named that neither a reused pid nor a reboot passes for it."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Process:
    """The process that a session runs in.

    started: its start in clock ticks since the boot. boot: the kernel's boot and the space in which `pid` counts.
    confirmed: two events of the session came from it. One alone may have been sent through a helper that lived for
    that event only, and whose end says nothing about the session. It takes no part in comparisons.
    """

    pid: int
    started: int
    boot: str
    confirmed: bool = field(default=False, compare=False)

    def as_data(self) -> dict[str, Any]:
        data: dict[str, Any] = {"pid": self.pid, "started": self.started, "boot": self.boot}
        return data | {"confirmed": True} if self.confirmed else data


def process_from_data(data: Any) -> Process | None:
    """Back from `as_data`; None for anything else."""
    if not isinstance(data, dict):
        return None
    pid, started, boot = data.get("pid"), data.get("started"), data.get("boot")
    if type(pid) is not int or type(started) is not int or not isinstance(boot, str):
        return None
    return Process(pid, started, boot, data.get("confirmed") is True)
