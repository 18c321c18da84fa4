"""After any settings file, in any layout: connecting and disconnecting leaves every byte of it."""

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aimemory.install.agent import Agent, Hook, HookFile, Launchers, ServerFile
from aimemory.install.entries import add_hooks, add_server, empty_containers, remove_hooks, remove_server
from aimemory.install.jsontext import JsonText

HOOKS = HookFile(Path("/h"), ("hooks",), (Hook("Stop", 5), Hook("PostToolUse", 5, "*")))
AGENT = Agent("codex", "Codex CLI", ("codex",), Path("/"), None, HOOKS)
JSON_SERVER = ServerFile(Path("/s"), "json", ("mcpServers", "aimemory"), {"command": "", "args": []})
TOML_SERVER = ServerFile(Path("/s"), "toml", ("mcp_servers", "aimemory"), {"command": "", "args": []})
PLACES = Launchers(Path("/d/bin/hook"), Path("/d/bin/mcp"))
CONTAINERS = [("hooks",), ("hooks", "Stop"), ("hooks", "PostToolUse"), ("mcpServers",)]

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
HANDLERS = st.lists(st.just({"type": "command", "command": "theirs"}) | VALUES, max_size=2)
GROUPS = st.lists(
    st.fixed_dictionaries({"hooks": HANDLERS}, optional={"matcher": st.text(max_size=3)}) | VALUES, max_size=3
)
NAMES = st.text(max_size=6).filter(lambda name: name != "hooks")
SETTINGS = st.dictionaries(NAMES, VALUES, max_size=3).flatmap(
    lambda rest: st.fixed_dictionaries(
        {},
        optional={
            "hooks": st.dictionaries(st.sampled_from(["Stop", "PostToolUse", "Other"]), GROUPS, max_size=3),
            "mcpServers": st.dictionaries(st.sampled_from(["other", "third"]), VALUES, max_size=2),
        },
    ).map(lambda own: {**rest, **own})
)


@st.composite
def layouts(draw):
    """A JSON text of some settings, written by a person: comments, blanks, line ends and trailing commas anywhere."""
    end = draw(st.sampled_from(["\n", "\r\n"]))
    gaps = st.sampled_from(["", "", " ", "\t", end, end + "  ", f" // it's {{ , \" [{end}", " /* } , */ "])

    def written(value):
        if isinstance(value, dict):
            parts = [json.dumps(k) + draw(gaps) + ":" + draw(gaps) + written(v) for k, v in value.items()]
            inside = ("," + draw(gaps)).join(part + draw(gaps) for part in parts)
            return "{" + draw(gaps) + inside + (draw(st.sampled_from(["", ","])) if parts else "") + draw(gaps) + "}"
        if isinstance(value, list):
            inside = ("," + draw(gaps)).join(written(item) + draw(gaps) for item in value)
            return "[" + draw(gaps) + inside + (draw(st.sampled_from(["", ","])) if value else "") + draw(gaps) + "]"
        return json.dumps(value, ensure_ascii=draw(st.booleans()))

    return draw(gaps) + written(draw(SETTINGS)) + draw(gaps)


def without_blanks(text):
    """What must be equal when a container that was empty, but for blanks, has been ours for a while."""
    return "".join(text.split())


@pytest.mark.promise("P9.10")
@pytest.mark.promise("P9.11")
@given(layouts())
def test_any_json_settings(text):
    kept = empty_containers(text, CONTAINERS, False)

    connected = add_server(add_hooks(text, HOOKS, AGENT, PLACES), JSON_SERVER, PLACES)
    again = add_server(add_hooks(connected, HOOKS, AGENT, PLACES), JSON_SERVER, PLACES)
    back = remove_hooks(remove_server(connected, JSON_SERVER, kept), HOOKS, AGENT, kept)

    assert again == connected
    assert JsonText(back).tree == JsonText(text).tree
    assert without_blanks(back) == without_blanks(text)


LINES = st.sampled_from(
    [
        "", "# it's a [comment]", 'a = "x" # y', "[t]", "[t.u]", "[[list]]", "k.v = { w = [1, 2] }", "b = '''\n[mcp_servers.aimemory]\n'''",
        "[mcp_servers.other]", 'command = "c"', "mcp_servers.third.command = 'z'", "mcp_servers = {}", "[mcp_servers]",
        "n = [\n  1, # one\n  2,\n]", '"quoted key" = 1', "  [spaced]  ",
    ]
)  # fmt: skip


@pytest.mark.promise("P9.10")
@given(st.lists(LINES, max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_any_toml_settings(lines, end, ended):
    text = end.join(lines).replace("\n", end).replace("\r\r\n", "\r\n") + (end if ended else "")
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return

    connected = add_server(text, TOML_SERVER, PLACES)

    assert add_server(connected, TOML_SERVER, PLACES) == connected
    assert remove_server(connected, TOML_SERVER, ()) == text
