"""The composition root: what is built, what runs, who owns what, and how it starts and stops.

`build.build` makes the object graph and is the tour of the architecture; `tasks.TASKS` is the table of everything that
runs for long; `serve` ties them to sockets, signals and the instance lock.
"""

from aimemory.daemon.serve import serve

__all__ = ["serve"]
