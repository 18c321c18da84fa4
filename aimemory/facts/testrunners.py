"""The table of test programs: how each is called, which of its options select tests, what its exit status means."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from posixpath import normpath

from aimemory.facts.programs import Program

_HELP = frozenset(["--help", "-h", "--version", "-V", "help", "--dry-run", "--showConfig", "--init", "--clearCache"])
_TESTY = re.compile(r"(?:^|[-_:/.])(?:tests?|check|specs?|unit(?:test)?s?|e2e|pytest|jest|vitest)(?:$|[-_:/.])")


def word_set(text: str) -> frozenset[str]:
    """The words of a text, for tables."""
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Runner:
    """One way to start tests.

    name: as pages show it. programs: its program names. lead: words that must come first, one of these sequences.
    needs: an option without which it runs no tests. reader: which summaries it prints; None: those of whatever it
    starts. quiet: options that select nothing; quiet_valued: such that take the next word. selecting: options that
    take the next word and select by it. no_run: with one of these nothing is run. exits: exit status → passed?
    """

    name: str
    programs: frozenset[str]
    lead: tuple[tuple[str, ...], ...] = ((),)
    needs: str = ""
    reader: str | None = None
    quiet: frozenset[str] = frozenset()
    quiet_valued: frozenset[str] = frozenset()
    selecting: frozenset[str] = frozenset()
    no_run: frozenset[str] = _HELP
    exits: Mapping[int, bool] = field(default_factory=dict)
    script: bool = False


@dataclass(frozen=True, slots=True)
class Started:
    """A test program in a line, and which tests it was given ("" for all)."""

    runner: Runner
    program: Program
    target: str


RUNNERS: tuple[Runner, ...] = (
    Runner(
        "pytest",
        word_set("pytest py.test"),
        reader="pytest",
        quiet=word_set(
            "-q -qq -v -vv -vvv -s -x -l --verbose --quiet --exitfirst --no-header --no-summary "
            "--disable-warnings --strict-markers --strict-config --showlocals --full-trace "
            "--no-cov --cov --forked --ff --nf --failed-first --cache-clear --exitfirst"
        ),
        quiet_valued=word_set(
            "-n --numprocesses --maxfail --tb --color --durations -r -W -p -o -c --rootdir "
            "--timeout --cov-report --junitxml --junit-xml --basetemp --confcutdir --log-cli-level "
            "--dist --import-mode --capture"
        ),
        selecting=word_set("-k -m --deselect --ignore --ignore-glob"),
        no_run=_HELP
        | word_set(
            "--collect-only --co --fixtures --fixtures-per-test --markers --setup-plan "
            "--setup-only --cache-show --trace-config"
        ),
        exits={0: True, 1: False},
    ),
    Runner(
        "unittest",
        word_set("unittest"),
        reader="unittest",
        quiet=word_set("-v -q -f -b -c discover --verbose --quiet --failfast --buffer --catch --locals"),
        selecting=word_set("-k -p --pattern -s --start-directory -t --top-level-directory"),
        exits={1: False},
    ),
    Runner(
        "django test",
        word_set("manage.py django-admin"),
        (("test",),),
        reader="unittest",
        quiet=word_set("--noinput --no-input --keepdb --parallel --failfast -v --debug-mode --timing"),
        quiet_valued=word_set("-v --verbosity --settings"),
        selecting=word_set("--tag --exclude-tag -k"),
        exits={1: False},
    ),
    Runner(
        "jest",
        word_set("jest"),
        reader="jest",
        quiet=word_set(
            "--ci --verbose --coverage --runInBand -i --silent --no-cache --watchAll=false "
            "--watch=false --colors --no-colors --bail -b --detectOpenHandles --forceExit "
            "--no-coverage"
        ),
        quiet_valued=word_set("--maxWorkers -w --testTimeout --reporters"),
        selecting=word_set("-t --testNamePattern --testPathPattern --testPathPatterns --selectProjects"),
        no_run=_HELP | word_set("--listTests"),
        exits={0: True, 1: False},
    ),
    Runner(
        "react-scripts test",
        word_set("react-scripts craco"),
        (("test",),),
        reader="jest",
        quiet=word_set("--watchAll=false --ci --coverage"),
        selecting=word_set("-t"),
    ),
    Runner(
        "vitest",
        word_set("vitest"),
        (("run",), ("related",), ("watch",), ()),
        reader="vitest",
        quiet=word_set("--run --coverage --silent --no-color --watch=false --no-watch --bail"),
        quiet_valued=word_set("--reporter --pool --config -c"),
        selecting=word_set("-t --testNamePattern --project --dir"),
        no_run=_HELP | word_set("list bench init --mergeReports typecheck"),
        exits={0: True, 1: False},
    ),
    Runner(
        "go test",
        word_set("go"),
        (("test",),),
        reader="go test",
        quiet=word_set("-v -race -cover -failfast -json -vet=off -count=1 -a"),
        quiet_valued=word_set("-count -timeout -p -parallel -cpu -coverprofile -covermode -coverpkg -vet"),
        selecting=word_set("-run -skip -tags"),
        no_run=_HELP | word_set("-c -list -n -fuzz"),
        exits={1: False},
    ),
    Runner(
        "cargo test",
        word_set("cargo"),
        (("test",), ("t",), ("nextest", "run"), ("nextest", "r")),
        reader="cargo test",
        quiet=word_set(
            "-q -v --quiet --verbose --workspace --all --no-fail-fast --locked --offline --frozen "
            "-- --nocapture --show-output --all-targets"
        ),
        quiet_valued=word_set("--test-threads -j --jobs --color --message-format --manifest-path --target-dir"),
        selecting=word_set("-p --package --test --features --exclude --bin --example --bench --profile --skip -E -F"),
        no_run=_HELP | word_set("--no-run --list"),
    ),
    Runner(
        "node --test",
        word_set("node nodejs"),
        needs="--test",
        reader="node --test",
        quiet=word_set(
            "--test --experimental-strip-types --no-warnings --experimental-test-coverage --enable-source-maps"
        ),
        quiet_valued=word_set(
            "--test-reporter --test-reporter-destination --import --require -r --loader "
            "--test-concurrency --test-timeout"
        ),
        selecting=word_set("--test-name-pattern --test-skip-pattern"),
        exits={1: False},
    ),
    *(
        Runner(name, word_set(programs), tuple(tuple(way.split()) for way in lead.split("|")))
        for name, programs, lead in (
            ("mocha", "mocha _mocha", ""),
            ("ava", "ava", ""),
            ("tap", "tap", ""),
            ("playwright", "playwright", "test"),
            ("cypress", "cypress", "run"),
            ("ng test", "ng", "test"),
            ("karma", "karma", "start|run"),
            ("deno test", "deno", "test"),
            ("rspec", "rspec", ""),
            ("phpunit", "phpunit", ""),
            ("pest", "pest", ""),
            ("dotnet test", "dotnet", "test"),
            ("swift test", "swift", "test"),
            ("ctest", "ctest", ""),
            ("bats", "bats", ""),
            ("mix test", "mix", "test"),
            ("sbt test", "sbt", "test"),
            ("gradle test", "gradle gradlew", "test|check|clean test"),
            ("mvn test", "mvn mvnw", "test|verify|clean test|clean verify"),
            ("flutter test", "flutter dart", "test"),
            ("zig test", "zig", "test|build test"),
            ("bazel test", "bazel bazelisk", "test"),
            ("stack test", "stack", "test"),
            ("cabal test", "cabal", "test"),
            ("behave", "behave", ""),
            ("robot", "robot", ""),
            ("nose2", "nose2 nosetests", ""),
            ("trial", "trial", ""),
            ("ginkgo", "ginkgo", ""),
            ("gotestsum", "gotestsum", ""),
            ("rails test", "rails", "test"),
        )
    ),
    *(
        Runner(name, word_set(programs), tuple(tuple(way.split()) for way in lead.split("|")), script=True)
        for name, programs, lead in (
            ("tox", "tox", ""),
            ("nox", "nox", ""),
            ("bun test", "bun", "test"),
            ("hatch test", "hatch", "test"),
            ("npm test", "npm", "test|t|tst|run test|run-script test|run-script tests|run tests"),
            ("pnpm test", "pnpm", "test|t|run test"),
            ("yarn test", "yarn", "test|run test"),
            ("rake test", "rake", "test|spec"),
        )
    ),
)

_NAMED = {
    "npm": ("run", "run-script"),
    "pnpm": ("run", ""),
    "yarn": ("run", ""),
    "bun": ("run",),
    "make": ("",),
    "gmake": ("",),
    "just": ("",),
    "task": ("",),
    "rake": ("",),
}
"""Programs that run what a project calls by a name: the word after which the name stands, "" for at once."""

_SEVERAL = frozenset(["make", "gmake", "just"])
_VALUED = frozenset(
    ["-C", "-f", "--prefix", "-w", "--workspace", "--filter", "--dir", "-j", "--directory", "--file", "-o"]
)


def started(program: Program) -> Started | None:
    """The test program that this one is, None if it runs no tests."""
    words = program.words
    if program.name == "cargo" and words and words[0].startswith("+"):
        words = words[1:]
    if program.name in ("yarn", "bun"):  # `yarn jest`: not unwrapped as others are, since `yarn test` is a script
        called = words[1:] if words[:1] == ("run",) else words
        if called and any(called[0] in runner.programs and not runner.lead[0] for runner in RUNNERS):
            return started(replace(program, name=called[0], words=called[1:]))
    for runner in RUNNERS:
        if program.name not in runner.programs or (runner.needs and runner.needs not in words):
            continue
        options, behind = _leading_options(words) if runner.lead[0] else ((), words)
        rest = next((options + behind[len(lead) :] for lead in runner.lead if behind[: len(lead)] == lead), None)
        if rest is not None:
            return (
                None if runner.no_run.intersection(rest) else Started(runner, program, _target(runner, rest, program))
            )
    return _by_name(program)


def _leading_options(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """`--prefix web test` as the options and what stands behind them."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _VALUED else 1
    return words[:at], words[at:]


