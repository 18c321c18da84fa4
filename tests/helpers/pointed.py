"""A daemon that dies or fails at a named point when it is told to, and the list of all points in the source."""

import ast
import json
import signal
import subprocess
import sys
import uuid
from pathlib import Path

from living import LIMIT_S, Daemon

import aimemory

SOURCE = Path(aimemory.__file__).parent
PROGRAM = Path(__file__).with_name("with_points.py")


def points_in_source() -> dict[str, list[str]]:
    """Every point that the code names, with the files that name it; and a name that is no literal as "?"."""
    found: dict[str, list[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "points.reached":
                (name,) = node.args
                known = name.value if isinstance(name, ast.Constant) else "?"
                found.setdefault(known, []).append(str(path.relative_to(SOURCE)))
    return found


class Pointed(Daemon):
    """As `Daemon`; `arm` says what happens at which point."""

    def __init__(self, root: Path, **settings: object) -> None:
        super().__init__(root, **settings)
        self.control = root / "point"
        self.program = [sys.executable, "-I", str(PROGRAM), str(self.control)]

    def arm(self, point: str, do: str = "kill", nth: int = 1, times: int = 0) -> None:
        told = {"point": point, "do": do, "nth": nth, "times": times, "id": uuid.uuid4().hex}
        beside = self.control.with_name("point.tmp")
        beside.write_text(json.dumps(told))
        self._file("done").unlink(missing_ok=True)
        beside.replace(self.control)

    def disarm(self) -> None:
        self.control.unlink(missing_ok=True)

    def happened(self) -> int:
        """How often the armed point has done its work since `arm`."""
        path = self._file("done")
        return len(path.read_text().splitlines()) if path.exists() else 0

    def seen(self) -> set[str]:
        path = self._file("seen")
        return set(path.read_text().splitlines()) if path.exists() else set()

    def dies(self, limit_s: float = LIMIT_S) -> None:
        """Wait for the death that `arm` asked for."""
        assert self.process is not None
        try:
            assert self.process.wait(limit_s) == -signal.SIGKILL, (self.root / "stderr").read_text()
        except subprocess.TimeoutExpired:
            raise AssertionError(f"not reached within {limit_s:.0f} s: {self.control.read_text()}") from None
        self.process = None
        self.disarm()

    def command_dies(self, *arguments: str) -> None:
        """Run a command that dies at the armed point."""
        done = self.cli(*arguments)
        assert done.returncode == -signal.SIGKILL, (done.returncode, done.stderr)
        self.disarm()

    def _file(self, what: str) -> Path:
        return self.control.with_name(f"{self.control.name}.{what}")
