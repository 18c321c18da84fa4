"""How many planted secrets get past the privacy boundary, by group and by the place they were planted in.

Every secret goes as an agent would send it: in a prompt, in a tool's input, in its output, in a diff and as part of a
file's name, each a JSON payload through `sanitize_payload`. It counts as missed when half of it or more is left.
Prints one JSON line for each group and place, one for all, and with `--show` every miss.
Run: python bench/privacy_misses.py [--seed 1] [--seeds 3] [--show]
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator

from _forms import NAMELESS
from _planted import Planted, planted

from aimemory.privacy import sanitize_payload


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=3, help="how many seeds, from --seed on")
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    tried: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for seed in range(given.seed, given.seed + given.seeds):
        for item in planted(seed):
            for place, payload in places(item):
                clean = json.dumps(sanitize_payload(json.dumps(payload).encode()).value, ensure_ascii=False)
                got_past = left(item.secret, clean)
                for key in ("all", item.group, f"in: {place}"):
                    tried[key] += 1
                    missed[key] += got_past
                if got_past and given.show:
                    print(json.dumps([item.group, item.form, place, item.secret, item.text], ensure_ascii=False))
    for key in sorted(tried):
        share = round(100 * missed[key] / tried[key], 2)
        print(json.dumps({"bench": "privacy_misses", "name": key, "planted": tried[key], "missed": missed[key], "missed_percent": share}), flush=True)  # fmt: skip


def left(secret: str, clean: str) -> bool:
    """Half of the secret or more stands in a row in what came out; at least six characters."""
    escaped = json.dumps(secret, ensure_ascii=False)[1:-1]
    for form in {secret, escaped}:
        half = max(min(6, len(form)), (len(form) + 1) // 2)
        if any(form[at : at + half] in clean for at in range(len(form) - half + 1)):
            return True
    return False


def places(item: Planted) -> Iterator[tuple[str, object]]:
    """Payloads in the shape of Claude Code's hooks."""
    base = {"session_id": "8c0f4c5e-6d0e-4f59-9a62-1d6c6f6f3a10", "cwd": "/home/dev/app", "permission_mode": "default"}
    tool = {**base, "hook_event_name": "PostToolUse", "tool_use_id": "toolu_01A09q90qw90lq917835lq9"}
    text = item.text
    yield "prompt", {**base, "hook_event_name": "UserPromptSubmit", "prompt": f"Please look at this:\n\n{text}\n\nWhat is wrong?"}  # fmt: skip
    yield "tool input", {**tool, "tool_name": "Bash", "tool_input": {"command": text, "description": "Run it"}, "tool_response": {"stdout": "", "stderr": ""}}  # fmt: skip
    output = f"$ make\n{text}\nmake: *** [Makefile:12: all] Error 2\n"
    yield "tool output", {**tool, "tool_name": "Bash", "tool_input": {"command": "make"}, "tool_response": {"stdout": output, "stderr": ""}}  # fmt: skip
    lines = "\n".join("+" + line for line in text.split("\n"))
    diff = f"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n import os\n{lines}\n-old = 1\n"
    yield "diff", {**tool, "tool_name": "Edit", "tool_input": {"file_path": "/home/dev/app/x"}, "tool_response": {"diff": diff}}  # fmt: skip
    if item.group == "vendor" and item.form not in NAMELESS and re.fullmatch(r"[\w.=:+~-]+", item.secret):
        name = f"/home/dev/app/{item.secret}/notes.md"
        yield "file name", {**tool, "tool_name": "Write", "tool_input": {"file_path": name, "content": "x"}, "tool_response": {"filePath": name}}  # fmt: skip


if __name__ == "__main__":
    main()
