# Two commands: `make up` installs and starts the daemon, `make test` tests it. `make help` lists the rest.
# Everything is installed into .venv of this folder; the second time nothing is downloaded.

PYTHON ?= python3
PIP = .venv/bin/python -m pip --disable-pip-version-check -q

.DEFAULT_GOAL := help
.PHONY: help up down status test lint bench soak e2e clean

help:  ## this list
	@grep -E '^[a-z0-9-]+:.*##' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 12

up: .venv/installed  ## install, start the daemon, say what to try
	@.venv/bin/python -m aimemory up
	@echo
	@echo 'Try next:'
	@echo '  .venv/bin/aimemory demo            two scripted agents, a crash, one handoff: a few seconds'
	@echo '  .venv/bin/aimemory preview ~/app   what the next agent would be told where Claude Code or Codex worked'
	@echo '  .venv/bin/aimemory connect         what would change in their settings; --apply writes it'
	@echo '  .venv/bin/aimemory status          what runs, what was captured, what is wrong'
	@echo 'Stop it with: make down'

down:  ## stop the daemon
	@if [ -e .venv/installed ]; then .venv/bin/python -m aimemory down; else echo 'Nothing is installed here yet.'; fi

status: .venv/installed  ## what runs, what was captured, what is wrong
	@.venv/bin/python -m aimemory status

test: .venv/tested  ## install what the tests need, and run them
	@.venv/bin/python -m pytest -m 'alone and not soak and not e2e'
	@.venv/bin/python -m pytest -m 'not alone and not soak and not e2e' -n auto --maxprocesses 4 --dist loadfile

lint: .venv/linted  ## format, lint, types, layers
	@.venv/bin/ruff format --check .
	@.venv/bin/ruff check .
	@.venv/bin/mypy
	@.venv/bin/lint-imports

bench: .venv/tested  ## run the benchmarks
	@.venv/bin/python bench/run.py

soak: .venv/tested  ## the long runs: 200 kills under load
	@.venv/bin/python -m pytest -m soak tests/system

e2e: .venv/tested  ## the real Claude Code and Codex (from npm) with the memory, on loopback only
	@.venv/bin/python -m pytest -m e2e tests/e2e

clean:  ## remove what was installed here (data stays)
	rm -rf .venv

.venv/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "aimemory needs Python 3.11 or newer, and $(PYTHON) is not. On Debian: apt install python3 python3-venv"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "Python's venv module is missing. On Debian: apt install python3-venv"; exit 1; }
	@command -v git >/dev/null || { echo "git is missing. On Debian: apt install git"; exit 1; }
	@echo 'Making a virtual environment in .venv ...'
	@$(PYTHON) -m venv .venv
	@touch .venv/made

.venv/installed: .venv/made pyproject.toml
	@echo 'Installing aimemory and what it needs ...'
	@$(PIP) install -e . || { echo 'Installing failed: see above. The first time, the package index must be reachable.'; exit 1; }
	@touch .venv/installed

.venv/tested: .venv/installed
	@echo 'Installing what the tests need ...'
	@$(PIP) install -e '.[test]'
	@touch .venv/tested

.venv/linted: .venv/tested
	@$(PIP) install -e '.[test,lint]'
	@touch .venv/linted
