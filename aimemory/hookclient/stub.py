"""The script that the hook launcher runs: finds the package, calls `main.run`, leaves with status 0 whatever happened.

A stub, because Python caches compiled modules but never the script itself.
"""

import sys

try:
    import posix
except ImportError:
    import os as posix  # type: ignore[no-redef]

try:
    # `-I -S` leaves neither this folder nor the package on the path. Imported from its folder, not as part of the
    # package, which saves 0.3 ms; the package then comes last, so that nothing beside it shadows the library.
    root, package, client, _ = __file__.rsplit("/", 3)
    sys.path.insert(0, f"{root}/{package}/{client}")
    from main import run  # type: ignore[import-not-found]

    sys.path[:] = [*sys.path[1:], root]
    run(sys.argv[1:])
except BaseException:
    pass
finally:
    posix._exit(0)  # skips the interpreter's teardown
