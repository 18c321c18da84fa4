"""TOML settings of agents: what connecting and disconnecting leaves of them, byte for byte."""

import tomllib
from pathlib import Path

import pytest

from aimemory.install.agent import CannotEdit, Launchers, ServerFile
from aimemory.install.entries import add_server, remove_server

SERVER = ServerFile(Path("/c"), "toml", ("mcp_servers", "aimemory"), {"command": "", "args": []})
NEW = Launchers(Path("/da ta/bin/hook"), Path("/da ta/bin/mcp"))
OLD = Launchers(Path("/old/bin/hook"), Path("/old/bin/mcp"))

NASTY = {
    "empty": "",
    "values": 'model = "x"   # why\n\n[a]\nb = 1\n',
    "no final newline": "a = 1",
    "CRLF": 'a = 1\r\n\r\n[mcp_servers.other] # theirs\r\ncommand = "x"\r\n',
    "mixed line ends": "a = 1\r\nb = 2\nc = 3\r\n",
    "blank lines at the end": "a = 1\n\n\n",
    "comment at the end": "[a]\nb = 1\n# end\n",
    "other server": '[mcp_servers.other]\ncommand = "x"\nenv = { K = "v" }\n\n[mcp_servers.other.tools.t]\nq = 1\n',
    "servers first": '[mcp_servers.other]\ncommand = "x"\n\n[z]\na = 1\n',
    "inline and empty": "mcp_servers = {}\nz = 1\n",
    "inline": 'mcp_servers = { other = { command = "x" } } # c\r\nz = 1\r\n',
    "dotted keys": 'mcp_servers.other.command = "x"\nz = 1\n',
    "table with inline servers": '[mcp_servers]\nother = {command="x"}\n[foo]\na=1\n',
    "arrays of tables": '[[x]]\na = 1\n\n[[x]]\na = [\n  "[mcp_servers.aimemory]", # no header\n]\n',
    "header in a long text": 'a = """\n[mcp_servers.aimemory]\ncommand = "no"\n"""\nb = \'\'\'\n[z]\n\'\'\'\n',
    "tables that are continued": "[[list]]\n[t]\n[[list]]\n",
    "quoted keys": '[projects."/home/a/b [c]"]\ntrust_level = "trusted"\n[hooks.state."/x:stop:0:0"]\ntrusted_hash = "s"\n',
    "dates and numbers": "a = 1979-05-27T07:32:00-08:00\nb = 0xDEAD_BEEF\nc = 1e3\nd = +inf\n",
}


@pytest.mark.promise("P9.10")
@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY.keys())
def test_connecting_and_disconnecting_a_file_gives_the_same_bytes(text):
    connected = add_server(text, SERVER, NEW)

    servers = tomllib.loads(connected)["mcp_servers"]
    assert servers["aimemory"] == {"command": "/da ta/bin/mcp", "args": []}
    assert remove_server(connected, SERVER, ()) == text


@pytest.mark.promise("P9.11")
@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY.keys())
def test_a_second_connect_changes_nothing_and_an_older_entry_is_replaced(text):
    once = add_server(text, SERVER, NEW)

    assert add_server(once, SERVER, NEW) == once
    assert add_server(add_server(text, SERVER, OLD), SERVER, NEW) == once


@pytest.mark.promise("P9.13")
@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY.keys())
def test_what_a_user_wrote_around_our_table_stays(text):
    end = "\r\n" if "\r\n" in text else "\n"
    connected = add_server(text, SERVER, NEW)
    joint = "" if connected.endswith("\n") else end
    theirs = f"# first{end}{connected}{joint}{end}# about zz{end}[zz]{end}y = 1{end}"

    left = remove_server(theirs, SERVER, ())

    assert tomllib.loads(left) == {**tomllib.loads(text), "zz": {"y": 1}}
    assert left.startswith(f"# first{end}{text}")
    assert left.endswith(f"{end}# about zz{end}[zz]{end}y = 1{end}")


def test_tables_that_the_agent_or_user_added_below_ours_go_with_it():
    text = '[mcp_servers.aimemory]\ncommand = "/x/bin/mcp"\n[mcp_servers.aimemory.tools.s]\napproval_mode = "approve"\n'

    assert remove_server(text + "[z]\n", SERVER, ()) == "[z]\n"


@pytest.mark.promise("P9.11")
def test_renewing_keeps_what_the_user_set_beside_the_command():
    text = '[mcp_servers.aimemory] # mine\ncommand = "/old/bin/mcp" # path\nstartup_timeout_sec = 20\n\n# z\n[z]\n'

    assert add_server(text, SERVER, NEW) == text.replace("/old/", "/da ta/")


@pytest.mark.promise("P9.14")
@pytest.mark.parametrize(
    "text, line", [("a = 1\nb =\n", 2), ("a = 1\na = 2\n", 2), ("[a\n", 1), ('mcp_servers = "x"\n', 1)]
)
def test_a_broken_file_is_refused_with_its_line(text, line):
    with pytest.raises(CannotEdit) as raised:
        add_server(text, SERVER, NEW)

    assert raised.value.line == line


@pytest.mark.promise("P9.14")
@pytest.mark.parametrize("entry", ['url = "http://x"', 'command = "npx"', "[mcp_servers.aimemory.env]"])
def test_a_server_of_our_name_that_is_not_ours_is_left_and_said(entry):
    text = f"a = 1\n[mcp_servers.aimemory]\n{entry}\n"

    with pytest.raises(CannotEdit, match="not ours"):
        add_server(text, SERVER, NEW)
    assert remove_server(text, SERVER, ()) == text
