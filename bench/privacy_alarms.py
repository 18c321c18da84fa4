"""How often the privacy boundary redacts something in files that hold nobody's secrets: source, lock files, docs, logs.

Reads what is installed on this machine, up to `--mb` of each class, in the order of its names, each file as a tool's
output would hold it. Prints one JSON line for each class and kind with its redactions per MB, one for all, and how many
of them struck a hash, a UUID or an integrity digest, which is always wrong. What the redactions are, `--show` tells: they
are looked at by hand, since examples of passwords in manuals and keys in test suites are rightly redacted.
Run: python bench/privacy_alarms.py [--mb 40] [--show] [ROOT…]
"""

import argparse
import json
import re
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from aimemory.privacy.find import secret_spans
from aimemory.privacy.prefilter import active
from aimemory.privacy.rules import DEFAULT
from aimemory.privacy.scrub import repair

REPOSITORY = Path(__file__).parents[1]
CLASSES: dict[str, tuple[Path, ...]] = {
    "standard library": (Path(sysconfig.get_paths()["stdlib"]),),
    "installed packages": tuple(Path(p) for p in sys.path if p.endswith("site-packages")),
    "system Python": (Path("/usr/lib/python3"), Path("/usr/lib/python3.11"), Path("/usr/lib/python3.12")),
    "C and C++ headers": (Path("/usr/include"),),
    "JavaScript": (Path("/usr/lib/node_modules"), Path("/usr/share/nodejs")),
    "documentation": (Path("/usr/share/doc"), Path("/usr/share/perl"), Path("/usr/share/perl5")),
    "lock files": (REPOSITORY / "tests/e2e/programs", Path("/usr/share/cargo")),
    "logs": (Path("/var/log"), Path("/var/lib/dpkg/info")),
}
SKIPPED = {".pyc", ".so", ".gz", ".png", ".jpg", ".gif", ".ico", ".woff", ".woff2", ".ttf", ".zip", ".whl", ".a", ".o", ".mo", ".xz", ".exe", ".pdf", ".node", ".wasm"}  # fmt: skip
MOST_BYTES = 2_000_000
DIGEST = re.compile(r"(?:0x)?[0-9a-fA-F]{32,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|(?:sha(?:1|256|384|512)|md5|h1)[-:=][A-Za-z0-9+/=]{20,}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=float, default=40, help="most of each class, in MB")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("roots", nargs="*", type=Path)
    given = parser.parse_args()
    classes = {str(root): (root,) for root in given.roots} or CLASSES
    whole = Counter[str]()
    size_of_all = digests = 0
    for name, roots in classes.items():
        kinds, size = Counter[str](), 0
        for path, text in texts(roots, int(given.mb * 1e6)):
            size += len(text.encode())
            for span in secret_spans(text, DEFAULT, active(text, DEFAULT)):
                kinds[span.kind] += 1
                struck = text[span.start : span.end]
                digests += DIGEST.fullmatch(struck) is not None
                if given.show:
                    line = text[max(0, span.start - 60) : span.start], struck[:120], text[span.end : span.end + 40]
                    print(json.dumps([name, span.kind, str(path), *line], ensure_ascii=False))
        if size:
            report(name, size, kinds)
        whole += kinds
        size_of_all += size
    report("all", size_of_all, whole, hashes_uuids_digests=digests)


def texts(roots: tuple[Path, ...], most: int) -> Iterator[tuple[Path, str]]:
    """Files that are text, in the order of their names, up to so many bytes in all."""
    for root in roots:
        for path in sorted(root.rglob("*")):
            if path.suffix in SKIPPED or ("site-packages" in path.parts and "site-packages" not in root.parts):
                continue
            try:
                if path.is_symlink() or not path.is_file() or path.stat().st_size > MOST_BYTES:
                    continue
                raw = path.read_bytes()
            except OSError:
                continue
            if b"\0" in raw[:4096]:
                continue
            most -= len(raw)
            if most < 0:
                return
            yield path, repair(raw.decode("utf-8", "replace"))


def report(name: str, size: int, kinds: Counter[str], **more: int) -> None:
    total = kinds.total()
    row = {"bench": "privacy_alarms", "name": name, "mb": round(size / 1e6, 1), "redactions": total, "per_mb": round(total / size * 1e6, 3)}  # fmt: skip
    print(json.dumps({**row, "without_private_keys_per_mb": round((total - kinds["private-key"]) / size * 1e6, 3), "kinds": dict(kinds.most_common()), **more}), flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
