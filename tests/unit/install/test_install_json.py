"""JSON settings of agents: what connecting and disconnecting leaves of them, byte for byte."""

import json
from pathlib import Path

import pytest

from aimemory.install.agent import Agent, CannotEdit, Hook, HookFile, Launchers, ServerFile
from aimemory.install.entries import add_hooks, add_server, empty_containers, remove_hooks, remove_server
from aimemory.install.jsontext import JsonText

HOOKS = HookFile(Path("/h"), ("hooks",), (Hook("SessionStart", 10), Hook("PostToolUse", 5, "*"), Hook("Stop", 5)))
AGENT = Agent("codex", "Codex CLI", ("codex", "codex-cli"), Path("/"), None, HOOKS)
SERVER = ServerFile(Path("/s"), "json", ("mcpServers", "aimemory"), {"type": "stdio", "command": "", "args": []})
NEW = Launchers(Path("/da ta/bin/hook"), Path("/da ta/bin/mcp"))
OLD = Launchers(Path("/old/bin/hook"), Path("/old/bin/mcp"))
CONTAINERS = [("hooks",), ("hooks", "Stop"), ("hooks", "SessionStart"), ("mcpServers",)]

NASTY = {
    "object": '{"a": 1}\n',
    "compact": '{"a":1,"b":[1,2]}',
    "no final newline": '{\n  "a": 1\n}',
    "tabs": '{\n\t"a": {\n\t\t"b": 1\n\t}\n}\n',
    "four blanks, CRLF": '{\r\n    "a": 1,\r\n    "b": [\r\n        1\r\n    ]\r\n}\r\n',
    "line comments": '// don\'t, 27" display\n{\n  "a": 1, // http://x\n  "b": "x" // last\n  // end\n}\n',
    "block comments": '/* { */ {\n  /* "a": */ "a": 1 /* , */\n  /* } */\n}\n',
    "comments only": "{\n  // nothing yet\n}\n",
    "comment on one line": '{"a": 1 // n\n}',
    "looks like a comment": '{\n  "glob": "*.{ts,}",\n  "text": "/* not a comment */ // nor this",\n  "q": "\\"//"\n}\n',
    "trailing commas": '{\n  "a": [1, 2,],\n  "hooks": {\n    "Stop": [\n      {"hooks": [{"type": "command", "command": "x"}]},\n    ],\n  },\n}\n',
    "trailing comma on one line": '{"a": [1,], "hooks": {"Stop": [],},}',
    "duplicate keys": '{\n  "a": 1,\n  "a": 2,\n  "hooks": {},\n  "a": 3\n}\n',
    "escapes": '{\n  "\\u00e9\\ud83d\\ude00": "\\u0000\\/é😀",\n  "n": 1.0e+2,\n  "big": 123456789012345678901234567890\n}\n',
    "hooks of others before and after": '{\n  "hooks": {\n    "Stop": [\n      {"hooks": [{"type": "command", "command": "first"}]},\n'
    '      {"matcher": "", "hooks": [{"type": "command", "command": "second"}, {"type": "prompt", "prompt": "third"}]}\n'
    '    ],\n    "Other": [{"hooks": []}]\n  },\n  "z": null\n}\n',
    "empty containers": '{\n  "hooks": {\n    "Stop": []\n  },\n  "mcpServers": {}\n}\n',
    "another server": '{"mcpServers": {"other": {"command": "x", "env": {"K": "v"}}}}',
    "odd groups": '{"hooks": {"Stop": [1, null, {"hooks": "x"}, {}, {"hooks": [2]}]}}',
    "unusual layout": '{"a": 1,\n "b": 2}\n',
    "brace at the line's end": '{\n "a": 1 }\n',
    "blank lines": '\n\n{\n\n  "a": 1\n\n}\n\n',
}  # fmt: skip


def kept(text):
    return empty_containers(text, CONTAINERS, False)


