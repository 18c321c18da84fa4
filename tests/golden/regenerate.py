"""Write the golden pages and briefs anew: `python tests/golden/regenerate.py` from the checkout, then read the diff."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parents[1] / "helpers")]

import situations  # noqa: E402
from golden_cases import HERE, golden_texts  # noqa: E402


def main() -> None:
    wanted = golden_texts()
    for pattern in ("session-*.md", "brief-*.txt"):
        for stale in set(HERE.glob(pattern)) - {HERE / name for name in wanted}:
            stale.unlink()
    for name, text in wanted.items():
        (HERE / name).write_text(text, encoding="utf-8", newline="\n")
    played = situations.regenerate()
    print(f"{len(wanted) + played} golden files written to {HERE}")


if __name__ == "__main__":
    main()
