"""What the kernel does and knows about names of files, beyond Python's own calls: exchange two, and who writes to one.

Not in `datadir`: ctypes takes longer to import than a hook may run.
"""

import ctypes
import errno
import fcntl
import os
import signal
from pathlib import Path

_AT_FDCWD = -100 if os.uname().sysname == "Linux" else -2
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
_CANNOT = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


def exchange(one: Path | str, other: Path | str, folder: int | None = None) -> bool:
    """Exchange what two names stand for in one step, so that a kill leaves the one or the other, never nothing.

    Returns False where the system or the file system can't. Raises OSError otherwise.

    folder: descriptor of the directory that relative names are looked up in.
    """
    library = ctypes.CDLL(None, use_errno=True)
    call = getattr(library, "renameat2", None) or getattr(library, "renameatx_np", None)
    if call is None:
        return False
    where = _AT_FDCWD if folder is None else folder
    if call(where, os.fsencode(one), where, os.fsencode(other), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(one))


def has_writer(name: str, folder: int) -> bool:
    """Whether a process has the file open for writing; False where that can't be known.

    A lease tells: the kernel gives none while there is a writer.
    """
    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:  # a link, a socket: no page
        return False
    try:
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)  # if it is broken, a signal that does nothing: SIGIO kills
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        return False
    except OSError as error:  # others: a file system without leases, another owner's file
        return error.errno == errno.EAGAIN
    finally:
        os.close(fd)
