"""File systems that are soon full, and filling them."""

import subprocess
from pathlib import Path

import pytest


def alone_on(place: Path, options: str, after: str = "") -> list[str]:
    """A command's beginning: what follows it runs where a tmpfs lies at `place`, which nobody else sees.

    options: of the mount. after: a shell's command for when it has ended. Skips where the kernel lets nobody mount.
    """
    then = f"; code=$?; {after}; exit $code" if after else ""
    alone = ["unshare", "-rm", "/bin/sh", "-c", f"mount -t tmpfs -o {options} tmpfs '{place}' && \"$@\"{then}", "sh"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this kernel lets nobody mount a file system of his own")
    return alone


def fill(file: Path) -> None:
    """Write into a file until the disk takes nothing more."""
    with file.open("wb", buffering=0) as filler, pytest.raises(OSError):
        while True:
            filler.write(bytes(4096))
