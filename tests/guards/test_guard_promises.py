"""docs/PROMISES.md and the tests name the same statements."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def statements():
    text = (ROOT / "docs" / "PROMISES.md").read_text(encoding="utf-8")
    return re.findall(r"^- \*\*(P\d+\.\d+)\*\* ", text, re.MULTILINE), re.findall(
        r"^- \*(P\d+\.\d+)\* ", text, re.MULTILINE
    )


def named_by_tests():
    found = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "promise":
                for argument in node.args:
                    found.setdefault(argument.value, []).append(path.name)
    return found


def test_every_statement_is_held_by_a_test():
    held, _ = statements()

    assert not set(held) - set(named_by_tests())


def test_every_promise_that_a_test_names_is_a_statement():
    held, _ = statements()

    assert not set(named_by_tests()) - set(held)


def test_no_statement_is_made_twice():
    held, gaps = statements()

    assert len(held + gaps) == len(set(held + gaps))


def test_each_of_the_twelve_promises_has_a_statement_or_says_why_not():
    held, gaps = statements()

    assert {int(s[1:].split(".")[0]) for s in held + gaps} == set(range(1, 13))
