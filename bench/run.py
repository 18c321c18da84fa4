"""Runs every benchmark of this folder in turn (`make bench`). Prints JSON lines; docs/benchmarks.md explains them."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    """Each in its own process, so that one's memory and caches don't help the next."""
    for script in sorted(HERE.glob("*.py")):
        if script.name in ("run.py", "recall.py") or script.name.startswith("_"):
            continue
        print(f"# {script.name}", flush=True)
        subprocess.run([sys.executable, str(script)], check=True)


if __name__ == "__main__":
    main()
