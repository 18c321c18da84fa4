"""The diff that is shown: what is ours as it is, of all else only the form."""

import re

import pytest
from desk import Desk

from aimemory.cli.connect import _ours
from aimemory.install.shown import diff

SECRETS = ["hunter2value", "sk-ant-REALLYSECRET", "pass phrase of mine", "4711008150", "xyzzy-in-comment", "ghp_aaaa"]


@pytest.fixture
def desk(tmp_path, monkeypatch):
    return Desk(tmp_path, monkeypatch)


def shown(desk, agent):
    ours = _ours(desk.agent(agent), desk.launchers())
    return "\n".join(diff(job.plan(), ours) for job in desk.jobs(agent))


@pytest.mark.promise("P9.15")
@pytest.mark.parametrize(
    "text",
    [
        '{{\n  "env": {{"K": "{}"}},\n  "t": ["{}",\n   "{}"],\n  "n": {}, // {}\n  "q": "\\"{}"\n}}',
        '{{"env": {{"K": "{}"}}, "t": ["{}", "{}"], "n": {}, /* {} */ "q": "{}"}}',
    ],
)
def test_no_value_of_others_is_shown_in_json(desk, text):
    desk.put(".claude/settings.json", text.format(*SECRETS))
    desk.put(".claude.json", text.format(*SECRETS))

    seen = shown(desk, "claude-code")

    assert ("SessionStart" in seen and f"{desk.data.hook_launcher} claude-code SessionEnd" in seen) or "\n" not in text
    assert not [secret for secret in SECRETS if secret in seen]


@pytest.mark.promise("P9.15")
def test_a_known_secret_is_hidden_even_as_a_key(desk):
    secret = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6"
    desk.put(".claude/settings.json", '{\n  "' + secret + '": true\n}\n')

    assert secret not in shown(desk, "claude-code")


@pytest.mark.promise("P9.15")
def test_no_value_of_others_is_shown_in_toml(desk):
    a, b, c, d, e, f = SECRETS
    desk.put(
        ".codex/config.toml",
        f"k = '{a}'\nn = {d}\nlong = '''\n{b}\n{c}\n'''\n[mcp_servers.o]\ncommand = \"{f}\"\nx = [ '{a}',\n\"{b}\"] # {e}\n",
    )

    seen = shown(desk, "codex")

    assert "[mcp_servers.aimemory]" in seen and f'command = "{desk.data.mcp_launcher}"' in seen
    assert not [secret for secret in SECRETS if secret in seen]


def test_the_diff_is_a_unified_one_that_names_the_file(desk):
    path = desk.put(".codex/config.toml", 'model = "x"\n')

    seen = shown(desk, "codex")

    assert f'--- {path}\n+++ {path}\n@@ -1 +1,5 @@\n model = "…"\n+\n+[mcp_servers.aimemory]\n' in seen
    assert "--- /dev/null\n" in seen


def test_an_old_entry_that_goes_is_shown(desk):
    desk.connect("codex")
    config = desk.home / ".codex" / "config.toml"
    config.write_text(config.read_text().replace(str(desk.data.root), "/elsewhere"))

    seen = shown(desk, "codex")

    assert '-command = "/elsewhere/bin/mcp"' in seen
    assert re.search(r"^\+command = ", seen, re.MULTILINE)
