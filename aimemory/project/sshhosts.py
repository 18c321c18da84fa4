"""The host aliases of the user's SSH configuration, so that `work:acme/app` and `github.com/acme/app` are one project.

Only `Host` lines without patterns and their `HostName` count; `Include` and `Match` blocks are left out.
"""

import re
from collections.abc import Mapping

_LINE = re.compile(r"\s*(\w+)(?:\s*=\s*|\s+)(.*?)\s*")


def parse_ssh_hosts(_path: str, data: bytes) -> Mapping[str, str]:
    """Host names by alias, both in lower case. As in SSH itself, the first `HostName` of an alias wins."""
    hosts: dict[str, str] = {}
    aliases: list[str] = []
    for line in data.decode("utf-8", "replace").splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        keyword, value = match[1].lower(), match[2].strip('"').lower()
        if keyword == "host":
            aliases = [word for word in value.replace('"', "").split() if not set(word) & set("*?!")]
        elif keyword == "match":
            aliases = []
        elif keyword == "hostname" and value and "%" not in value:
            for alias in aliases:
                hosts.setdefault(alias, value)
    return hosts
