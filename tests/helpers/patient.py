"""aimemory's own command line with a minute for each brief, so that a busy machine changes no text: `patient.py serve`."""

import sys

from aimemory.server import reply

reply._LATE_NS = 60_000_000_000
reply._READ_UNTIL_S = 30.0

from aimemory.__main__ import main  # noqa: E402 - after the limits

sys.argv[0] = "aimemory"
sys.exit(main())
