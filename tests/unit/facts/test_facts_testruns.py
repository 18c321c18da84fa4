"""Test runs out of shell commands. The one rule above all: nothing is called passed that did not pass."""

import pytest

from aimemory.facts.testrunners import covers
from aimemory.facts.testruns import test_runs as runs_of
from aimemory.model.testrun import Verdict

P, F, U = Verdict.PASSED, Verdict.FAILED, Verdict.UNKNOWN

PY_OK = "....                                          [100%]\n4 passed in 0.12s\n"
PY_BAD = (
    "=================================== FAILURES ===================================\n"
    "=========================== short test summary info ============================\n"
    "FAILED tests/test_a.py::test_one - assert 1 == 2\n"
    "ERROR tests/test_b.py - ImportError: nope\n"
    "============ 1 failed, 3 passed, 2 skipped, 1 error in 0.31s (0:00:01) ============\n"
)
PY_NONE = "no tests ran in 0.01s\n"
UT_OK = "...\n----------------------------------------------------------------------\nRan 3 tests in 0.001s\n\nOK (skipped=1)\n"
UT_BAD = "FAIL: test_x (m.T.test_x)\nRan 3 tests in 0.001s\n\nFAILED (failures=1, errors=1)\n"
JEST_OK = "Test Suites: 2 passed, 2 total\nTests:       1 skipped, 5 passed, 6 total\nSnapshots:   0 total\nTime:        1 s\n"
JEST_BAD = "  ● math › adds\n\nTest Suites: 1 failed, 1 passed, 2 total\nTests:       1 failed, 4 passed, 5 total\n"
JEST_BROKEN_SUITE = "Test Suites: 1 failed, 1 passed, 2 total\nTests:       4 passed, 4 total\n"
VT_OK = " Test Files  2 passed (2)\n      Tests  7 passed (7)\n   Start at  10:00:00\n"
VT_BAD = " FAIL  src/a.test.ts > adds\n Test Files  1 failed | 1 passed (2)\n      Tests  1 failed | 6 passed (7)\n"
VT_UNHANDLED = " Test Files  2 passed (2)\n      Tests  7 passed (7)\n     Errors  1 error\n"
GO_OK = "ok  \texample.com/a\t0.01s\nok  \texample.com/b\t(cached)\n?   \texample.com/c\t[no test files]\n"
GO_BAD = (
    "--- FAIL: TestX (0.00s)\n    x_test.go:3: no\nFAIL\nFAIL\texample.com/a\t0.01s\nok  \texample.com/b\t0.01s\nFAIL\n"
)
CARGO_OK = (
    "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
    "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
)
CARGO_BAD = (
    "test math::adds ... FAILED\n"
    "test result: FAILED. 4 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n"
    "error: test failed, to rerun pass `--lib`\n"
)
NODE_OK = "ℹ tests 3\nℹ suites 0\nℹ pass 3\nℹ fail 0\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\n"
NODE_BAD = "not ok 2 - adds\n# tests 3\n# suites 0\n# pass 2\n# fail 1\n# cancelled 0\n# skipped 0\n# todo 0\n"
CUT = "[… 12,345 bytes cut …]"

NO_RUNS = [
    "pip install pytest", "echo pytest", "grep -rn pytest .", "cat pytest.ini", 'git commit -m "fix pytest"', "which pytest",
    "uv add --dev pytest", "npm install jest", "ls tests", "pytest --help", "pytest --version", "pytest --collect-only -q",
    "python -m pytest --co", "cargo test --no-run", "go test -c ./x", "jest --listTests", "vitest list", "make -n test",
    "npm run build", "make build", "cat <<'EOF' > run.sh\npytest -q\nEOF", "# pytest -q", "python -c 'import pytest'",
    "go vet ./...", "cargo build", "node server.js", "python test.py.bak", "sed -i s/pytest/x/ setup.cfg", "git log -- tests",
    "vim tests/test_a.py", "test -f setup.py", "[ -d tests ] && ls tests", "f() { pytest; }",
]  # fmt: skip


@pytest.mark.parametrize("command", NO_RUNS)
def test_these_start_no_tests(command: str) -> None:
    assert runs_of(command, PY_OK, 0, False) == ()


