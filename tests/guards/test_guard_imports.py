"""What a fast path may import, looked at in a fresh interpreter."""

import subprocess
import sys


def modules_after(code):
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"{code}\nimport sys\nprint(*sorted(sys.modules))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(done.stdout.split())


def test_the_command_line_meets_no_server():
    loaded = modules_after("import aimemory.cli.main, aimemory.cli.lifecycle, aimemory.cli.pages")

    assert not loaded & {"starlette", "uvicorn", "mcp", "pygit2", "aiosqlite", "asyncio", "yaml", "http.client"}


def test_the_daemon_starts_without_the_mcp_library():
    loaded = modules_after("import aimemory.daemon")

    assert not loaded & {"mcp", "pydantic", "httpx", "jsonschema", "numpy", "tokenizers", "wordllama"}


def test_the_package_itself_imports_nothing():
    before = modules_after("pass")

    assert modules_after("import aimemory") - before == {"aimemory"}
