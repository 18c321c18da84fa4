"""A remote is one name however it is written, and no credential survives in it."""

import pytest

from aimemory.project.identity import clean_name, directory_identity, normalize_remote, portable_name
from aimemory.project.sshhosts import parse_ssh_hosts

APP = "github.com/acme/app"


@pytest.mark.parametrize(
    ("url", "identity"),
    [
        ("https://github.com/acme/app.git", APP),
        ("https://github.com/acme/app", APP),
        ("https://github.com/acme/app/", APP),
        ("https://github.com/acme/app.git/", APP),
        ("http://www.github.com/acme/app", APP),
        ("https://GitHub.com/Acme/App.git", APP),
        ("https://ada@github.com/acme/app", APP),
        ("https://github.com:443/acme/app.git?ref=main#readme", APP),
        ("git://github.com/acme/app.git", APP),
        ("ssh://git@github.com/acme/app.git", APP),
        ("ssh://git@github.com:22/acme/app.git", APP),
        ("ssh://git@ssh.github.com:443/acme/app.git", APP),
        ("git+ssh://git@github.com/acme/app.git", APP),
        ("git@github.com:acme/app.git", APP),
        ("git@github.com:/acme//app.git", APP),
        ("github.com:acme/app", APP),
        ("git@github.com-work:acme/app.git", APP),
        ("work:acme/app.git", APP),
        ("gcrypt::git@github.com:acme/app.git", APP),
        ("  git@github.com:acme/app.git\n", APP),
        ("https://gitlab.com/group/sub/app.git", "gitlab.com/group/sub/app"),
        ("git@git.example.org:Team/App.git", "git.example.org/Team/App"),
        ("ssh://git@git.example.org:7999/~ada/app.git", "git.example.org/~ada/app"),
        ("https://git.example.org/team/my%20app.git", "git.example.org/team/my app"),
        ("https://acme@dev.azure.com/Acme/Shop/_git/app", "dev.azure.com/acme/shop/app"),
        ("git@ssh.dev.azure.com:v3/acme/shop/app", "dev.azure.com/acme/shop/app"),
        ("ssh://git@[2001:db8::1]:22/srv/app.git", "2001:db8::1/srv/app"),
        ("git@[2001:db8::1]:srv/app.git", "2001:db8::1/srv/app"),
        ("server.lan:/srv/git/app.git", "server.lan/srv/git/app"),
    ],
)
def test_every_way_to_write_a_remote_gives_one_name(url: str, identity: str) -> None:
    assert normalize_remote(url, {"work": "github.com"}) == identity


@pytest.mark.parametrize(
    "url",
    [
        "", "  ", "/srv/git/app.git", "../app.git", "./app", "~/app", "app", "file:///srv/git/app.git",
        "C:\\src\\app", "C:/src/app", "ext::sh -c 'evil %S'", "fd::7", "https://", "https:///app", "https://github.com/",
        "git@github.com:", "git@github.com:.git", "https://git\thub.com/a/b", "git@github.com:acme/a\npp", "https://h:x/a",
    ],
)  # fmt: skip
def test_what_names_no_other_machine_is_no_remote(url: str) -> None:
    assert normalize_remote(url) is None


@pytest.mark.parametrize(
    "url",
    [
        "https://ada:S3CRET@github.com/acme/app.git", "https://S3CRET@github.com/acme/app", "https://a:p@S3CRET@github.com/acme/app",
        "https://x-access-token:S3CRET@github.com/acme/app", "https://github.com/acme/app?token=S3CRET",
        "ada:S3CRET@github.com:acme/app.git", "https://ada:S3C/RET@github.com/acme/app", "https://ada:12/S3CRET@github.com/acme/app",
        "codecommit::https://ada:S3CRET@github.com/acme/app", "https://github.com/acme/app#S3CRET",
    ],
)  # fmt: skip
def test_no_credential_survives_in_an_identity(url: str) -> None:
    identity = normalize_remote(url)

    assert identity in (APP, None)


def test_the_path_keeps_its_case_where_the_host_may_care() -> None:
    assert normalize_remote("git@git.example.org:A/App") != normalize_remote("git@git.example.org:a/app")


def test_the_same_name_of_two_owners_is_two_identities() -> None:
    assert normalize_remote("git@github.com:acme/app") != normalize_remote("git@github.com:other/app")


def test_aliases_come_from_plain_host_lines_of_the_ssh_configuration() -> None:
    hosts = parse_ssh_hosts(
        "config",
        b"# Host no\nHost work w2\n  HostName=GitHub.com\n  User git\nHost *.lan !x\n HostName gw\n"
        b"Host work\n HostName second\nMatch host a\n HostName b\nHost t\n HostName %h.example.org\n",
    )

    assert hosts == {"work": "github.com", "w2": "github.com"}


def test_an_ssh_entry_for_a_known_host_or_a_bare_address_changes_no_name() -> None:
    assert normalize_remote("git@github.com:acme/app", {"github.com": "proxy.example.org"}) == APP
    assert normalize_remote("git@box:srv/app", {"box": "10.0.0.5"}) == "box/srv/app"


def test_an_ssh_alias_means_nothing_over_https() -> None:
    assert normalize_remote("https://gh/acme/app", {"gh": "github.com"}) == "gh/acme/app"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("app", "app"), ("My App", "my-app"), ("next.js", "next.js"), ("_unfiled", "unfiled"), (".git", "git"),
        ("../../etc", "etc"), ("a/b\\c", "a-b-c"), ("Ünïcode", "ünïcode"), ("日本語", "日本語"), ("a--b", "a-b"),
        ("con", "project-con"), ("nul.txt", "project-nul.txt"), ("trailing. ", "trailing"), ("x" * 200, "x" * 80),
    ],
)  # fmt: skip
def test_a_folder_name_is_portable(text: str, name: str) -> None:
    assert portable_name(text) == name


def test_a_text_without_letters_gets_a_name_that_tells_it_from_others() -> None:
    assert portable_name("🎉").startswith("project-")
    assert portable_name("index") == portable_name("Index") == "project-index"  # the name of a folder's listing
    assert portable_name("🎉") != portable_name("🚀")


def test_a_name_is_cut_between_characters() -> None:
    assert portable_name("é" * 100) == "é" * 40


def test_bytes_that_are_no_text_are_escaped_in_an_identity() -> None:
    assert directory_identity("/srv/\udcff").isascii()


@pytest.mark.parametrize("text", ["", "   ", "a\x00b", "a\nb", "x" * 201, "a\u202eb"])
def test_what_cannot_be_a_name_is_none(text: str) -> None:
    assert clean_name(text) is None
