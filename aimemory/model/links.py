"""Links between pages as values, and the one rule by which a link finds its page: Obsidian's.

The rule is that of `getFirstLinkpathDest` of Obsidian 1.13, as its users have measured it and read it in the program
(https://github.com/pvliesdonk/markdown-vault-mcp/pull/1380 and /1385): names are compared without case; an exact path
from the root wins; else files that end in the link's text, those below the linking page's folder first, then by
length of the path. A heading or block that does not exist breaks no link, and aliases of pages resolve none.
"""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

_SUFFIX = ".md"
_FILES = frozenset(
    ("avif", "base", "bmp", "canvas", "flac", "gif", "jpeg", "jpg", "m4a", "mkv", "mov", "mp3", "mp4", "ogg", "ogv",
     "pdf", "png", "svg", "wav", "webm", "webp", "3gp")
)  # fmt: skip
"""What Obsidian opens besides pages (https://help.obsidian.md/file-formats)."""


class LinkKind(StrEnum):
    WIKI = "wiki"
    EMBED = "embed"
    MARKDOWN = "markdown"
    PROPERTY = "property"
    NAMED = "named"
    """The bare name of a page in a field of the front matter that says how two pages stand: `supersedes: use-tabs`."""


class LinkRole(StrEnum):
    """What a field of the front matter says of the page that has it and the one that it names."""

    NONE = ""
    SUPERSEDES = "supersedes"
    SUPERSEDED_BY = "superseded by"
    CONTRADICTS = "contradicts"
    FIXES = "fixes"
    FIXED_BY = "fixed by"
    CAUSES = "causes"
    CAUSED_BY = "caused by"

    @property
    def inverse(self) -> "LinkRole":
        """The same, seen from the page that is named."""
        return _INVERSE.get(self, self)


_INVERSE = {
    a: b
    for one, other in (
        (LinkRole.SUPERSEDES, LinkRole.SUPERSEDED_BY), (LinkRole.FIXES, LinkRole.FIXED_BY),
        (LinkRole.CAUSES, LinkRole.CAUSED_BY),
    )
    for a, b in ((one, other), (other, one))
}  # fmt: skip

_FIELDS = {
    **{role.value.replace(" ", "_"): role for role in LinkRole if role},
    "replaces": LinkRole.SUPERSEDES, "replaced_by": LinkRole.SUPERSEDED_BY, "contradicted_by": LinkRole.CONTRADICTS,
}  # fmt: skip


def role_of(name: str) -> LinkRole:
    """What a field of the front matter says by its name; case, `-` and `_` don't count."""
    return _FIELDS.get(name.strip().lower().replace("-", "_").replace(" ", "_"), LinkRole.NONE)


@dataclass(frozen=True, slots=True)
class Link:
    """One link as it is written. raw: the whole of it. target: the path in it, decoded; "" for the same page.

    alias: the text shown instead, "" for none. heading, block: what it points to within the page, "" for all of it.
    role: what the field that it stands in says of the two pages.
    """

    kind: LinkKind
    raw: str
    target: str
    alias: str = ""
    heading: str = ""
    block: str = ""
    role: LinkRole = LinkRole.NONE

    @property
    def is_file(self) -> bool:
        """Whether it names a picture or another file that is no page."""
        stem, dot, suffix = folded(self.target).rpartition(".")
        return bool(stem and dot) and suffix in _FILES


def folded(path: str) -> str:
    """A path or link as Obsidian compares it: composed, without case, without white space around it."""
    if path.isascii():  # most are, and this is asked for every link of an index
        return path.strip().lower()
    return unicodedata.normalize("NFC", path.replace("\u00a0", " ").strip()).lower()


def file_name(path: str) -> str:
    """Under which name links look for the page at this path."""
    return folded(path.rpartition("/")[2])


def wanted_name(target: str) -> str:
    """Name of the files that a link's target can mean; "" where it means the page that it stands in."""
    name = folded(target).rpartition("/")[2]
    return name if not name or name.endswith(_SUFFIX) else name + _SUFFIX


def matches(target: str, source: str, candidates: Iterable[str]) -> list[str]:
    """Pages that a link in the page `source` can mean, the one that Obsidian opens first; none for a broken link.

    candidates: paths of all pages whose `file_name` is the link's `wanted_name`.
    """
    wanted = folded(target)
    if not wanted:
        return [source]
    if not wanted.endswith(_SUFFIX):
        wanted += _SUFFIX
    by_path = {path: folded(path) for path in sorted(candidates)}
    folder = folded(source).rpartition("/")[0]
    if wanted.startswith(("./", "../")):
        place = _joined(folder, wanted)
        return [path for path, name in by_path.items() if name == place]
    is_rooted = wanted.startswith("/")
    wanted = wanted.removeprefix("/")
    exact = [path for path, name in by_path.items() if name == wanted]
    if exact or is_rooted:
        return exact
    fits = sorted((path for path, name in by_path.items() if name.endswith(wanted)), key=lambda path: (len(path), path))
    near = [path for path in fits if by_path[path].startswith(f"{folder}/")]
    return near + [path for path in fits if path not in near]


def link_text(path: str, taken: Iterable[str]) -> str:
    """How to link to a page so that it is found from everywhere: its base name if no other page has it, else its path.

    taken: paths of all pages with its file name.
    """
    others = [other for other in taken if other != path]
    return path.removesuffix(_SUFFIX) if others else base_name(path)


def base_name(path: str) -> str:
    """A page's file name without `.md`: what Obsidian calls it."""
    return path.rpartition("/")[2].removesuffix(_SUFFIX)


def _joined(folder: str, relative: str) -> str | None:
    """Where `../x.md` leads from a folder; None above the root."""
    parts = folder.split("/") if folder else []
    for part in relative.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
