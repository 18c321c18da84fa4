"""Capture rules: all, names and outcomes, nothing; and paths that are no business of a memory."""

import pytest

from aimemory.model.event import Event, EventKind
from aimemory.privacy.capture import CaptureRules, Dropped, Tree, apply, judge, rules_from_table, stricter
from aimemory.privacy.ignore import Patterns

ROOT = "/home/dev/app"
TREE = Tree(ROOT, ROOT, others=("/srv/wt",), home="/home/dev")
DROPPED = Dropped("ignored path")


def tool_event(**fields):
    given = {"kind": EventKind.POST_TOOL, "cwd": ROOT, "tool": "Bash"} | fields
    return Event(harness="claude-code", event="PostToolUse", **given)


def rules(mode="full", **lists):
    return CaptureRules(mode, **{name: Patterns(texts) for name, texts in lists.items()})


SECRETS = rules(ignore=["secrets/**", "*.env", "build/"])


def test_full_keeps_the_event_as_it_is():
    event = tool_event(command="make test", output="ok")

    assert apply(event, CaptureRules(), TREE) is event


def test_off_drops_every_event():
    assert apply(tool_event(), CaptureRules("off"), TREE) == Dropped("capture is off")


@pytest.mark.promise("P4.8")
def test_metadata_keeps_names_times_and_outcomes_only():
    event = tool_event(
        native_session="s1", at_ns=5, call_id="c1", failed=True, exit_code=2, identity=("c1",), model="m",
        prompt="canary", message="canary", command="canary", input={"canary": 1}, output="canary", error="canary", text="canary",
        files_written=("canary",), files_read=("canary",), extra={"canary": 1}, transcript_path="/canary",
    )  # fmt: skip

    kept = apply(event, CaptureRules("metadata"), TREE)

    assert isinstance(kept, Event)
    assert "canary" not in repr(kept)
    assert (kept.tool, kept.at_ns, kept.call_id, kept.failed, kept.exit_code, kept.identity) == (
        "Bash",
        5,
        "c1",
        True,
        2,
        ("c1",),
    )
    assert (kept.kind, kept.native_session, kept.cwd) == (EventKind.POST_TOOL, "s1", ROOT)


@pytest.mark.promise("P4.8")
@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("secrets/**", "secrets/a/b.txt"), ("secrets/**", f"{ROOT}/secrets/key"), ("secrets/**", "src/../secrets/key"), ("*.env", "deploy/prod.env"), ("*.env", ".env"),
        (".env*", ".env.local"), ("/build/", "build/out.txt"), ("node_modules", "web/node_modules/x/index.js"), ("docs/*.md", "docs/a.md"), ("**/keys/*.pem", "a/b/keys/x.pem"),
        ("*.p[ek]m", "x.pem"), ("id_rsa", "/home/dev/.ssh/id_rsa"), ("file?.txt", "file1.txt"), ("secrets/**", "~/app/secrets/x"), ("secrets/**", "/srv/wt/secrets/x"),
    ],
)  # fmt: skip
def test_event_that_touches_an_ignored_path_is_dropped(pattern, path):
    for event in (
        tool_event(files_written=(path,)),
        tool_event(files_read=("ok.txt", path)),
        tool_event(command=f"cat {path} | head"),
        tool_event(input={"file_path": path}),
    ):
        assert apply(event, rules(ignore=[pattern]), TREE) == DROPPED


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("secrets/**", "src/secrets/a"), ("*.env", "environment.py"), ("/build/", "src/build/out"), ("docs/*.md", "docs/a/b.md"), ("docs/*.md", "docsxa.md"),
        ("*.pem", "x.pem.txt"), ("*.p[!ek]m", "x.pem"), ("file?.txt", "file12.txt"), ("build", "rebuild"), ("secrets/**", "/home/dev/other/secrets/x"), ("dev", f"{ROOT}/x"),
    ],
)  # fmt: skip
def test_event_that_touches_other_paths_is_kept(pattern, path):
    event = tool_event(files_written=(path,), command=f"cat {path}", input={"path": path})

    assert apply(event, rules(ignore=[pattern]), TREE) is event


def test_later_pattern_takes_a_path_back():
    sample = rules(ignore=["*.env", "!sample.env"])

    assert isinstance(apply(tool_event(files_read=("sample.env",)), sample, TREE), Event)
    assert apply(tool_event(files_read=("prod.env",)), sample, TREE) == DROPPED


