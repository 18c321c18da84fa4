"""Two folders change places in one step, so that a kill leaves one or the other under a name, never nothing.

Not in `datadir`: ctypes takes longer to import than a hook may run.
"""

import ctypes
import errno
import os
from pathlib import Path

_AT_FDCWD = -100
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
_CANNOT = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


def exchange(one: Path, other: Path) -> bool:
    """Exchange what two names stand for; False where the system or the file system can't. Raises OSError otherwise."""
    library = ctypes.CDLL(None, use_errno=True)
    first, second = os.fsencode(one), os.fsencode(other)
    if hasattr(library, "renameat2"):
        code = library.renameat2(_AT_FDCWD, first, _AT_FDCWD, second, _EXCHANGE)
    elif hasattr(library, "renamex_np"):
        code = library.renamex_np(first, second, _EXCHANGE)
    else:
        return False
    if code == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(one))
