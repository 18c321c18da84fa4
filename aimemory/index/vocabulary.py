"""The words that the full-text index knows, read from the index itself."""

from aimemory.index.read import Plan, Statement

_MOST = 5000


def words_beginning(beginning: str, shortest: int, longest: int) -> Plan[list[tuple[str, int]]]:
    """Words of pages and events that begin so, of such a length, with the number of rows that have them.

    Looks at no more than the first 5,000 that begin so in each: the cost stays bounded in the largest store.
    """
    found: dict[str, int] = {}
    for table in ("page_word", "observation_word"):
        rows = yield Statement(
            f"""select term, doc from (select term, doc from {table} where term >= ? and term < ? limit {_MOST})
            where length(term) between ? and ?""",
            (beginning, f"{beginning}\U0010ffff", shortest, longest),
        )
        for term, count in rows:
            found[term] = found.get(term, 0) + count
    return list(found.items())