# command, output, exit code, runner, target, verdict
CASES = [
    # the summary decides, whatever hides the exit code
    ("pytest", PY_OK, 0, "pytest", "", P),
    ("pytest", PY_OK, None, "pytest", "", P),
    ("pytest", PY_BAD, 1, "pytest", "", F),
    ("pytest -q | tail -3", PY_BAD, 0, "pytest", "", F),
    ("pytest -q || true", PY_BAD, 0, "pytest", "", F),
    ("pytest -q; echo done", PY_BAD, 0, "pytest", "", F),
    ("pytest -q 2>&1 | tee log.txt | tail -20", PY_OK, 0, "pytest", "", P),
    ("pytest -q 2>&1 | grep -E 'passed|failed'", PY_OK, 0, "pytest", "", P),
    ("echo hello > out.txt && python3 -m pytest -q || true", PY_OK, 0, "pytest", "", P),
    ("pytest &", "", 0, "pytest", "", U),
    ("nohup pytest > log 2>&1 &", "", 0, "pytest", "", U),
    ("pytest | tail -1", "", 0, "pytest", "", U),
    ("pytest || true", "", 0, "pytest", "", U),
    ("pytest; true", "", 0, "pytest", "", U),
    ("! pytest", "", 0, "pytest", "", U),
    ("if pytest; then echo ok; fi", "", 0, "pytest", "", U),
    ("for t in a b; do pytest $t; done", PY_OK, 0, "pytest", "$t", U),
    ("pytest || exit 1", "", 0, "pytest", "", P),
    ("cd app && pytest", "", 0, "pytest", "", P),
    ("cd app && pytest", "", 1, "pytest", "", F),
    ("make build && pytest", "", 2, "pytest", "", U),
    ("pytest && ruff check", PY_OK, 1, "pytest", "", P),
    ("exit 0; pytest", "", 0, "pytest", "", U),
    ("test -d x || exit 0; pytest", "", 0, "pytest", "", U),
    # how programs are reached
    ("timeout 60 pytest -q tests/unit", PY_OK, 0, "pytest", "tests/unit", P),
    ("env A=1 time -p nice -n 5 pytest", PY_OK, 0, "pytest", "", P),
    ("A=1 B=2 uv run --with x pytest -k 'a b'", PY_OK, 0, "pytest", "-k a b", P),
    ("poetry run python -m pytest ./tests/", PY_OK, 0, "pytest", "tests", P),
    ("coverage run -m pytest -n 4 -x", PY_OK, 0, "pytest", "", P),
    ("bash -lc \"cd sub && .venv/bin/pytest -q 'tests/x y'\"", PY_OK, 0, "pytest", "tests/x y", P),
    ("(cd sub; pytest -q) 2>&1", PY_OK, 0, "pytest", "", P),
    ("{ pytest -q; }", PY_OK, 0, "pytest", "", P),
    ("pytest \\\n  -q \\\n  tests", PY_OK, 0, "pytest", "tests", P),
    ("npx --yes jest --ci", JEST_OK, 0, "jest", "", P),
    ("npx vitest run src/a", VT_OK, 0, "vitest", "src/a", P),
    ("yarn jest", JEST_OK, 0, "jest", "", P),
    ("OUT=$(pytest -q)", "", 0, "pytest", "", U),
    ('X=$(pytest -q); echo "$X"', PY_OK, 0, "pytest", "", U),
    # what is no pass
    ("pytest", PY_NONE, 5, "pytest", "", U),
    ("pytest", PY_NONE, 0, "pytest", "", U),
    ("pytest", "3 skipped in 0.01s\n", 0, "pytest", "", U),
    ("pytest", "/usr/bin/python3: No module named pytest\n", 1, "pytest", "", U),
    ("pytest", "bash: pytest: command not found", 127, "pytest", "", U),
    ("pytest tests/nope.py", "ERROR: file or directory not found: tests/nope.py\n", 4, "pytest", "tests/nope.py", U),
    ("pytest", "!!!!!!!!! KeyboardInterrupt !!!!!!!!!\n===== 3 passed in 0.30s =====\n", 2, "pytest", "", U),
    ("pytest", "!!!!!!!!! KeyboardInterrupt !!!!!!!!!\n===== 3 passed in 0.30s =====\n", None, "pytest", "", U),
    ("pytest", "INTERNALERROR> boom\n===== 3 passed in 0.30s =====\n", None, "pytest", "", U),
    ("pytest --cov --cov-fail-under=90", "FAIL Required test coverage of 90% not reached. Total coverage: 50.00%\n" + PY_OK, 1, "pytest", "--cov-fail-under=90", F),
    ("pytest", PY_OK, 1, "pytest", "", U),
    ("timeout 5 pytest", "....", 124, "pytest", "", U),
    ("pytest", "Segmentation fault", 139, "pytest", "", U),
    ("pytest; cat old.log", "4 passed in 0.1s\n", 0, "pytest", "", U),
    ("cat old.log; pytest", "4 passed in 0.1s\n", None, "pytest", "", U),
    ("git show HEAD:log.txt && pytest -q | tail -1", "4 passed in 0.1s\n", 0, "pytest", "", U),
    ("pytest -q | tail -1; echo '4 passed in 0.1s'", "4 passed in 0.1s\n", 0, "pytest", "", U),
    ("pytest | grep passed old.log", "4 passed in 0.1s\n", 0, "pytest", "", U),
    ("pytest > log 2>&1; tail -5 log", PY_OK, 0, "pytest", "", U),
    ("pytest -q | grep -o '[0-9]* passed'", "4 passed\n", 0, "pytest", "", U),
    ("pytest -q a" + CUT, PY_OK, 0, "pytest", "a" + CUT, U),
    ("pytest 'tests/unclosed", PY_OK, 0, "pytest", "tests/unclosed", U),
    # the other programs
    ("python -m unittest discover -s tests", UT_OK, 0, "unittest", "-s tests", P),
    ("python -m unittest", UT_BAD, None, "unittest", "", F),
    ("python -m unittest", "Ran 0 tests in 0.000s\n\nOK\n", 0, "unittest", "", U),
    ("python -m unittest", "OK\n", None, "unittest", "", U),
    ("python manage.py test app --noinput", UT_OK, 0, "django test", "app", P),
    ("npx jest", JEST_BAD, None, "jest", "", F),
    ("npx jest", JEST_BROKEN_SUITE, None, "jest", "", F),
    ("npx jest 2>&1 | tail -3", "Tests:       4 passed, 4 total\nSnapshots:   0 total\n", 0, "jest", "", U),
    ("npx jest", JEST_OK + 'Jest: "global" coverage threshold for lines (90%) not met: 50%\n', 1, "jest", "", F),
    ("npx jest", "npm error could not determine executable to run", 1, "jest", "", U),
    ("npx vitest run", VT_BAD, 1, "vitest", "", F),
    ("npx vitest run", VT_UNHANDLED, None, "vitest", "", F),
    ("go test ./...", GO_OK, 0, "go test", "./...", P),
    ("go test ./... | tail -1", "ok  \texample.com/b\t0.01s\n", 0, "go test", "./...", P),
    ("go test ./... | grep ok", "ok  \texample.com/b\t0.01s\n", 0, "go test", "./...", U),
    ("go test ./... -run TestX -v", GO_BAD, 1, "go test", "./... -run TestX", F),
    ("go test ./a", "# example.com/a\n./a.go:3: undefined: x\nFAIL\texample.com/a [build failed]\nFAIL\n", 1, "go test", "./a", F),
    ("go test -run NoSuch ./a", "ok  \texample.com/a\t0.01s [no tests to run]\n", 0, "go test", "-run NoSuch ./a", U),
    ("go test ./...", "ok  \ta\t0.1s\n" + CUT + "\nok  \tb\t0.1s\n", None, "go test", "./...", P),
    ("go test ./...", "ok  \ta\t0.1s\n" + CUT + "\n", None, "go test", "./...", U),
    ("cargo test", CARGO_OK, 0, "cargo test", "", P),
    ("cargo +nightly test --workspace", CARGO_BAD, 101, "cargo test", "", F),
    ("cargo test 2>/dev/null | tail -2", CARGO_OK, 0, "cargo test", "", U),
    ("cargo test", "error[E0308]: mismatched types\nerror: could not compile `x` (lib test) due to 1 previous error\n", 101, "cargo test", "", F),
    ("cargo nextest run", "     Summary [   0.1s] 5 tests run: 4 passed, 1 failed, 0 skipped\n", 100, "cargo test", "", F),
    ("node --test", NODE_OK, 0, "node --test", "", P),
    ("node --test test/a.js", NODE_BAD, 1, "node --test", "test/a.js", F),
    ("node --test | grep '# pass'", "# pass 3\n", 0, "node --test", "", U),
    ("npx vitest", "      Tests  5 passed (5)\n", 0, "vitest", "", P),
    ("npx vitest", "      Tests  5 passed (5)\n", None, "vitest", "", U),
    ("python -m unittest", "Ran 6 tests in 0.1s\n\nOK (expected failures=5)\n", 0, "unittest", "", P),
    ("cargo test && cargo clippy", CARGO_OK + "error: could not compile `x`\n", 101, "cargo test", "", U),
    ("go test ./a && go test ./b", GO_OK, 0, "go test", "./a", P),
    ("go test ./a; go test ./b", GO_OK, 0, "go test", "./a", U),
    ("pytest -q | sed -n 1,5p old.log", PY_OK, 0, "pytest", "", U),
    ("pytest -q &", PY_OK, None, "pytest", "", P),
    ("false || true; pytest || true", "", 0, "pytest", "", U),
    ("docker run x || pytest", "", 0, "pytest", "", U),
    ("mvn -q test", "BUILD SUCCESS\n", 0, "mvn test", "-q", P),
    ("npm --prefix web test", JEST_OK, 0, "npm test", "--prefix web", P),
    # scripts: their own exit status and what they started must agree
    ("npm test", JEST_OK, 0, "npm test", "", P),
    ("npm test", JEST_OK, None, "npm test", "", U),
    ("npm test", JEST_BAD, 1, "npm test", "", F),
    ("npm test | tail -5", JEST_BAD, 0, "npm test", "", F),
    ("npm test", "Missing script: test", 1, "npm test", "", U),
    ("pnpm run test:unit", VT_OK, 0, "pnpm", "test:unit", P),
    ("make test", PY_OK, 0, "make", "test", P),
    ("make test", PY_BAD + "make: *** [test] Error 1\n", 2, "make", "test", F),
    ("make test", "make: *** No rule to make target 'test'.  Stop.\n", 2, "make", "test", U),
    ("make -C sub check", "all good\n", 0, "make", "check", U),
    ("tox -e py311", PY_OK + PY_BAD, 1, "tox", "-e py311", F),
    ("make test; pytest -q", PY_OK, 0, "make", "test", U),
    ("bundle exec rspec", "5 examples, 0 failures\n", 0, "rspec", "", P),
    ("bundle exec rspec", "5 examples, 2 failures\n", 1, "rspec", "", F),
    ("bundle exec rspec", "5 examples, 0 failures\n", None, "rspec", "", U),
    ("./gradlew test", "BUILD FAILED in 3s\n", 1, "gradle test", "", F),
]  # fmt: skip


