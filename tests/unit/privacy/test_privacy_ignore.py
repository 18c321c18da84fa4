"""Patterns as git reads them: held against git itself, and against the words of a shell."""

import random
import subprocess

import pytest
from bounded import is_done_within
from living import git

from aimemory.privacy.ignore import BadPattern, Patterns, parse_pattern, shell_parts

ATOMS = [
    "a",
    "b",
    "*",
    "**",
    "?",
    "[ab]",
    "[!a]",
    "[a-c]",
    "[[:alpha:]]",
    r"\*",
    r"\a",
    ".",
    "x",
    "[^b]",
    "[]a]",
    "[a/b]",
    " ",
]
NAMES = ["a", "b", "ab", "aa", "x", "ax", ".a", "*", "a b", "]", "c", "-"]


def some_pattern(chance):
    def name():
        atoms = [chance.choice(ATOMS) for _ in range(chance.randint(1, 3))]
        # `a**/b`: git takes a literal beginning away first, and reads the rest as `**/b` (against its own manual)
        return "".join(atoms) if "**" not in atoms else "**"

    body = "/".join(name() for _ in range(chance.randint(1, 3)))
    return (
        chance.choice(["!", "", "", ""])
        + chance.choice(["/", "", "", ""])
        + body
        + chance.choice(["/", "", "", " ", "\\ "])
    )


@pytest.mark.promise("P4.130")
@pytest.mark.parametrize("seed", [1, 2])
def test_verdicts_are_those_of_git(tmp_path, seed):
    chance = random.Random(seed)
    git(tmp_path, "init", "-q")
    for _ in range(60):
        patterns = []
        for text in [some_pattern(chance) for _ in range(3)]:
            try:
                patterns += [text] if parse_pattern(text) else []
            except BadPattern as refused:  # of what is made here nothing else may be, or what git takes is refused
                dotted = any(name.strip(" !") in (".", "..") for name in text.split("/"))
                assert str(refused) == "it names nothing" or (dotted and "`..`" in str(refused)), text
        (tmp_path / ".gitignore").write_text("\n".join(patterns) + "\n")
        paths = sorted({"/".join(chance.choice(NAMES) for _ in range(chance.randint(1, 4))) for _ in range(60)})
        asked = subprocess.run(
            ["git", "check-ignore", "--no-index", "-v", "-n", "-z", "--stdin"], cwd=tmp_path, capture_output=True,
            input="\0".join(paths) + "\0", text=True,
        )  # fmt: skip
        said = asked.stdout.split("\0")
        wanted = {said[i + 3]: said[i + 2] for i in range(0, len(said) - 3, 4)}
        ours = Patterns(patterns)
        for path in paths:
            by_git = bool(wanted[path]) and not wanted[path].startswith("!")
            assert bool(ours.decides(path, is_dir=False)) == by_git, (patterns, path, wanted[path])


@pytest.mark.parametrize("text", ["a[", "a\\", "!", "/", "~/x", "../x", "a//b", "x" * 2000, "[[:nope:]]", "a\nb"])
def test_what_can_mean_nothing_is_refused_with_a_reason(text):
    with pytest.raises(BadPattern, match=r"it |`|bracket|slashes|class"):
        parse_pattern(text)


def test_comments_and_blanks_are_no_patterns():
    assert parse_pattern("# x") is parse_pattern("  ") is None
    assert Patterns([r"\#x", r"\!y"]).decides("#x") and Patterns([r"\!y"]).decides("!y")


def test_a_folder_of_which_all_is_named_is_named_too():
    assert Patterns(["secrets/**"]).takes("secrets")
    assert not Patterns(["secrets/**"]).decides("secrets")
    assert not Patterns(["secrets/**", "!secrets/a"]).takes("secrets/a")


@pytest.mark.parametrize(
    ("word", "pattern", "meets"),
    [
        ("*", ".env", False), ("*", "*.env", True), ("s*/x", "secrets/**", True), ("*.py", "*.env", False), ("**/*.env", "*.env", True),
        ("secr[e]ts/*", "secrets/**", True), ("src/*", "secrets/**", False), (".e*", ".env*", True), ("*", "secrets/**", True), ("a?c", "abc", True),
    ],
)  # fmt: skip
def test_a_word_with_wildcards_is_held_against_a_pattern(word, pattern, meets):
    assert bool(Patterns([pattern]).may_take(shell_parts(word))) is meets


@pytest.mark.promise("P4.130")
def test_no_pattern_is_slow():
    """Of a repository's own making: ten stars and as many folders would take years by going back and forth."""
    mean = Patterns(["*a*a*a*a*a*a*a*a*a*b", "**/*a*/**/*a*/**/*a*/**/*b", "[ab]*" * 60 + "c"])

    def look() -> None:
        for path in ("a" * 4000, "/".join(["aaa"] * 250)):
            assert mean.takes(path) is None
        mean.may_take(shell_parts("/".join(["*a*" * 100] * 20)))

    assert is_done_within(5, look)  # 0.01 s is usual


def test_case_counts_unless_the_disk_ignores_it():
    assert not Patterns(["*.pem"]).takes("KEY.PEM")
    assert Patterns(["*.pem"]).folded().takes("KEY.PEM")
