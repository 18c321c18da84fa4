"""Capture rules: all, names and outcomes, nothing; and paths that are no business of a memory."""

import pytest

from aimemory.model.event import Event, EventKind
from aimemory.privacy.capture import CaptureRules, Dropped, apply, rules_from_table, stricter

ROOT = "/home/dev/app"


def tool_event(**fields):
    return Event(harness="claude-code", event="PostToolUse", kind=EventKind.POST_TOOL, cwd=ROOT, tool="Bash", **fields)


def test_full_keeps_the_event_as_it_is():
    event = tool_event(command="make test", output="ok")

    assert apply(event, CaptureRules(), ROOT) is event


def test_off_drops_every_event():
    assert apply(tool_event(), CaptureRules("off"), ROOT) == Dropped("capture is off")


@pytest.mark.promise("P4.8")
def test_metadata_keeps_names_times_and_outcomes_only():
    event = tool_event(
        native_session="s1", at_ns=5, call_id="c1", failed=True, exit_code=2, identity=("c1",), model="m",
        prompt="canary", message="canary", command="canary", input={"canary": 1}, output="canary", error="canary", text="canary",
        files_written=("canary",), files_read=("canary",), extra={"canary": 1}, transcript_path="/canary",
    )  # fmt: skip

    kept = apply(event, CaptureRules("metadata"), ROOT)

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
        ("*.p[ek]m", "x.pem"), ("id_rsa", "/home/dev/.ssh/id_rsa"), ("file?.txt", "file1.txt"),
    ],
)  # fmt: skip
def test_event_that_touches_an_ignored_path_is_dropped(pattern, path):
    rules = CaptureRules(ignore=(pattern,))

    for event in (
        tool_event(files_written=(path,)),
        tool_event(files_read=("ok.txt", path)),
        tool_event(command=f"cat '{path}' | head"),
    ):
        assert apply(event, rules, ROOT) == Dropped("ignored path")


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("secrets/**", "src/secrets/a"), ("*.env", "environment.py"), ("/build/", "src/build/out"), ("docs/*.md", "docs/a/b.md"), ("docs/*.md", "docsxa.md"),
        ("*.pem", "x.pem.txt"), ("*.p[!ek]m", "x.pem"), ("file?.txt", "file12.txt"), ("build", "rebuild"),
    ],
)  # fmt: skip
def test_event_that_touches_other_paths_is_kept(pattern, path):
    event = tool_event(files_written=(path,), command=f"cat {path}")

    assert apply(event, CaptureRules(ignore=(pattern,)), ROOT) is event


def test_later_pattern_takes_a_path_back():
    rules = CaptureRules(ignore=("*.env", "!sample.env"))

    assert isinstance(apply(tool_event(files_read=("sample.env",)), rules, ROOT), Event)
    assert isinstance(apply(tool_event(files_read=("prod.env",)), rules, ROOT), Dropped)


@pytest.mark.parametrize(
    "command",
    [
        "cat < secrets/x",
        "tool --file=secrets/x",
        "cd secrets && ls",
        'sh -c "cat secrets/x"',
        "echo $(cat secrets/x)",
        "cat 'secrets/x",
        "scp h:secrets/x .",
    ],
)
def test_ignored_path_is_seen_in_any_word_of_a_command(command):
    assert apply(tool_event(command=command), CaptureRules(ignore=("secrets/**",)), ROOT) == Dropped("ignored path")


def test_word_in_a_quoted_sentence_is_no_path():
    event = tool_event(command='git commit -m "rotate secrets"')

    assert apply(event, CaptureRules(ignore=("secrets/**",)), ROOT) is event


def test_paths_count_from_the_directory_of_the_event():
    event = Event(harness="codex", event="x", kind=EventKind.POST_TOOL, cwd=f"{ROOT}/secrets", files_read=("key",))

    assert apply(event, CaptureRules(ignore=("secrets/**",)), ROOT) == Dropped("ignored path")


def test_rules_are_read_from_the_table_with_all_problems():
    assert rules_from_table({"mode": "metadata", "ignore": ["a", "b"]}) == (CaptureRules("metadata", ("a", "b")), [])
    assert rules_from_table({}) == (CaptureRules(), [])

    rules, problems = rules_from_table({"mode": "of", "ignore": ["ok", 3], "extra": 1})

    assert rules == CaptureRules("metadata", ("ok",))
    assert len(problems) == 3


@pytest.mark.parametrize(
    ("a", "b", "mode"),
    [("full", "off", "off"), ("metadata", "full", "metadata"), ("off", "metadata", "off"), ("full", "full", "full")],
)
def test_of_two_rules_the_stricter_counts(a, b, mode):
    both = stricter(CaptureRules(a, ("x", "y")), CaptureRules(b, ("y", "z")))

    assert both == CaptureRules(mode, ("x", "y", "z"))
