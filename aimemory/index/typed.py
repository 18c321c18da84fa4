"""What pages say of each other in their front matter: which took another's place, contradicts it, fixes or causes it.

Only what a page says of one of its own project counts, and what a page that holds for all projects says; of a rule only
what another rule says.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass

from aimemory.index.read import Plan, Statement
from aimemory.model.links import LinkRole
from aimemory.model.scope import GLOBAL_FOLDER

_MOST = 500


def _may(source: str, dest: str) -> str:
    """For SQL: whose word counts. No note that an agent wrote takes a rule out of force."""
    return f"""(({source}.project is {dest}.project or {source}.project = '{GLOBAL_FOLDER}')
        and ({dest}.kind <> 'rule' or {source}.kind = 'rule'))"""


def _replaced(of: str) -> str:
    """For SQL: does another page say that it took the place of `of`, or it itself?"""
    return f"""(exists (select 1 from link l join page s on s.path = l.source
            where l.role <> '' and l.role = '{LinkRole.SUPERSEDES}' and l.dest = {of}.path and l.source <> {of}.path
                and {_may("s", of)})
        or exists (select 1 from link l
            where l.role <> '' and l.source = {of}.path and l.role = '{LinkRole.SUPERSEDED_BY}'
                and l.dest <> {of}.path))"""


def outdated(of: str) -> str:
    """For SQL: is the page `of` (a table's name or alias) past, by its status or by what another says?"""
    status = f"lower(coalesce({of}.status, ''))"
    return f"({status} = 'expired' or {status} like 'superseded%' or {_replaced(of)})"


@dataclass(frozen=True, slots=True)
class Related:
    """`page` stands so to `other`: `superseded by`, `fixes`; both by their row. title, path: the other's."""

    page: int
    role: LinkRole
    other: int
    title: str
    path: str


def related_to(rows: Collection[int]) -> Plan[list[Related]]:
    """What these pages say of others, and others of them, each once; in the order of the asked pages."""
    found = yield Statement(
        f"""select s.n, l.role, d.n, d.title, d.path, 0 from json_each(?1) j join page s on s.n = j.value
            join link l on l.source = s.path and l.role <> '' join page d on d.path = l.dest
            where d.n <> s.n and {_may("s", "d")}
        union all select d.n, l.role, s.n, s.title, s.path, 1 from json_each(?1) j join page d on d.n = j.value
            join link l on l.dest = d.path and l.role <> '' join page s on s.path = l.source
            where d.n <> s.n and {_may("s", "d")} limit {_MOST}""",
        (json.dumps(list(rows)),),
    )
    place = {row: i for i, row in enumerate(rows)}
    seen: dict[tuple[int, LinkRole, int], Related] = {}
    for page, role, other, title, path, is_inverse in found:
        own = LinkRole(role).inverse if is_inverse else LinkRole(role)
        seen.setdefault((page, own, other), Related(page, own, other, title, path))
    return sorted(seen.values(), key=lambda one: (place[one.page], list(LinkRole).index(one.role), one.path))
