"""The wiki's repository, with real git beside it: what people do by hand never costs a page."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pygit2
import pytest

import aimemory
from aimemory.errors import Damaged, Unavailable, UserError
from aimemory.wiki.gitobjects import ObjectSync
from aimemory.wiki.locks import LEFT_OVER_NAME_S
from aimemory.wiki.names import slug
from aimemory.wiki.repo import WikiRepo

NOON = 1_780_000_000_000_000_000
A, B = "default/app/notes/a.md", "default/app/notes/b.md"


class Git:
    """The git command line in the wiki, as its owner uses it."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root = root
        self.env = {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_EDITOR": "true", "LC_ALL": "C"}

    def __call__(self, *args: str) -> str:
        command = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org", *args]
        done = subprocess.run(command, cwd=self.root, env=self.env, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()

    def status(self) -> str:
        return self("status", "--porcelain")

    def pages(self) -> set[str]:
        return set(self("ls-tree", "-r", "-z", "--name-only", "HEAD").strip("\0").split("\0")) - {".gitignore"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "wiki"
    root.mkdir()
    return root


@pytest.fixture
def git(root: Path, tmp_path: Path) -> Git:
    home = tmp_path / "home"
    home.mkdir()
    return Git(root, home)


@pytest.fixture
def repo(root: Path) -> Iterator[WikiRepo]:
    repo = WikiRepo(root)
    yield repo
    repo.close()


@pytest.fixture
def put(repo: WikiRepo) -> Callable[..., str | None]:
    """Write pages to disk and commit them in one commit; None deletes."""

    def put(pages: dict[str, bytes | None], message: str = "Update") -> str | None:
        for path, content in pages.items():
            file = repo.root / path
            if content is None:
                file.unlink(missing_ok=True)
            else:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
        return repo.commit(pages, author_name="ann", author_email="ann@box", message=message, when_ns=NOON)

    return put


Put = Callable[..., str | None]


def test_a_commit_names_the_actor_as_author_and_us_as_committer(put: Put, git: Git) -> None:
    commit = put({A: b"one\r\n"}, "Add a note")
    assert (
        git("log", "-1", "--format=%H|%an <%ae>|%cn|%s|%at").strip()
        == f"{commit}|ann <ann@box>|aimemory|Add a note|1780000000"
    )
    assert git("cat-file", "blob", f"HEAD:{A}") == "one\r\n"
    assert git("symbolic-ref", "HEAD") == "refs/heads/main\n"


@pytest.mark.promise("P9.38")
def test_git_status_is_clean_and_fsck_content_after_our_commits(put: Put, repo: WikiRepo, git: Git) -> None:
    assert git.status() == ""
    put({A: b"one", B: b"two\r\n", "default/über/メモ.md": b"x"})
    put({A: b"one more", B: None})
    assert repo.sync_index([A, B])
    assert git.status() == ""
    assert git("fsck", "--strict", "--no-dangling") == ""
    assert git.pages() == {A, "default/über/メモ.md"}
    (repo.root / ".obsidian").mkdir()
    for name in (".obsidian/app.json", "default/app/.aimemory-tmp-1", "default/app/notes/a.md~", ".DS_Store"):
        (repo.root / name).write_text("x")
    assert git.status() == ""


@pytest.mark.promise("P1.32")
@pytest.mark.parametrize("in_step", [True, False], ids=["index in step", "index not yet in step"])
def test_a_commit_by_hand_between_two_of_ours_keeps_every_page(
    put: Put, repo: WikiRepo, git: Git, in_step: bool
) -> None:
    put({A: b"old", "default/app/notes/gone.md": b"x"})
    repo.sync_index()
    put({A: b"new", B: b"two", "default/app/notes/gone.md": None})
    if in_step:
        repo.sync_index()
    (repo.root / "mine.md").write_text("by hand")
    git("add", "mine.md")
    git("commit", "-m", "mine")
    put({"default/app/notes/c.md": b"three"})
    repo.sync_index()

    assert git.pages() == {A, B, "mine.md", "default/app/notes/c.md"}
    assert git("cat-file", "blob", f"HEAD:{A}") == "new"
    assert git.status() == ""


def test_a_page_that_a_commit_by_hand_dropped_comes_back_without_another_write(
    put: Put, repo: WikiRepo, git: Git
) -> None:
    put({A: b"one"})
    git("commit", "--allow-empty", "-m", "mine")
    assert git.pages() == set()
    assert repo.sync_index()
    assert git.pages() == {A} and git.status() == ""


def test_what_a_person_changed_in_such_a_commit_is_not_put_back(put: Put, repo: WikiRepo, git: Git) -> None:
    put({A: b"ours", B: b"ours"})
    (repo.root / A).write_bytes(b"by hand")
    git("add", A)
    (repo.root / B).unlink()
    git("commit", "-m", "mine")
    repo.sync_index()
    assert git("cat-file", "blob", f"HEAD:{A}") == "by hand"
    assert git.pages() == {A}


def test_an_unchanged_page_makes_no_commit(put: Put, git: Git) -> None:
    put({A: b"one"})
    head = git("rev-parse", "HEAD")
    assert put({A: b"one"}) is None
    assert put({B: None, "default/none/x.md": None}) is None
    assert put({}) is None
    assert git("rev-parse", "HEAD") == head


def test_the_last_page_of_a_folder_takes_the_folder_with_it(put: Put, repo: WikiRepo, git: Git) -> None:
    put({A: b"one", "default/other/x.md": b"x"})
    put({A: None})
    assert git("ls-tree", "-r", "-t", "--name-only", "HEAD").split() == [
        ".gitignore", "default", "default/other", "default/other/x.md",
    ]  # fmt: skip
    put({"default/other/x.md": None})
    assert git.pages() == set()


def test_a_page_may_become_a_folder_and_back(put: Put, repo: WikiRepo, git: Git) -> None:
    put({"x.md": b"page"})
    repo.sync_index()
    put({"x.md": None, "x.md/inner.md": b"inner"})
    repo.sync_index()
    assert git.pages() == {"x.md/inner.md"} and git.status() == ""
    (repo.root / "x.md/inner.md").unlink()
    (repo.root / "x.md").rmdir()
    put({"x.md/inner.md": None, "x.md": b"page"})
    repo.sync_index()
    assert git.pages() == {"x.md"} and git.status() == ""


def test_an_executable_page_stays_executable(put: Put, repo: WikiRepo, git: Git) -> None:
    put({A: b"one"})
    repo.sync_index()
    (repo.root / A).chmod(0o755)
    git("commit", "-am", "mode")
    put({A: b"two"})
    assert git("ls-tree", "HEAD", A).startswith("100755")


@pytest.mark.parametrize("path", [".git/config", "a/.git/x.md", ".gitignore", "a//b.md", "../x.md", "/x.md", ""])
def test_only_pages_are_committed(repo: WikiRepo, path: str) -> None:
    with pytest.raises(UserError, match="no page"):
        repo.commit({path: b"x"}, author_name="a", author_email="a@b", message="m", when_ns=NOON)


@pytest.mark.parametrize("name", ["", "  ", "<a>", "a\nb", "\0", "\ud800"])
def test_any_name_can_be_an_author(repo: WikiRepo, git: Git, name: str) -> None:
    assert repo.commit({A: b"x"}, author_name=name, author_email=name, message=f"m{name}", when_ns=NOON)
    assert git("fsck", "--strict") == ""


def test_the_branch_moves_only_to_what_is_on_disk(
    put: Put, repo: WikiRepo, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    put({A: b"one"})
    head = git("rev-parse", "HEAD")
    asked: list[set[str]] = []

    def disk_fails(objects: ObjectSync, oids: list[pygit2.Oid]) -> None:
        asked.append({str(oid) for oid in oids})
        raise OSError("input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(ObjectSync, "sync", disk_fails)
        with pytest.raises(Unavailable, match="input/output"):
            put({A: b"two", B: b"new"})
    assert git("rev-parse", "HEAD") == head
    commit = put({A: b"two", B: b"new"})
    assert commit is not None
    made = {line.split()[0] for line in git("rev-list", "--objects", "main^..main").splitlines()}
    assert made <= asked[0] | {commit}


# -- first start and surroundings ------------------------------------------------------------------------------------


@pytest.mark.promise("P1.33")
def test_fifty_writes_at_a_first_start_in_an_empty_folder_are_all_kept(put: Put, repo: WikiRepo, git: Git) -> None:
    """faults: the first call ran before the repository existed."""
    for number in range(50):
        put({f"default/app/notes/{number}.md": b"x%d" % number})
    assert repo.sync_index()
    assert len(git.pages()) == 50 and git.status() == ""
    assert len(git("log", "--oneline").splitlines()) == 51


def test_ten_titles_in_different_scripts_are_ten_files_in_git(put: Put, repo: WikiRepo, git: Git) -> None:
    titles = [
        "メモリ",
        "データベース",
        "데이터베이스",
        "메모리",
        "Память",
        "База",
        "ذاكرة",
        "قاعدة",
        "หน่วยความจำ",
        "🚀",
    ]
    put({f"default/app/notes/{slug(title, f'id{n}')}.md": title.encode() for n, title in enumerate(titles)})
    repo.sync_index()
    assert len(git.pages()) == 10 and git.status() == ""


def test_a_second_start_changes_nothing(put: Put, root: Path, git: Git) -> None:
    put({A: b"one"})
    (root / ".gitignore").write_text("my own\n")
    head = git("rev-parse", "HEAD")
    WikiRepo(root).close()
    assert git("rev-parse", "HEAD") == head
    assert (root / ".gitignore").read_text() == "my own\n"


def test_a_start_that_was_cut_off_is_finished_by_the_next(root: Path, git: Git) -> None:
    (root / ".git" / "objects").mkdir(parents=True)
    (root / ".gitignore").write_text("*.x\n")
    WikiRepo(root).close()
    assert git.status() == "" and git("show", "HEAD:.gitignore") == "*.x\n"


@pytest.mark.promise("P9.39")
def test_neither_configuration_nor_hooks_nor_environment_of_the_user_take_part(
    root: Path, git: Git, tmp_path: Path
) -> None:
    """In a process of its own: libgit2 reads the environment once."""
    home, ran = tmp_path / "home", tmp_path / "hook-ran"
    git("init", "-q", ".")
    (home / ".gitconfig").write_text("[core\nbroken = = =\n")
    for name in ("pre-commit", "commit-msg", "post-commit", "reference-transaction", "prepare-commit-msg"):
        hook = root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\necho {name} >> {ran}\nexit 1\n")
        hook.chmod(0o755)
    with (root / ".git" / "config").open("a") as config:
        config.write("[commit]\n\tgpgsign = true\n[user]\n\tsigningkey = none\n[gpg]\n\tprogram = /bin/false\n")
    script = (
        "import pathlib, sys; from aimemory.wiki.repo import WikiRepo; repo = WikiRepo(pathlib.Path(sys.argv[1]));"
        "made = repo.commit({'a.md': b'x'}, author_name='a', author_email='a@b', message='m', when_ns=1);"
        "sys.exit(0 if made and repo.sync_index() else 3)"
    )
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "GIT_DIR": str(tmp_path / "elsewhere"),
        "PYTHONPATH": str(Path(aimemory.__file__).parents[1]),
    }
    done = subprocess.run([sys.executable, "-c", script, str(root)], env=env, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert not ran.exists()
    assert not (tmp_path / "elsewhere").exists()


def test_a_wiki_inside_another_repository_never_commits_there(tmp_path: Path) -> None:
    """No commit, ref or file in a repository of the user's own."""
    pygit2.init_repository(str(tmp_path), initial_head="main")
    before = sorted(path for path in (tmp_path / ".git").rglob("*"))
    (tmp_path / "wiki").mkdir()
    repo = WikiRepo(tmp_path / "wiki")
    repo.commit({A: b"x"}, author_name="a", author_email="a@b", message="m", when_ns=NOON)
    repo.close()
    assert sorted(path for path in (tmp_path / ".git").rglob("*")) == before


def test_a_wiki_whose_git_folder_is_ruined_is_not_taken_for_the_one_around_it(tmp_path: Path) -> None:
    pygit2.init_repository(str(tmp_path), initial_head="main")
    (tmp_path / "wiki" / ".git").mkdir(parents=True)
    (tmp_path / "wiki" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    with pytest.raises(Damaged):
        WikiRepo(tmp_path / "wiki")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_repository_of_another_user_is_refused_with_a_reason(put: Put, root: Path) -> None:
    put({A: b"x"})
    for path in (root, root / ".git"):
        os.chown(path, 12345, 12345)
    with pytest.raises(UserError, match="another user"):
        WikiRepo(root)


# -- states of HEAD --------------------------------------------------------------------------------------------------


def test_a_branch_that_moves_meanwhile_is_built_upon(
    put: Put, repo: WikiRepo, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    put({A: b"one"})
    repo.sync_index()
    moves = iter([True])

    def someone_commits_meanwhile(objects: ObjectSync, oids: list[pygit2.Oid]) -> None:
        if next(moves, False):
            (repo.root / "mine.md").write_text("x")
            git("add", "mine.md")
            git("commit", "-m", "mine")

    monkeypatch.setattr(ObjectSync, "sync", someone_commits_meanwhile)
    assert put({B: b"two"})
    assert git.pages() == {A, B, "mine.md"}
    assert git("log", "--format=%s").split("\n")[:3] == ["Update", "mine", "Update"]


def test_a_branch_of_the_persons_own_is_committed_to(put: Put, git: Git) -> None:
    put({A: b"one"})
    git("switch", "-q", "-c", "mine")
    put({B: b"two"})
    assert git.pages() == {A, B} and git("ls-tree", "-r", "--name-only", "main").split() == [".gitignore", A]


def test_an_unborn_branch_gets_its_first_commit(put: Put, repo: WikiRepo, git: Git) -> None:
    put({A: b"one"})
    repo.sync_index()
    git("switch", "-q", "--orphan", "fresh")
    assert put({B: b"two"})
    assert git.pages() == {B} and git("log", "--format=%s") == "Update\n"


@pytest.mark.parametrize("state", ["merge", "rebase", "detached"])
def test_a_merge_a_rebase_and_a_detached_head_make_commits_wait(put: Put, repo: WikiRepo, git: Git, state: str) -> None:
    put({A: b"base\n"})
    repo.sync_index()
    git("switch", "-q", "-c", "other")
    put({A: b"other\n"})
    repo.sync_index()
    git("switch", "-q", "main")
    put({A: b"main\n"})
    repo.sync_index()
    head = git("rev-parse", "HEAD")
    if state == "detached":
        git("switch", "-q", "--detach", "HEAD")
    else:
        with pytest.raises(AssertionError):  # the command reports the conflict
            git(state, "other")
        assert b"<<<<<<<" in (repo.root / A).read_bytes()

    with pytest.raises(Unavailable, match="wait"):
        put({B: b"two"})
    if state != "detached":
        assert not repo.sync_index()
        git(state, "--abort")
    else:
        git("switch", "-q", "main")
    assert git("rev-parse", "HEAD") == head
    assert put({B: b"two"})


def test_a_head_that_cannot_be_read_is_damage_that_names_the_repair(put: Put, repo: WikiRepo) -> None:
    put({A: b"one"})
    (repo.root / ".git/refs/heads/main").write_text("")
    with pytest.raises(Damaged, match="fsck"):
        put({B: b"two"})
    (repo.root / ".git/refs/heads/main").write_text("1" * 40 + "\n")
    with pytest.raises(Damaged, match="fsck"):
        repo.tracked()


def test_a_broken_repository_configuration_is_damage(root: Path, put: Put) -> None:
    put({A: b"one"})
    (root / ".git" / "config").write_text("[core\n")
    with pytest.raises(Damaged):
        WikiRepo(root)


def test_a_branch_locked_by_a_live_git_is_waited_for(put: Put, repo: WikiRepo, git: Git) -> None:
    put({A: b"one"})
    lock = repo.root / ".git/refs/heads/main.lock"
    lock.write_text("")
    threading.Timer(0.05, lock.unlink).start()
    assert put({B: b"two"})
    lock.write_text("")
    with pytest.raises(Unavailable, match="locked"):
        put({A: b"three"})
    assert lock.exists()


def test_a_branch_lock_left_by_a_crash_is_cleared_when_it_is_old(put: Put, repo: WikiRepo) -> None:
    put({A: b"one"})
    lock = repo.root / ".git/refs/heads/main.lock"
    lock.write_text("")
    os.utime(lock, (1, 1))
    assert put({B: b"two"})
    assert not lock.exists()


@pytest.mark.promise("P9.320")
def test_a_name_lock_is_cleared_within_seconds_unless_a_git_works_here_or_somebody_has_it_open(
    put: Put, repo: WikiRepo
) -> None:
    put({A: b"one"})
    git_dir = repo.root / ".git"
    locks = [git_dir / name for name in ("refs/heads/main.lock", "HEAD.lock", "packed-refs.lock")]

    def leave(seconds: float = LEFT_OVER_NAME_S + 1) -> None:
        for lock in locks:
            lock.write_text("")
            stamp = lock.stat().st_mtime - seconds
            os.utime(lock, (stamp, stamp))

    def refused(text: bytes) -> bool:
        try:
            return put({B: text}) is None
        except Unavailable:
            return True

    here = ["git", "-c", "alias.wait=!cat", "wait"]
    away = ["git", f"--git-dir={git_dir}", *here[1:]]
    for command, folder in ((here, repo.root / "a"), (away, repo.root.parent)):
        folder.mkdir(exist_ok=True)
        with subprocess.Popen(command, stdin=subprocess.PIPE, cwd=folder) as running:  # it ends with its input
            leave()
            assert refused(b"git runs") and locks[0].exists()
            running.communicate()
    with locks[0].open("rb"):  # as a program does that uses a library
        leave()
        assert refused(b"it is open") and locks[0].exists()
    leave(seconds=0)
    assert refused(b"it is fresh") and locks[0].exists()
    leave()
    assert put({B: b"left over"})
    assert not any(lock.exists() for lock in locks)


# -- what HEAD holds -------------------------------------------------------------------------------------------------


@pytest.mark.promise("P1.34")
def test_what_a_crash_left_uncommitted_is_found_by_comparing_disk_and_head(
    put: Put, repo: WikiRepo, tmp_path: Path
) -> None:
    put({A: b"one", B: b"two", "same.md": b"same"})
    (repo.root / A).write_bytes(b"changed")
    (repo.root / B).unlink()
    (repo.root / "new.md").write_bytes(b"new")
    (tmp_path / "secret").write_text("x")
    (repo.root / "link.md").symlink_to(tmp_path / "secret")
    assert set(repo.differing([*repo.tracked(), "new.md", "link.md", "none.md"])) == {A, B, "new.md"}
    contents = {A: b"one", B: b"two", "same.md": b"same"}
    assert repo.tracked() == {path: str(pygit2.hash(content)) for path, content in contents.items()}


def test_the_history_of_a_page_is_its_own_commits_newest_first(put: Put, repo: WikiRepo) -> None:
    first = put({A: b"one"}, "first")
    put({B: b"x"}, "other")
    second = put({A: b"two"}, "second")
    third = put({A: None}, "third")
    found = repo.history(A)
    assert [(entry.id, entry.message) for entry in found] == [
        (third, "third\n"),
        (second, "second\n"),
        (first, "first\n"),
    ]
    assert [entry.blob for entry in found] == [None, str(pygit2.hash(b"two")), str(pygit2.hash(b"one"))]
    assert {(entry.author, entry.when_ns) for entry in found} == {("ann", NOON)}
    assert [entry.id for entry in repo.history(A, limit=1)] == [third]
    assert repo.history("none.md") == ()


def test_a_repack_behind_our_back_is_no_trouble(put: Put, repo: WikiRepo, git: Git) -> None:
    for number in range(5):
        put({A: b"%d" % number})
    git("gc", "-q", "--prune=now")
    assert put({A: b"more"}) and len(repo.history(A)) == 6