@pytest.mark.promise("P9.10")
@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY.keys())
def test_connecting_and_disconnecting_a_file_gives_the_same_bytes(text):
    hooked = add_hooks(text, HOOKS, AGENT, NEW)
    served = add_server(hooked, SERVER, NEW)

    assert JsonText(served).data["mcpServers"]["aimemory"]["command"] == "/da ta/bin/mcp"
    assert remove_hooks(remove_server(served, SERVER, kept(text)), HOOKS, AGENT, kept(text)) == text


@pytest.mark.promise("P9.10")
@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY.keys())
def test_nothing_that_was_there_is_gone_or_moved(text):
    characters = iter(add_server(add_hooks(text, HOOKS, AGENT, NEW), SERVER, NEW))

    assert all(character in characters for character in text if not character.isspace())


@pytest.mark.promise("P9.11")
@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY.keys())
def test_a_second_connect_changes_nothing_and_an_older_entry_is_replaced(text):
    once = add_server(add_hooks(text, HOOKS, AGENT, NEW), SERVER, NEW)
    older = add_server(add_hooks(text, HOOKS, AGENT, OLD), SERVER, OLD)

    assert add_server(add_hooks(once, HOOKS, AGENT, NEW), SERVER, NEW) == once
    assert add_server(add_hooks(older, HOOKS, AGENT, NEW), SERVER, NEW) == once


@pytest.mark.promise("P9.13")
@pytest.mark.parametrize("name", ["object", "tabs", "line comments", "hooks of others before and after", "compact"])
def test_what_a_user_wrote_since_stays_when_ours_go(name):
    text = NASTY[name]
    connected = add_hooks(text, HOOKS, AGENT, NEW)
    theirs = JsonText(connected).put(("theirs",), {"deep": [1, {"x": "y"}]})
    theirs = JsonText(theirs).append(("hooks", "Stop"), {"hooks": [{"type": "command", "command": "later"}]})

    left = JsonText(remove_hooks(theirs, HOOKS, AGENT, kept(text))).data

    stops = left["hooks"].pop("Stop")
    assert stops[-1] == {"hooks": [{"type": "command", "command": "later"}]}
    assert left.pop("theirs") == {"deep": [1, {"x": "y"}]}
    expected = JsonText(text).data
    assert stops[:-1] == expected.get("hooks", {}).pop("Stop", [])
    assert {k: v for k, v in left.items() if v != {}} == {k: v for k, v in expected.items() if v != {}}


@pytest.mark.promise("P9.13")
def test_a_hook_that_a_user_put_into_our_group_stays():
    text = add_hooks("{}", HOOKS, AGENT, NEW)
    text = JsonText(text).append(("hooks", "Stop", 0, "hooks"), {"type": "command", "command": "mine"})

    left = JsonText(remove_hooks(text, HOOKS, AGENT, ())).data

    assert left == {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}}


@pytest.mark.promise("P9.11")
def test_five_installs_from_two_versions_leave_one_entry_where_the_first_was():
    before = '{"hooks": {"Stop": [%s, {"hooks": [{"type": "command", "command": "theirs"}]}]}}'
    ours = json.dumps({"hooks": [{"type": "command", "command": "/old/bin/hook codex Stop"}]})
    text = before % f"{ours}, {ours}"

    for places in (OLD, NEW, OLD, NEW, NEW):
        text = add_hooks(text, HOOKS, AGENT, places)

    stops = JsonText(text).data["hooks"]["Stop"]
    assert [group["hooks"][0]["command"] for group in stops] == ["'/da ta/bin/hook' codex Stop", "theirs"]


def test_an_event_that_is_no_longer_registered_goes():
    text = '{"hooks": {"Setup": [{"hooks": [{"type": "command", "command": "/old/bin/hook codex Setup"}]}], "X": []}}'

    hooks = JsonText(add_hooks(text, HOOKS, AGENT, NEW)).data["hooks"]

    assert set(hooks) - {hook.event for hook in HOOKS.hooks} <= {"Setup", "X"}
    assert not hooks.get("Setup")


