"""The configuration reader gives the answer that git gives."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aimemory.project.gitconfig import Entry, parse_git_config, read_git_config

EXAMPLES = {
    "plain": '[remote "origin"]\n\turl = https://h/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n',
    "on one line": '[remote "o"] url = a\n',
    "old section": "[Remote.Origin]\nURL=a\n",
    "comments": "# x\n[core] ; y\nbare = false # z\neditor = a;b\n",
    "quotes": '[core]\na = "x # y" z  \nb = " lead and trail "  \nc = a\\"b\\\\c\\td\\ne\n',
    "continued": "[core]\na = one \\\n   two\nb = three\n",
    "subsection escapes": '[remote "a\\"b\\\\c d.E"]\nurl = x\n',
    "no value": "[core]\nbare\nfilemode\n",
    "crlf": '[remote "origin"]\r\n\turl = x y\r\n',
    "byte order mark": "\ufeff[core]\na = b\n",
    "no newline at the end": "[core]\na = b",
    "empty": "",
    "empty value": "[core]\na =\nb = \n",
    "before any section": "a = b\n",
    "unicode": '[branch "grün"]\nremote = örigin\n',
}


def as_git_lists_it(path: Path) -> list[str] | None:
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(path.parent), "LC_ALL": "C"}
    command = ["git", "config", "--file", str(path), "--list", "-z"]
    done = subprocess.run(command, env=env, capture_output=True, cwd=path.parent, timeout=30, check=False)
    return done.stdout.decode().split("\0")[:-1] if done.returncode == 0 else None


def as_we_list_it(data: bytes) -> list[str] | None:
    listed = []
    for entry in parse_git_config(data):
        if isinstance(entry, int):
            return None
        name = ".".join(part for part in (entry.section, entry.subsection, entry.key) if part)
        listed.append(name if entry.value is None else f"{name}\n{entry.value}")
    return listed


@pytest.mark.parametrize("text", EXAMPLES.values(), ids=EXAMPLES.keys())
def test_a_configuration_reads_as_git_reads_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_bytes(text.encode())

    assert as_we_list_it(text.encode()) == as_git_lists_it(path)
    assert as_git_lists_it(path) is not None


@pytest.mark.parametrize(
    "text",
    [
        "[core\na=b\n",
        "[core]\n1a = b\n",
        '[core]\na = "b\n',
        "[core]\na = \\q\n",
        "[core]\na # b\n",
        "[c x]\na=b\n",
    ],
)
def test_a_line_that_git_refuses_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_bytes(text.encode())

    assert as_git_lists_it(path) is None
    assert as_we_list_it(text.encode()) is None


_pieces = st.sampled_from(
    [
        "[core]",
        '[remote "o"]',
        '[a "x\\"y"]',
        "key",
        "k2 ",
        "=",
        " ",
        "val",
        '"',
        "\\\\",
        '\\"',
        "\\\n",
        "\n",
        "#",
        ";",
        "\\n",
    ]
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(_pieces, max_size=14))
def test_after_any_text_the_answer_is_that_of_git(tmp_path: Path, pieces: list[str]) -> None:
    text = "".join(pieces)
    path = tmp_path / "config"
    path.write_bytes(text.encode())

    assert as_we_list_it(text.encode()) == as_git_lists_it(path)


def test_a_damaged_line_is_named_and_the_rest_counts() -> None:
    config = read_git_config(
        "config", b'[core]\n=oops\n[remote "origin"]\nurl = a\nurl = b\n[branch "main"]\nremote = origin\n'
    )

    assert config.bad_lines == (2,)
    assert config.remotes == {"origin": "a"}
    assert config.tracked == {"main": "origin"}


def test_no_bytes_make_the_reader_fail() -> None:
    assert list(parse_git_config(bytes(range(256)) * 4))
    assert list(parse_git_config(b"[core]\nA=\xff\xfe")) == [Entry("core", "", "a", "\ufffd\ufffd")]
