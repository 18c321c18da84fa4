"""The hook settings that docs/hooks.md shows, made from the harnesses' data files.

`python tests/helpers/hook_settings.py` writes them into the page; a guard compares the two.
"""

import re
from pathlib import Path

from aimemory.harness.registry import load_registry

PAGE = Path(__file__).parents[2] / "docs" / "hooks.md"
LAUNCHER = "/home/you/.local/share/aimemory/bin/hook"


def settings(harness: str) -> str:
    """What goes into the harness's hook file, as JSON with one event a line."""
    lines = []
    for row in load_registry().get(harness).events.values():
        if row.register:
            matcher = f'"matcher": "{row.matcher}", ' if row.matcher else ""
            hook = f'{{"type": "command", "timeout": {row.timeout_s}, "command": "{LAUNCHER} {harness} {row.name}"}}'
            lines.append(f'    "{row.name}": [{{{matcher}"hooks": [{hook}]}}]')
    return '{\n  "hooks": {\n' + ",\n".join(lines) + "\n  }\n}\n"


def page(text: str) -> str:
    """The page with the settings of today."""
    for harness in ("claude-code", "codex"):
        pattern = rf"(<!-- settings of {harness} -->\n```json\n).*?(```\n)"
        text = re.sub(pattern, lambda m, h=harness: m[1] + settings(h) + m[2], text, flags=re.DOTALL)
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
