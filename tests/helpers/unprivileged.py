"""Files that are closed to us, also as root. Run: `unprivileged.py PROGRAM ARGUMENT ...`, or use `bound_by_modes`."""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

CAPBSET_DROP = 24  # prctl(2)
VERSION_3 = 0x20080522  # capset(2)
DAC_OVERRIDE, DAC_READ_SEARCH = 1, 2  # capabilities(7)
RIGHTS = (DAC_OVERRIDE, DAC_READ_SEARCH)


def called(name: str, *arguments: object) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments):
        raise OSError(ctypes.get_errno(), "Root can't give up its right to read every file here")


@contextmanager
def bound_by_modes() -> Iterator[None]:
    """In this thread modes of files apply, as to anybody who isn't root; not to programs that it starts."""
    head, now = (ctypes.c_uint32 * 2)(VERSION_3, 0), (ctypes.c_uint32 * 6)()
    called("capget", head, now)
    less = (ctypes.c_uint32 * 6)(*now)
    less[0] &= ~sum(1 << right for right in RIGHTS)  # the first half of what is in effect; what is permitted stays
    called("capset", head, less)
    try:
        yield
    finally:
        called("capset", head, now)


if __name__ == "__main__":
    if os.geteuid() == 0:
        for right in RIGHTS:
            called("prctl", CAPBSET_DROP, right, 0, 0, 0)
    os.execv(sys.argv[1], sys.argv[1:])  # what root may do from here on is bounded by what is left