@pytest.mark.parametrize(("command", "output", "code", "runner", "target", "verdict"), CASES)
def test_a_run_and_its_verdict(
    command: str, output: str, code: int | None, runner: str, target: str, verdict: Verdict
) -> None:
    run = runs_of(command, output, code, None)[0]
    assert (run.runner, run.target, run.verdict) == (runner, target, verdict), run.how
    assert run.how


def test_there_are_enough_cases() -> None:
    assert len(NO_RUNS) + len(CASES) >= 80


def test_counts_and_failing_names_are_the_summarys_own() -> None:
    run = runs_of("pytest -q", PY_BAD, 1, None)[0]
    assert (run.passed, run.failed, run.skipped) == (3, 2, 2)
    assert run.failing == ("tests/test_a.py::test_one", "tests/test_b.py")
    assert run.summary == "1 failed, 3 passed, 2 skipped, 1 error in 0.31s (0:00:01)"
    assert runs_of("npx jest", JEST_BAD, 1, None)[0].failing == ("math › adds",)
    assert runs_of("npx vitest run", VT_BAD, 1, None)[0].failing == ("src/a.test.ts > adds",)
    assert runs_of("go test ./...", GO_BAD, 1, None)[0].failing == ("TestX",)
    assert runs_of("cargo test", CARGO_BAD, 101, None)[0].failing == ("math::adds",)
    assert runs_of("node --test", NODE_BAD, 1, None)[0].failing == ("adds",)
    assert runs_of("python -m unittest", UT_BAD, 1, None)[0].failing == ("test_x (m.T.test_x)",)


