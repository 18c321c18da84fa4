"""The full-text tables behind single signals of ranking: one for each field that has a say of its own.

bm25 of one table divides by the length of the whole row, also where other columns weigh nothing, so a short field is
only judged fairly in a table that holds nothing else. `exact` is the text without stemming.
"""

from typing import Literal

Signal = Literal["title", "exact", "paths", "idents"]

_NO_LETTERS = (
    (0x2066, 0x2069), (0x20BA, 0x20CF), (0x23F4, 0x23FF), (0x2427, 0x243F), (0x2B4D, 0x2BFF), (0x2E3C, 0x2E7F),
    (0xE0A0, 0xE0D7), (0xE700, 0xE7C5), (0xF000, 0xF2E0), (0xFE00, 0xFE0F), (0x1F000, 0x1FAFF),
)  # fmt: skip
"""What FTS5 takes for letters and isn't: signs newer than its tables (directions, currencies, most emoji), icons
of terminal fonts, and what says how an emoji looks. A word that touches one would be another word. The list is our own,
not this Python's, so that the same text makes the same index everywhere."""

_SEPARATORS = "".join(chr(code) for first, last in _NO_LETTERS for code in range(first, last + 1))

CATEGORIES = f"remove_diacritics 2 categories 'L* N* M*' separators '{_SEPARATORS}'"
"""Marks count as part of a word (`M*`), else Indic and Thai words fall into single letters."""

STEMMED = f"porter unicode61 {CATEGORIES}"
_AS_WRITTEN = f"unicode61 {CATEGORIES}"

COLUMNS: dict[Signal, tuple[str, ...]] = {
    "title": ("title", "title_forms"),
    "exact": ("title", "body"),
    "paths": ("paths",),
    "idents": ("idents",),
}
"""Columns of `page_text` that each table holds."""

TABLES = tuple(f"page_{signal}_fts" for signal in COLUMNS)


def _table(signal: Signal) -> str:
    tokenize = _AS_WRITTEN if signal == "exact" else STEMMED
    return f"""create virtual table page_{signal}_fts using fts5(
    {", ".join(COLUMNS[signal])}, content='page_text', content_rowid='n', tokenize="{tokenize}");"""


def _put(signal: Signal) -> str:
    columns = COLUMNS[signal]
    return f"""insert into page_{signal}_fts(rowid, {", ".join(columns)})
        values (new.n, {", ".join(f"new.{c}" for c in columns)});"""


def _take(signal: Signal) -> str:
    table, columns = f"page_{signal}_fts", COLUMNS[signal]
    return f"""insert into {table}({table}, rowid, {", ".join(columns)})
        values ('delete', old.n, {", ".join(f"old.{c}" for c in columns)});"""


def _fill(signal: Signal) -> str:
    columns = ", ".join(COLUMNS[signal])
    return f"insert into page_{signal}_fts(rowid, {columns}) select n, {columns} from page_text where n > ?"


FILLS = tuple(_fill(signal) for signal in COLUMNS)
"""Statements that take in the new pages: those with a row number above the one given."""

_NEWLINE = "\n    "
DDL = f"""
{_NEWLINE.join(_table(signal) for signal in COLUMNS)}

create virtual table page_word using fts5vocab('page_exact_fts', 'row');
create virtual table observation_word using fts5vocab('observation_fts', 'row');

create trigger page_signals_out after delete on page_text begin
    {_NEWLINE.join(_take(signal) for signal in COLUMNS)}
end;
create trigger page_signals_change after update on page_text begin
    {_NEWLINE.join(_take(signal) for signal in COLUMNS)}
    {_NEWLINE.join(_put(signal) for signal in COLUMNS)}
end;
"""
"""External content, as in `schema`: a change hands FTS5 the old text, new pages are taken in by `FILLS`.

`page_word`, `observation_word`: the words themselves, views of the index without storage; of pages as written, of
events stemmed, since they have no other.
"""
