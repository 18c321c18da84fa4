"""Reading which pages link to one."""

from pathlib import PurePosixPath

from aimemory.index.read import Plan, Statement


def pages_linking_to(path: str, limit: int = 20) -> Plan[list[str]]:
    """Paths of pages whose text holds `[[name…`, by the file's name or path; by path, without the page itself."""
    whole = path.removesuffix(".md")
    rows = yield Statement(
        """select p.path from page p join page_text t on t.n = p.n
        where p.path <> ?1 and (instr(t.body, '[[' || ?2 || ']]') or instr(t.body, '[[' || ?2 || '|')
            or instr(t.body, '[[' || ?2 || '#') or instr(t.body, '[[' || ?3)) order by p.path limit ?4""",
        (path, PurePosixPath(whole).name, whole, limit),
    )
    return [found for (found,) in rows]