def test_colours_and_rewritten_lines_change_nothing() -> None:
    coloured = "\x1b[31m=== \x1b[1m1 failed\x1b[0m, \x1b[32m2 passed\x1b[0m\x1b[31m in 0.12s\x1b[0m ===\x1b[0m\r\n"
    assert runs_of("pytest", coloured, None, None)[0].verdict is F
    assert runs_of("npx jest", "RUNS a\rTests: 9 failed\r\x1b[2K" + JEST_OK, None, None)[0].verdict is P


def test_a_failure_flag_stands_for_the_code_that_is_not_given() -> None:
    assert runs_of("pytest -qq", "....\n", None, False)[0].verdict is P
    assert runs_of("pytest -qq", "..F.\n", None, True)[0].verdict is F


def test_several_runs_of_a_line_get_their_own_summaries_or_none() -> None:
    both = runs_of("pytest a; pytest b", "1 failed in 0.1s\n2 passed in 0.1s\n", 0, None)
    assert [(run.target, run.verdict) for run in both] == [("a", F), ("b", P)]
    chain = runs_of("pytest a && pytest b", "1 failed in 0.1s\n", 1, None)
    assert [run.verdict for run in chain] == [F, U]
    unclear = runs_of("pytest a; pytest b", "2 passed in 0.1s\n", None, None)
    assert [run.verdict for run in unclear] == [U, U]
    mixed = runs_of("pytest -q && npx jest", PY_OK + JEST_BAD, 1, None)
    assert [(run.runner, run.verdict) for run in mixed] == [("pytest", P), ("jest", F)]


