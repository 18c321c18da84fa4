"""The Open Knowledge Format, version 0.2: whether a folder conforms, and pages made fit for a bundle. Pure.

The format is Google's: https://github.com/GoogleCloudPlatform/knowledge-catalog/blob/main/okf/SPEC.md (also at
https://github.com/GoogleCloudPlatform/open-knowledge-format). Section 11 says what conforms: every page but `index.md`
and `log.md` has YAML front matter with a `type`; these two have the structure of sections 8 and 9. Everything else,
broken links included, is no fault.
"""

import re
from collections.abc import Mapping
from posixpath import relpath

from aimemory.errors import UserError
from aimemory.model.links import Link, LinkKind, base_name, file_name, matches, wanted_name
from aimemory.wiki.frontmatter import add_fields, edit_field, render, split
from aimemory.wiki.links import Spot, as_url, links_of, spots
from aimemory.wiki.relink import relinked

INDEX = "index.md"
LOG = "log.md"

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?!\d)")
_ENTRY = re.compile(r"[*+-] +\[.*\]\(.+\)")


def conformance(files: Mapping[str, str]) -> dict[str, str]:
    """What does not conform, by path: one sentence each; empty for a conformant bundle. files: texts by path in it."""
    return {path: problem for path, text in sorted(files.items()) if (problem := page_problem(path, text))}


def page_problem(path: str, text: str) -> str | None:
    """Why this file would make a bundle not conform, or None."""
    name = path.rpartition("/")[2]
    parts = split(text)
    if name == INDEX:
        return _index_problem(path, text)
    if name == LOG:
        return _log_problem(text)
    if parts.front is None:
        return parts.problem or "it has no front matter"
    kind = parts.front.get("type")
    return None if isinstance(kind, str) and kind.strip() else "its front matter has no type"


def fit_for_bundle(text: str, kind: str, title: str) -> str:
    """The page with front matter that conforms: one is added where there is none, `type` where that is missing.

    Raises UserError, with the line, for front matter that can't be read.
    """
    text = text.removeprefix("\ufeff")
    parts = split(text)
    if parts.front is None:
        if parts.problem:
            raise UserError(f"its front matter can't be read: {parts.problem}")
        return render({"type": kind, "title": title}, text.lstrip("\n"))
    if not (isinstance(parts.front.get("type"), str) and str(parts.front["type"]).strip()):
        text = edit_field(text, "type", kind) if "type" in parts.front else add_fields(text, {"type": kind})
    return text


def with_markdown_links(path: str, text: str, pages: Mapping[str, str]) -> str:
    """The page with its wiki links to pages of the bundle as markdown links, which is what the format knows.

    path: in the wiki. pages: paths in the bundle by those in the wiki. Other links and the front matter stay.
    """
    parts = split(text)
    names = _by_name(pages)
    out, position = [text[: len(text) - len(parts.body)]], 0
    for spot in spots(parts.body):
        target = _target_of(spot, path, names)
        if target is None or not parts.body.startswith(("[[", "![["), spot.start):
            continue
        out += [parts.body[position : spot.start], _markdown(spot, pages[path], pages[target])]
        position = spot.end
    return "".join((*out, parts.body[position:]))


def led_out(path: str, text: str, pages: Mapping[str, str]) -> str:
    """The page with its markdown links to pages that lie elsewhere in the bundle led there; others stay as spelled.

    path: in the wiki. pages: paths in the bundle by those in the wiki.
    """
    parts = split(text)
    folder, new_folder = path.rpartition("/")[0], pages[path].rpartition("/")[0]
    targets: dict[str, str] = {}
    for link in links_of(parts.body, parts.front or {}):
        if link.target and not _goes_by_name(link):
            place = pages.get(_bundle_path(folder, link.target))
            if place is not None and _bundle_path(new_folder, link.target) != place:
                targets[link.target] = relpath(place, new_folder or ".")
    return relinked(text, targets)[0]


def moved_links(path: str, text: str, places: Mapping[str, str]) -> str:
    """The page of a foreign bundle with its links to pages of that bundle led to where these lie in the wiki.

    places: paths in the wiki by those in the bundle.
    """
    parts = split(text)
    names = _by_name(places)
    folder = path.rpartition("/")[0]
    here = places[path].rpartition("/")[0]
    targets: dict[str, str] = {}
    for link in links_of(parts.body, parts.front or {}):
        if _goes_by_name(link):
            found = next(iter(matches(link.target, path, names.get(wanted_name(link.target), ()))), None)
            new = base_name(places[found]) if found and link.target else None
        else:
            found = _bundle_path(folder, link.target)
            new = relpath(places[found], here or ".") if found in places else None
        if new is not None:
            targets[link.target] = new
    return relinked(text, targets)[0]


def _goes_by_name(link: Link) -> bool:
    """Does it find its page by name, as Obsidian does, not by where it stands?"""
    return link.kind is LinkKind.NAMED or link.raw.startswith(("[[", "![["))


def _bundle_path(folder: str, target: str) -> str:
    """Path in the bundle that a markdown link means: from its root with a leading slash, else from the folder."""
    whole = target.lstrip("/") if target.startswith("/") else f"{folder}/{target}"
    parts: list[str] = []
    for part in whole.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _target_of(spot: Spot, path: str, names: Mapping[str, list[str]]) -> str | None:
    target = spot.link.target
    return next(iter(matches(target, path, names.get(wanted_name(target), ()))), None) if target else path


def _by_name(paths: Mapping[str, str]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for path in sorted(paths):
        names.setdefault(file_name(path), []).append(path)
    return names


def _markdown(spot: Spot, source: str, target: str) -> str:
    link = spot.link
    part = link.heading or (f"^{link.block}" if link.block else "")
    label = link.alias or (f"{link.target}#{part}" if part and link.target else link.target or part)
    where = as_url(relpath(target, source.rpartition("/")[0] or ".")) if target != source or not part else ""
    return f"[{label}]({where}{'#' + as_url(part) if part else ''})"


def _index_problem(path: str, text: str) -> str | None:
    parts = split(text)
    if parts.problem or (parts.front is not None and (path != INDEX or set(parts.front) - {"okf_version"})):
        return "an index has no front matter, but for okf_version at the root"
    heading = False
    for line in (line.strip() for line in parts.body.splitlines()):
        heading = heading or line.startswith("#")
        if line and not line.startswith(("#", "<!--", "* …")) and not (heading and _ENTRY.match(line)):
            return f"an index lists pages under headings, and {line[:40]!r} is neither"
    return None


def _log_problem(text: str) -> str | None:
    parts = split(text)
    if parts.front_text is not None or parts.problem:
        return "a log has no front matter"
    for line in parts.body.splitlines():
        if line.startswith("## ") and not _DATE.match(line[3:]):
            return f"a log's headings are dates, and {line[:40]!r} is none"
    return None