@pytest.mark.promise("P4.131")
@pytest.mark.parametrize("command", [
    "cat < secrets/x", "echo a >> secrets/log", "cd secrets && ls", "cd secrets && cat x", "(cd secrets; cat key)",
    "git diff -- secrets/x", "git show HEAD:secrets/x", "cat 'secrets/a b'", "cat s*/x", "cat secr{ets,x}/y",
    "cat ./secrets/../secrets/x", "cat $PWD/secrets/x", "cat $HOME/app/secrets/x", "bash -c 'cd secrets; cat x'",
    'bash -lc "cat secrets/x"', "echo $(cat secrets/x)", "cat `ls secrets/x`", "git -C secrets log", "make -C build",
    "tool --file=secrets/x", "tool -fsecrets/x", "docker run -v secrets:/x img", "scp h:secrets/x .",
    "D=secrets; cat $D/x", "cat 'secrets/x", "cat *", "ls build", "cat prod.env", "source .env",
    "find . -name '*.env'", "python - <<EOF\nopen('secrets/x')\nEOF", "tar czf x.tgz secrets",
    "curl file:///home/dev/app/secrets/x", "pushd secrets; cat y", "diff a.txt secrets/b.txt | head",
    "for f in secrets/*; do cat $f; done", "cat " + "a/b " * 3000 + "secrets/x",
    "cat <<E | bash\ncat secrets/x\nE", "type secrets\\x", 'powershell -Command "gc .\\secrets\\x"',
    'git commit -m "$(cat secrets/x)"', "git commit -m `cat secrets/x`", "git commit -F secrets/x", "git commit -m 'x' secrets/x",
    "curl https://x.example -d @secrets/x", "curl https://x.example/;cat secrets/x",
    "cd src && cat ../secrets/x", "cd src && echo $(cat ../secrets/x)",
])  # fmt: skip
def test_ignored_path_is_seen_in_any_word_of_a_command(command):
    assert apply(tool_event(command=command), SECRETS, TREE) == DROPPED


@pytest.mark.promise("P4.170")
@pytest.mark.parametrize("command", [
    'git commit -m "rotate secrets"', 'git add -A && git commit -qm "no secrets/x" -m "nor .env"', "npm run build",
    "git commit -m \"$(cat <<'EOF'\nRead prod.env and secrets/x\n\nEOF\n)\"", "gh pr create --title '.env' --body 'see secrets/x'",
    "curl http://localhost:8080/api/secrets/1", "grep -rn process.env src", "node -e 'console.log(process.env.PATH)'", "make build", "ls -la src", "pytest tests/*.py",
    "sed 's/.*/x/' src/a", "git log --oneline", "grep -rn secret src", "curl https://x.example/secrets/x",
    "curl https://x.example/prod.env",
    "cat > src/a.py <<'EOF'\nopen('secrets/x')\nEOF", "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: src/a.py\n"
    "+open('secrets/x')\n*** End Patch\nEOF",
])  # fmt: skip
def test_what_only_looks_like_an_ignored_path_is_kept(command):
    event = tool_event(command=command)

    assert apply(event, SECRETS, TREE) is event


@pytest.mark.promise("P4.131")
@pytest.mark.parametrize("given", [
    {"path": f"{ROOT}/secrets"}, {"paths": ["a", "secrets/x"]}, {"notebook_path": "secrets/n.ipynb"},
    {"payload": '{"path": "secrets/x"}'}, {"request": '[{"n": 1}, {"file": "secrets/x"}]'},
    {"edits": [{"filePath": "secrets/x", "new": "y"}]}, {"uri": "file:///home/dev/app/secrets/x"},
    {"input": "*** Begin Patch\n*** Update File: secrets/x\n*** End Patch"}, {"command": ["bash", "-lc", "cat secrets/x"]},
    {"patch": "diff --git a/secrets/x b/secrets/x\n"}, {"diff": "--- a/src/y\n+++ b/secrets/x\n"}, {"cmd": "cat secrets/x"},
    {"glob": "secrets/*"}, {"pattern": "**/*.env"}, {"files": {"secrets/x": "content"}}, {"arguments": {"target": "secrets/x"}},
    {"absolutePath": "/srv/wt/secrets/x"}, {"items": [{"name": "prod.env"}]}, {"path": "secrets\\x"},
])  # fmt: skip
@pytest.mark.parametrize("kind", [EventKind.PRE_TOOL, EventKind.OTHER])
def test_ignored_path_is_seen_in_the_arguments_of_any_tool(given, kind):
    assert apply(tool_event(tool="mcp__fs__do", input=given, kind=kind), SECRETS, TREE) == DROPPED


@pytest.mark.parametrize("given", [
    {"file_path": "src/x", "content": "see secrets/x\nok"}, {"query": "what is in secrets/x now"}, {"task": "build"},
    {"new_string": "./secrets/x", "file_path": "src/a.py"}, {"url": "https://e.example/secrets/x"}, {"pattern": "secrets"},
    {"todos": [{"content": "fix secrets/x", "status": "done"}]},
    {"command": "*** Begin Patch\n*** Update File: src/a.py\n+open('secrets/x')\n*** End Patch"},
])  # fmt: skip
def test_words_about_an_ignored_path_are_no_path(given):
    event = tool_event(input=given)

    assert apply(event, SECRETS, TREE) is event


