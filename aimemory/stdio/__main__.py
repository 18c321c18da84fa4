"""The script that the MCP launcher runs: `python -I -S <this file> <data directory> <socket>`.

A stub, because Python caches compiled modules but never the script itself.
"""

import posix
import sys

# `-I -S` leaves neither this folder nor site-packages on the path. At the end, so nothing shadows the library.
sys.path.append(__file__.rsplit("/", 3)[0])

from aimemory.stdio.shim import run

posix._exit(run(sys.argv[1], sys.argv[2]))  # skips the interpreter's teardown
