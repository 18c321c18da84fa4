"""aimemory's own command line with something happening at its named points: `with_points.py CONTROL serve`.

CONTROL is a file of JSON, or absent: `{"point", "do", "nth", "times"}`. From the nth reaching on after it was written,
`do` happens: `kill` ends this process as SIGKILL does, `EIO` and the like raise that OSError, so many `times` (0: until
the file is gone). Beside it, `CONTROL.seen` lists the points that were reached.
"""

import errno
import json
import os
import signal
import sys
import threading
import time

from aimemory import points
from aimemory.server import reply

CONTROL = sys.argv.pop(1)
_lock = threading.Lock()
_seen: set[str] = set()
_counts: dict[str, int] = {}


def at(name: str) -> None:
    with _lock:
        if name not in _seen:
            _seen.add(name)
            with open(CONTROL + ".seen", "a", encoding="ascii") as file:
                file.write(f"{name}\n")
        try:
            with open(CONTROL, encoding="ascii") as file:
                text = file.read()
        except OSError:
            return
        told = json.loads(text)
        if told["point"] != name:
            return
        count = _counts[text] = _counts.get(text, 0) + 1
        if count < told["nth"] or 0 < told["times"] <= count - told["nth"]:
            return
        with open(CONTROL + ".done", "a", encoding="ascii") as file:
            file.write(f"{name}\n")
    if told["do"] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)  # the signal may reach another thread first
    number = getattr(errno, told["do"])
    raise OSError(number, os.strerror(number))


points.reached = at
reply._LATE_NS = 60_000_000_000  # on a busy machine a brief must still get as far as its points

if __name__ == "__main__":
    from aimemory.__main__ import main

    main()