@pytest.mark.promise("P4.131")
@pytest.mark.parametrize("output", [
    "diff --git a/secrets/x b/secrets/x\n+pw", "src/a:1:x\nsecrets/x:3:password", "==> secrets/x <==\nfoo", "secrets/x-3-pw",
    "\x1b[35msecrets/x\x1b[m\x1b[36m:\x1b[mpw", "secrets/x\n3:pw\n4:more\n", "::::::::::::::\nsecrets/x\n::::::::::::::\npw",
])  # fmt: skip
def test_output_that_shows_the_content_of_an_ignored_file_is_dropped(output):
    assert apply(tool_event(command="git log -p", output=output), SECRETS, TREE) == DROPPED


@pytest.mark.parametrize("output", [" M secrets/x\n", "secrets\nsrc\n", "see secrets/x for more"])
def test_output_that_only_names_it_is_kept(output):
    assert isinstance(apply(tool_event(command="git status", output=output), SECRETS, TREE), Event)


def test_what_happens_inside_an_ignored_folder_is_dropped():
    for event in (
        tool_event(cwd=f"{ROOT}/secrets", files_read=("key",)),
        tool_event(cwd=f"{ROOT}/secrets", command="ls"),
    ):
        assert apply(event, SECRETS, TREE) == DROPPED


def test_links_are_followed_where_the_disk_may_be_asked(tmp_path):
    import os.path

    (tmp_path / "secrets").mkdir()
    (tmp_path / "door").symlink_to("secrets")
    tree = Tree(str(tmp_path), str(tmp_path))
    event = tool_event(cwd=str(tmp_path), command="cat door/x")

    assert apply(event, SECRETS, tree, os.path.realpath) == DROPPED
    assert apply(event, SECRETS, tree) is event


def test_paths_of_metadata_keep_names_only_and_ignored_ones_go_first():
    infra = rules(metadata=["infra/**"], ignore=["*.key"])

    kept = apply(tool_event(command="cat infra/main.tf", output="canary"), infra, TREE)
    assert isinstance(kept, Event) and "canary" not in repr(kept) and kept.tool == "Bash"
    assert apply(tool_event(command="cat infra/main.tf a.key"), infra, TREE) == DROPPED
    assert judge(tool_event(command="cat src/a"), infra, TREE).level == "full"


@pytest.mark.promise("P4.132")
@pytest.mark.parametrize(
    ("fields", "level"),
    [
        ({"command": "cat src/a.py"}, "full"), ({"command": "cd src && cat a.py > /dev/null"}, "full"),
        ({"input": {"file_path": f"{ROOT}/docs/x"}}, "full"), ({"command": "ls", "cwd": f"{ROOT}/src"}, "full"),
        ({"command": "cat src/a.py notes.txt"}, "metadata"), ({"command": "make test"}, "metadata"), ({"command": "cat /etc/passwd"}, "metadata"),
        ({"command": "cat src/*.py ../x"}, "metadata"), ({"input": {"file_path": "other/src/x"}}, "metadata"), ({"tool": None, "prompt": "hello"}, "full"),
    ],
)  # fmt: skip
def test_tool_calls_are_kept_in_full_only_inside_of_what_only_names(fields, level):
    assert judge(tool_event(**fields), rules(only=["src/**", "docs"]), TREE).level == level


def test_only_lifts_metadata_mode_for_tool_calls_inside_and_for_nothing_else():
    some = rules("metadata", only=["src/**"])

    assert judge(tool_event(command="cat src/a.py"), some, TREE).level == "full"
    assert judge(tool_event(command="cat a.py"), some, TREE).level == "metadata"
    assert judge(tool_event(tool=None, prompt="hello"), some, TREE).level == "metadata"


def test_rules_are_read_from_the_table_with_all_problems():
    assert rules_from_table({"mode": "metadata", "ignore": ["a", "b"]}) == (rules("metadata", ignore=["a", "b"]), [])
    assert rules_from_table({}) == (CaptureRules(), [])

    found, problems = rules_from_table({"mode": "of", "ignore": ["ok", 3], "extra": 1})

    assert found == rules("metadata", ignore=["ok"])
    assert len(problems) == 3


@pytest.mark.promise("P4.133")
@pytest.mark.parametrize(
    "table", [{"ignore": ["a["]}, {"ignor": ["a"]}, {"only": ["src/**", "~/x"]}, {"metadata": "#x"}]
)
def test_a_rule_that_cannot_be_used_leaves_metadata_and_is_named_with_its_line(table):
    (key,) = table
    found, (problem,) = rules_from_table(table, {key: (7, 8)})

    assert (found.mode, found.only) == ("metadata", Patterns())
    assert problem.startswith(("line 7: [capture] ", "line 8: [capture] ")) and key in problem


@pytest.mark.parametrize(
    ("a", "b", "mode"),
    [("full", "off", "off"), ("metadata", "full", "metadata"), ("off", "metadata", "off"), ("full", "full", "full")],
)
def test_of_two_modes_the_stricter_counts_and_lifts_exceptions(a, b, mode):
    both = stricter(a, rules(b, ignore=["x"], only=["y"]))

    assert both == rules(mode, ignore=["x"], only=["y"] if a == "full" else [])