def test_a_folder_changed_to_is_the_runs_own_and_ends_with_its_subshell() -> None:
    assert runs_of("cd api && pytest", PY_OK, 0, None)[0].directory == "api"
    assert runs_of("(cd api && make); pytest", PY_OK, 0, None)[0].directory == ""
    assert runs_of("cd /w/app/api; cd ../web; npx jest", JEST_OK, 0, None)[0].directory == "/w/app/web"


@pytest.mark.parametrize(
    ("wide", "narrow", "covered"),
    [
        ("", "tests/a.py::test_x", True), ("tests", "tests/a.py", True), ("tests/a.py", "tests/a.py::test_x", True),
        ("tests/a", "tests/ab", False), ("tests/a.py", "tests", False), ("-k x", "tests", False), ("tests -k x", "tests/a.py", False),
        ("./...", "./pkg/a -run X", True), ("./pkg/...", "./pkg/a", True), ("./pkg/...", "./other", False),
        ("tests/a tests/b", "tests/b/c.py", True), ("tests", "tests/a.py -k foo", True), ("tests", "-k foo", False),
        ("tests/a.py", "tests/a.py tests/b.py", False), (".", "tests", True), ("--lf", "", False),
    ],
)  # fmt: skip
def test_a_wider_target_covers_a_narrower_one_only_where_that_is_sure(wide: str, narrow: str, covered: bool) -> None:
    assert covers(wide, narrow) is covered


@pytest.mark.parametrize(
    "text", ["((((" * 500, "$(" * 2000, "'" * 3001, "if " * 3000, "a && " * 3000 + "pytest", "<<E\n" * 999]
)
def test_absurd_lines_are_read_in_bounds(text: str) -> None:
    assert all(run.verdict is U for run in runs_of(text + " pytest", "", 0, None)[:1] if "&&" not in text)