def _by_name(program: Program) -> Started | None:
    """`npm run test:unit`, `make check`: the name says that these are tests."""
    if program.name not in _NAMED or {"-n", "--dry-run", "--just-print", "--help", "--version"}.intersection(
        program.words
    ):
        return None
    plain, skip = [], False
    for word in program.words:
        if not skip and not word.startswith("-") and "=" not in word:
            plain.append(word)
        skip = not skip and word in _VALUED
    run = _NAMED[program.name]
    lead = plain[0] if plain and plain[0] in run else ""
    if lead not in run:
        return None
    names = plain[1:] if lead else plain
    if program.name not in _SEVERAL:
        names = names[:1]
    if not any(_TESTY.search(name) for name in names):
        return None
    target = " ".join(names)
    return Started(Runner(program.name, frozenset([program.name]), script=True), program, target)


def _target(runner: Runner, words: tuple[str, ...], program: Program) -> str:
    """What selects tests, in the order given: paths, names, selecting options, and options that nobody knows."""
    kept: list[str] = [
        f"[{setting}]" for setting in program.settings if setting.startswith(("PYTEST_ADDOPTS=", "GOFLAGS="))
    ]
    skip = False
    for at, word in enumerate(words):
        if skip:
            skip = False
            continue
        name = word.partition("=")[0]
        if word in runner.quiet or (name in runner.quiet | runner.quiet_valued and "=" in word):
            continue
        if word in runner.quiet_valued:
            skip = True
        elif word in runner.selecting:
            kept.append(" ".join(words[at : at + 2]))
            skip = True
        elif any(
            len(option) == 2 and word.startswith(option) for option in runner.quiet_valued
        ) and not word.startswith("--"):
            continue  # `-n4`, `-rA`
        else:
            kept.append(word if runner.name == "go test" else _shown(word))
    return " ".join(kept)[:300]


def _shown(word: str) -> str:
    if word.startswith("-") or not word:
        return word
    if word.startswith("./"):
        word = normpath(word)
    return word.rstrip("/") or word


def covers(wide: str, narrow: str) -> bool:
    """Whether the tests that `wide` names include all that `narrow` names; only where that is sure.

    No target names all tests. A folder or file covers what lies in it. Options select in ways that are not compared.
    """
    if wide in ("", narrow):
        return True
    if "-" in (word[0] for word in wide.split()) or "[" in wide:
        return False
    roots = [_root(word) for word in wide.split()]
    paths = _OPTION.sub("", " " + narrow).split()
    return bool(paths) and all(any(_lies_in(path, root) for root in roots) for path in paths)


_OPTION = re.compile(r" -\S+(?: (?!-)[^ /.]+(?= |\Z))?")


def _root(word: str) -> str:
    return word.removesuffix("...").removesuffix("/").removeprefix("./") or "."


def _lies_in(path: str, root: str) -> bool:
    path = path.removeprefix("./")
    if root == ".":
        return not path.startswith(("/", "..", "["))
    return path == root or path.startswith((f"{root}/", f"{root}::"))
