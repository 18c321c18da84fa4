"""Which of a repository's remotes is its identity."""

from collections.abc import Mapping
from dataclasses import dataclass

from aimemory.project.gitconfig import GitConfig
from aimemory.project.identity import normalize_remote, portable_name
from aimemory.project.parsed import ParsedFiles
from aimemory.project.sshhosts import parse_ssh_hosts


@dataclass(frozen=True, slots=True)
class Decided:
    """The remote that decides, by its own name and normalised, and what `upstream` and `origin` say otherwise."""

    remote_name: str
    identity: str
    others: tuple[str, ...]
    name: str
    owner: str


class Remotes:
    """Decides once per configuration; knows the user's SSH aliases."""

    def __init__(self, home: str, bound: int = 1024) -> None:
        self._ssh_config = f"{home}/.ssh/config"
        self._ssh = ParsedFiles(parse_ssh_hosts, limit_bytes=1 << 20)
        self._bound = bound
        self._kept: dict[str, tuple[GitConfig, object, Decided | None]] = {}

    def decide(self, common_dir: str, config: GitConfig) -> Decided | None:
        """`upstream`, then `origin`, then the one that a main branch tracks, then any branch, then the first.

        The branch that happens to be checked out plays no part: two work trees must not differ. A remote that names no
        other machine is passed over; None if there is no other.
        """
        hosts = self._ssh.get(self._ssh_config)
        kept = self._kept.get(common_dir)
        if kept is not None and kept[0] is config and kept[1] is hosts:
            return kept[2]
        decided = _decide(config, hosts if isinstance(hosts, Mapping) else {})
        if len(self._kept) >= self._bound:
            self._kept.clear()
        self._kept[common_dir] = (config, hosts, decided)
        return decided


def _decide(config: GitConfig, ssh_hosts: Mapping[str, str]) -> Decided | None:
    identities = {name: normalize_remote(url, ssh_hosts) for name, url in config.remotes.items()}
    main = [config.tracked[branch] for branch in ("main", "master") if branch in config.tracked]
    for name in ("upstream", "origin", *main, *config.tracked.values(), *config.remotes):
        identity = identities.get(name)
        if identity:
            others = (identities.get(other) for other in ("upstream", "origin"))
            host_and_owner, _, last = identity.rpartition("/")
            return Decided(
                remote_name=name,
                identity=identity,
                others=tuple(other for other in others if other and other != identity),
                name=portable_name(last),
                owner=portable_name(host_and_owner.rpartition("/")[2]),
            )
    return None
