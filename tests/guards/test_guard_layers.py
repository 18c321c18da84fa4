"""The layer rule of docs/ARCHITECTURE.md, and the rules about who may read the environment or start tasks."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "aimemory"
LAYERS = [  # low to high; names in one row must not import each other
    {"errors", "points"}, {"model"}, {"datadir", "processes"}, {"config"}, {"privacy"}, {"project"},
    {"wiki", "journal", "index", "providers"}, {"store"}, {"facts"}, {"sessions"},
    {"handoff", "recall"}, {"brief", "upkeep"}, {"api"}, {"harness", "install"},
    {"intake", "doctor"}, {"server"}, {"daemon"}, {"cli"}, {"__main__", "__init__"},
]  # fmt: skip
RANK = {name: i for i, row in enumerate(LAYERS) for name in row} | {"hookclient": 99, "stdio": 99}
MAY = {name: {"hookclient", "stdio", "errors", "model", "privacy", "datadir"} for name in ("hookclient", "stdio")}
OPENS = {("__main__", "stdio"), ("__main__", "cli"), ("__init__", "api")}
"""The two doors of the package: they load on demand what they open."""


def sources():
    return [(path, ast.parse(path.read_text(encoding="utf-8"))) for path in sorted(ROOT.rglob("*.py"))]


def imported(tree):
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (name.split(".")[1] for name in names if name.startswith("aimemory."))


def allowed(here, there):
    if here == there or there not in RANK or (here, there) in OPENS:
        return True
    return there in MAY[here] if here in MAY else RANK[there] < RANK[here]


def test_every_import_points_to_a_lower_layer():
    bad = [
        f"{path.relative_to(ROOT)} imports {there}"
        for path, tree in sources()
        for here in [path.relative_to(ROOT).with_suffix("").parts[0]]
        for there in imported(tree)
        if not allowed(here, there)
    ]
    assert not bad, "\n".join(bad)


def test_every_top_level_module_has_a_layer():
    names = {p.stem for p in ROOT.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}

    assert names == set(RANK)


@pytest.mark.parametrize("here, there", [("model", "store"), ("wiki", "index"), ("hookclient", "store")])
def test_the_rule_sees_what_it_forbids(here, there):
    assert not allowed(here, there)


def names_used(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def users_of(*names):
    return {str(path.relative_to(ROOT)) for path, tree in sources() for used in names_used(tree) if used in names}


def test_only_config_and_the_two_clients_read_the_environment():
    users = users_of("os.environ", "os.getenv", "posix.environ")

    assert {path for path in users if not path.startswith(("hookclient/", "stdio/"))} == {"config.py"}


def test_long_lived_tasks_are_created_by_the_daemon_alone():
    assert {path.split("/")[0] for path in users_of("asyncio.create_task")} == {"daemon"}


def test_only_privacy_can_make_a_sanitized_value():
    users = {str(p.relative_to(ROOT)) for p, tree in sources() for used in names_used(tree) if used == "Sanitized"}

    assert all(path.startswith("privacy/") for path in users), users
