"""`.aimemory.toml`: where it holds, and what a damaged one means."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from aimemory.project.resolve import Resolver
from aimemory.project.settings import read_settings

Repo = Callable[..., Path]


def resolver(tmp_path: Path) -> Resolver:
    return Resolver(str(tmp_path / "home"), (str(tmp_path / "tmp"),))


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / ".aimemory.toml"
    path.write_text(text)
    return path


def test_the_nearest_name_wins_and_other_settings_come_from_the_nearest_file_that_has_them(tmp_path: Path) -> None:
    write(tmp_path / "acme", 'project = "outer"\nworkspace = "Acme Corp"\n[capture]\nignore = ["secret/**"]\n')
    write(tmp_path / "acme/app", 'project = "inner"\n')
    (tmp_path / "acme/app/src").mkdir()

    found = resolver(tmp_path).resolve(str(tmp_path / "acme/app/src"))

    assert (found.identity, found.workspace, found.root) == ("inner", "acme-corp", str(tmp_path / "acme/app"))
    assert (found.capture, found.capture_root) == ({"ignore": ["secret/**"]}, str(tmp_path / "acme"))


def test_a_file_above_a_repository_names_it_but_not_from_inside_another_repository(tmp_path: Path, repo: Repo) -> None:
    inner = repo(tmp_path / "outer/inner", "git@github.com:acme/inner.git")
    write(tmp_path / "outer", 'project = "outer"\nworkspace = "acme"\n')
    assert resolver(tmp_path).resolve(str(inner)).identity == "outer"

    repo(tmp_path / "outer")

    found = resolver(tmp_path).resolve(str(inner))
    assert (found.identity, found.workspace) == ("github.com/acme/inner", "acme")


def test_a_file_at_home_names_home_only_while_its_other_settings_hold_below(tmp_path: Path) -> None:
    write(tmp_path / "home", 'project = "home"\n[capture]\nmode = "off"\n')
    (tmp_path / "home/src").mkdir()

    at_home, below = (resolver(tmp_path).resolve(str(tmp_path / part)) for part in ("home", "home/src"))

    assert (at_home.source, at_home.identity) == ("file", "home")
    assert (below.source, below.identity) == ("directory", f"dir:{tmp_path}/home/src")
    assert below.capture == {"mode": "off"}


def test_a_scratch_folder_is_a_project_if_its_own_file_says_so(tmp_path: Path) -> None:
    write(tmp_path / "tmp", 'project = "all"\n')
    write(tmp_path / "tmp/trial", 'project = "trial"\n')
    (tmp_path / "tmp/other").mkdir()

    assert resolver(tmp_path).resolve(str(tmp_path / "tmp/trial")).identity == "trial"
    assert resolver(tmp_path).resolve(str(tmp_path / "tmp/other")).source == "none"


def test_a_name_written_as_a_remote_is_that_remote(tmp_path: Path) -> None:
    write(tmp_path / "app", 'project = "https://github.com/Acme/App.git"\n')

    assert resolver(tmp_path).resolve(str(tmp_path / "app")).identity == "github.com/acme/app"


@pytest.mark.parametrize("damage", ["project = ", "\xff", "directory", "pipe", "large", "[" * 5000])
def test_a_damaged_file_names_nothing_is_reported_and_lets_no_content_be_recorded(
    tmp_path: Path, repo: Repo, damage: str
) -> None:
    top = repo(tmp_path / "app", "git@github.com:acme/app.git")
    path = top / ".aimemory.toml"
    if damage == "directory":
        path.mkdir()
    elif damage == "pipe":
        os.mkfifo(path)
    else:
        path.write_bytes(b"#" * 70_000 if damage == "large" else damage.encode("latin-1"))

    found = resolver(tmp_path).resolve(str(top))

    assert found.identity == "github.com/acme/app"
    assert found.capture == {"mode": "metadata"}
    assert str(path) in " ".join(found.problems)


def test_a_repaired_file_counts_at_once(tmp_path: Path) -> None:
    path = write(tmp_path / "app", "project = ")
    resolve = resolver(tmp_path)
    assert resolve.resolve(str(tmp_path / "app")).problems

    path.write_text('project = "app"\n')

    found = resolve.resolve(str(tmp_path / "app"))
    assert (found.identity, found.problems) == ("app", ())


def test_every_wrong_key_is_reported_and_the_right_ones_count() -> None:
    found = read_settings("f", b'project = 3\nworkspace = "w"\nprojct = "x"\ncapture = "off"\n')

    assert (found.project, found.workspace, found.capture) == (None, "w", {"mode": "metadata"})
    assert len(found.problems) == 3


def test_a_workspace_cannot_leave_the_wiki() -> None:
    assert read_settings("f", b'workspace = "../../.git"').workspace == "git"


def test_a_problem_never_quotes_the_file() -> None:
    found = read_settings("f", b"token = S3CRET")

    assert found.problems
    assert "S3CRET" not in " ".join(found.problems)
    (problem,) = read_settings("f", b"a = 1\n[S3CRET]\n[S3CRET]\n").problems
    assert problem.startswith("f is not valid TOML, line 3. ") and "S3CRET" not in problem
    assert read_settings("f", b'a = "x').problems[0].startswith("f is not valid TOML, at its end: Unterminated string.")
