"""Runs a program to which the modes of files apply, also as root: `unprivileged.py PROGRAM ARGUMENT ...`."""

import ctypes
import os
import sys

CAPBSET_DROP = 24  # prctl(2)
DAC_OVERRIDE, DAC_READ_SEARCH = 1, 2  # capabilities(7)

if os.geteuid() == 0:
    libc = ctypes.CDLL(None, use_errno=True)
    for right in (DAC_OVERRIDE, DAC_READ_SEARCH):
        if libc.prctl(CAPBSET_DROP, right, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "Root can't give up its right to read every file here")
os.execv(sys.argv[1], sys.argv[1:])  # what root may do from here on is bounded by what is left
