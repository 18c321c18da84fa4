"""Names of projects: a git remote reduced to what identifies it, and folder names that every file system takes."""

import re
import unicodedata
from collections.abc import Mapping
from urllib.parse import unquote

from aimemory.model.ids import digest

_CASE_BLIND_HOSTS = frozenset(
    {"github.com", "gist.github.com", "gitlab.com", "bitbucket.org", "codeberg.org", "dev.azure.com"}
)
"""Hosts that take any spelling of owner and repository; elsewhere `App` and `app` may be two repositories."""

_SAME_HOST = {
    "www.github.com": "github.com",
    "ssh.github.com": "github.com",
    "www.gitlab.com": "gitlab.com",
    "altssh.gitlab.com": "gitlab.com",
    "www.bitbucket.org": "bitbucket.org",
    "altssh.bitbucket.org": "bitbucket.org",
    "ssh.dev.azure.com": "dev.azure.com",
}
"""Second doors of a host (SSH over port 443 and the like) and the name that stands for all of them."""

_OWN_ALIAS = re.compile("(" + "|".join(re.escape(host) for host in sorted(_CASE_BLIND_HOSTS)) + ")[-_].+")
"""`github.com-work`: the usual way to keep two accounts of one host apart in an SSH configuration."""

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_HELPER = re.compile(r"([A-Za-z0-9][A-Za-z0-9+.-]*)::(.*)", re.DOTALL)
_HOST = re.compile(r"[\w.-]+|[0-9a-f:.%]+")
_ADDRESS = re.compile(r"[0-9.]+|[0-9a-f]*:[0-9a-f:.%]*")


def normalize_remote(url: str, ssh_hosts: Mapping[str, str] | None = None) -> str | None:
    """`host/path` of a git remote, the same for every way to write it; None if it names no other machine.

    Dropped: scheme, user, password, port, query, `.git`, slashes at the ends. The path keeps its case except on hosts
    known to ignore it. The user's `insteadOf` rules play no part, so that one repository has one name for everybody.

    ssh_hosts: host names by the aliases of the user's SSH configuration.
    """
    text = url.strip()
    helper = _HELPER.fullmatch(text)
    if helper:
        if helper[1] in ("ext", "fd"):  # the address is a command or a file descriptor
            return None
        text = helper[2]
    match = _URL.fullmatch(text)
    split = _split_url(match[1].lower(), match[2]) if match else _split_scp(text)
    if split is None:
        return None
    host = split[0].lower().rstrip(".")
    if match is None or "ssh" in match[1].lower():
        host = _without_alias(host, ssh_hosts or {})
    host = _SAME_HOST.get(host, host)
    path = _clean_path(host, unquote(split[1]))
    if not path or not _HOST.fullmatch(host) or _has_control(path):
        return None
    return f"{host}/{path}"


def _without_alias(host: str, ssh_hosts: Mapping[str, str]) -> str:
    if host in _CASE_BLIND_HOSTS:  # an entry for such a host itself only says how to reach it
        return host
    if match := _OWN_ALIAS.fullmatch(host):
        return match[1]
    name = ssh_hosts.get(host, host)
    return host if _ADDRESS.fullmatch(name) else name.rstrip(".")


def _split_url(scheme: str, rest: str) -> tuple[str, str] | None:
    if scheme == "file":
        return None
    authority, _, path = rest.partition("/")
    _, at, host = authority.rpartition("@")
    host, port = _split_port(host)
    if port and not port.isdigit():
        return None
    if port and not at and "@" in path:  # `user:12/34@host`: a password with a slash, not a host with a port
        return None
    return host, re.split(r"[?#]", path, maxsplit=1)[0]


def _split_port(host: str) -> tuple[str, str]:
    if host.startswith("["):
        name, _, rest = host[1:].partition("]")
        return name, rest.removeprefix(":")
    name, _, port = host.partition(":")
    return name, port


def _split_scp(text: str) -> tuple[str, str] | None:
    head, slash, tail = text.partition("/")
    _, _, head = head.rpartition("@")
    if head.startswith("["):
        host, _, path = head[1:].partition("]:")
    else:
        host, colon, path = head.partition(":")
        if not colon or len(host) < 2:  # a path of this machine, `C:\\…` included
            return None
    return host, f"{path}{slash}{tail}"


def _clean_path(host: str, path: str) -> str:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if host == "dev.azure.com":  # `v3/org/project/repo` over SSH, `org/project/_git/repo` over HTTPS
        parts = [part for part in parts if part != "_git"]
        parts = parts[1:] if parts[:1] == ["v3"] else parts
    if parts and parts[-1].lower().endswith(".git"):
        parts[-1] = parts[-1][:-4]
    parts = [part for part in parts if part]
    joined = unicodedata.normalize("NFC", "/".join(parts))
    return joined.lower() if host in _CASE_BLIND_HOSTS else joined


def _has_control(text: str) -> bool:
    return any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in text)


def directory_identity(path: str) -> str:
    """`dir:<path>`, with bytes that are no text escaped, so that it can be stored."""
    return "dir:" + path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def clean_name(text: str) -> str | None:
    """A name as somebody wrote it into a file, or None if it can't be one."""
    name = unicodedata.normalize("NFC", text.strip())
    return name if name and len(name) <= 200 and not _has_control(name) else None


_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{p}{n}" for p in ("com", "lpt") for n in range(1, 10))})
_TAKEN = frozenset({"index"})
"""A project's page has its folder's name, and `index.md` is the folder's listing."""
_NAME_BYTES = 80
_PORTABLE = re.compile(r"(?!.*--)[a-z0-9](?:[a-z0-9._-]{,78}[a-z0-9])?")
"""Names that need no work, which most are."""


def portable_name(text: str, fallback: str = "project") -> str:
    """A folder name that every file system takes: NFC, lower-case, at most 80 bytes, never empty.

    No leading underscore or dot (those are ours, and hidden), no Windows device name, not `index`, no trailing dot. A
    text without
    a usable letter becomes `fallback` and four hex digits of the text.
    """
    if _PORTABLE.fullmatch(text) and text.partition(".")[0] not in _DEVICES and text not in _TAKEN:
        return text
    lowered = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).lower())
    kept = "".join(char if char in "._" or unicodedata.category(char)[0] in "LNM" else "-" for char in lowered)
    name = re.sub(r"-{2,}", "-", kept).strip("-._")
    name = name.encode()[:_NAME_BYTES].decode("utf-8", "ignore").rstrip("-._")
    if not any(unicodedata.category(char)[0] in "LN" for char in name):
        return f"{fallback}-{digest(text, size=2)}"
    return f"{fallback}-{name}" if name.partition(".")[0] in _DEVICES or name in _TAKEN else name