@pytest.mark.parametrize(
    "command",
    [
        "/x/bin/hook codex Stop",
        "'/x y/bin/hook' codex-cli Stop",
        '"/x y/bin/hook" codex Stop',
        "/x y/bin/hook codex Stop",
    ],
)
def test_our_commands_are_known_whatever_the_path_and_quoting(command):
    text = json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}})

    assert remove_hooks(text, HOOKS, AGENT, ()) == "{}"


@pytest.mark.parametrize(
    "command",
    ["/x/bin/hook claude-code Stop", "/x/bin/hook codex", "hook codex Stop", "/x/bin/hooks codex Stop", "it's"],
)
def test_commands_of_others_are_not_ours(command):
    text = json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}})

    assert remove_hooks(text, HOOKS, AGENT, ()) == text


@pytest.mark.promise("P9.14")
@pytest.mark.parametrize(
    "text, line",
    [
        ('{\n  "a": 1,,\n}', 2), ('{\n  "a": 1\n', None), ("[]", 1), ("1", 1), ('"x"', 1), ("null", 1), ("{'a': 1}", 1),
        ('{"a": NaN}', None), ('{"a": [,]}', 1), ('{"a": 1} x', 1), ("{/* open }", 1), ('{\n "hooks": []}', 2),
        ('{\n\n "hooks": "x"}', 3), ('{"hooks": {\n "Stop": {}}}', 2), ('{"hooks": null1}', 1),
        ('{"hooks": null}', 1), ('{"hooks": {"Stop": null}}', 1),
    ],
)  # fmt: skip
def test_a_file_of_another_shape_is_refused_with_its_line(text, line):
    with pytest.raises(CannotEdit) as raised:
        add_hooks(text, HOOKS, AGENT, NEW)

    assert line in (None, raised.value.line)


@pytest.mark.promise("P9.10")
@pytest.mark.parametrize(
    "wrong",
    [('"a": 1', '"a": 2'), ('"a": 1, ', ""), (" // c", ""), (" // c", " // d"), ('"theirs"', '"others"'), ("}", "")],
)
def test_an_edit_that_would_touch_what_is_not_ours_is_refused(monkeypatch, wrong):
    text = '{"a": 1, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "theirs"}]}]} // c\n}'
    right = JsonText.append
    monkeypatch.setattr(JsonText, "append", lambda self, *words: right(self, *words).replace(*wrong, 1))

    with pytest.raises(CannotEdit, match=r"can't be edited|not valid JSON"):
        add_hooks(text, HOOKS, AGENT, NEW)


def test_a_nesting_that_no_parser_takes_is_refused():
    with pytest.raises(CannotEdit):
        add_hooks('{"a": ' + "[" * 200_000 + "]" * 200_000 + "}", HOOKS, AGENT, NEW)


@pytest.mark.promise("P9.14")
@pytest.mark.parametrize(
    "entry", ['{"url": "https://x"}', '{"command": "npx", "args": ["aimemory"]}', '"x"', "1", "null"]
)
def test_a_server_of_our_name_that_is_not_ours_is_left_and_said(entry):
    text = '{\n "mcpServers": {\n  "aimemory": ' + entry + "}}"

    with pytest.raises(CannotEdit, match="not ours") as raised:
        add_server(text, SERVER, NEW)

    assert raised.value.line == 3
    assert remove_server(text, SERVER, ()) == text


@pytest.mark.parametrize("text", ["", "\n", "  \r\n"])
def test_an_empty_file_becomes_an_object(text):
    assert JsonText(add_hooks(text, HOOKS, AGENT, NEW)).data["hooks"].keys() == {"SessionStart", "PostToolUse", "Stop"}


def test_new_lines_are_indented_as_the_file_is():
    assert '\n\t\t"Stop": [\n\t\t\t{\n\t\t\t\t"hooks": [' in add_hooks(NASTY["tabs"], HOOKS, AGENT, NEW)
    assert "\n" not in add_hooks(NASTY["compact"], HOOKS, AGENT, NEW)
    assert "\n" not in add_hooks(NASTY["four blanks, CRLF"], HOOKS, AGENT, NEW).replace("\r\n", "")
