"""The tables of the cache. A changed schema is a new number and a rebuild, never a migration."""

from aimemory.index.signals import DDL as SIGNALS
from aimemory.index.signals import FILLS, STEMMED

SCHEMA = 12
"""`pragma user_version` of an index written by this code."""

DDL = f"""
create table meta(key text primary key, value integer not null) strict, without rowid;
insert into meta(key, value) values ('applied_seq', 0);

create table line_type(type text primary key, lines integer not null) strict, without rowid;

create table observation(
    seq integer primary key,
    id text not null unique,
    key text unique,
    hash text,
    at integer not null,
    session text,
    project text not null,
    harness text not null,
    event text not null,
    kind text not null,
    tool text,
    agent text,
    cwd text,
    failed integer,
    exit_code integer,
    text text not null,
    forms text not null,
    data text not null
) strict;
create index observation_session on observation(session, at, seq);
create index observation_stretch on observation(session, at, seq) where kind <> 'pre-tool' and text <> '';
create index observation_project on observation(project, at);
create index observation_scope on observation(seq, project, session, harness, at);
create index observation_hash on observation(hash) where hash is not null;

create table session(
    id text primary key,
    harness text not null,
    native text,
    project text not null,
    cwd text,
    first_seq integer not null,
    last_seq integer not null,
    started_at integer not null,
    last_at integer not null,
    prompts integer not null,
    tools integer not null,
    ended_at integer,
    end_reason text,
    process text,
    closed_seq integer,
    page text
) strict, without rowid;
create index session_project on session(project, last_at);

create table closing(
    id text primary key,
    session text,
    seq integer not null,
    done_seq integer,
    data text not null,
    why text
) strict, without rowid;

create index closing_session on closing(session);

create table brief(
    seq integer primary key,
    session text,
    project text,
    at integer not null,
    digest text,
    chars integer,
    live text
) strict;
create index brief_session on brief(session, seq);

create table handoff(
    id text primary key,
    session text,
    project text not null,
    state text not null,
    page text,
    seq integer not null,
    changed_seq integer not null,
    changed_at integer not null
) strict, without rowid;
create index handoff_project on handoff(project, changed_at);
create index handoff_session on handoff(session);
create index handoff_state on handoff(state);

create table handoff_event(
    seq integer primary key,
    handoff text not null,
    op text not null,
    at integer not null,
    data text not null
) strict;
create index handoff_event_handoff on handoff_event(handoff, seq);

create table written(
    path text primary key,
    version text,
    before text,
    op text not null,
    seq integer not null,
    at integer not null,
    user text,
    harness text,
    session text
) strict, without rowid;

create table page_line(
    seq integer primary key,
    path text not null,
    source text,
    version text,
    op text not null,
    at integer not null,
    user text,
    harness text,
    session text
) strict;
create index page_line_path on page_line(path, seq);
create index page_line_session on page_line(session, seq) where session is not null;

create table project_line(
    seq integer primary key,
    op text not null,
    at integer not null,
    data text not null
) strict;

create table purge(seq integer primary key, at integer not null, data text not null) strict;

create table accepted(
    path text primary key, version text not null, seq integer not null, at integer not null
) strict, without rowid;

create table feedback(
    seq integer primary key,
    page text not null,
    path text not null,
    version text not null,
    verdict text not null,
    note text not null,
    at integer not null,
    user text,
    harness text,
    session text,
    withdrawn integer
) strict;
create index feedback_page on feedback(page, seq);

create table refiled(session text primary key, project text not null) strict, without rowid;

create table merged(project text primary key, target text not null) strict, without rowid;

create table merge_member(
    line integer not null,
    kind text not null,
    id text not null,
    primary key (line, kind, id)
) strict, without rowid;

create table page(
    n integer primary key,
    path text not null unique,
    name text not null,
    id text not null,
    kind text not null,
    title text not null,
    description text not null,
    tags text not null,
    status text,
    created text,
    updated text,
    date_ns integer not null,
    project text,
    workspace text not null,
    version text not null,
    mtime_ns integer not null,
    size integer not null,
    problem text,
    aliases text not null
) strict;
create index page_id on page(id);
create index page_project on page(project, date_ns);
create index page_scope on page(n, project, kind, date_ns);
create index page_date on page(date_ns);
create index page_name on page(name);

create table link(
    source text not null,
    pos integer not null,
    kind text not null,
    raw text not null,
    target text not null,
    name text not null,
    alias text not null,
    heading text not null,
    block text not null,
    is_file integer not null,
    role text not null,
    dest text,
    fits integer not null,
    primary key (source, pos)
) strict, without rowid;
create index link_name on link(name);
create index link_dest on link(dest) where dest is not null;
create index link_role on link(role, dest) where role <> '';
create index link_says on link(source, role) where role <> '';

create table page_text(
    n integer primary key,
    title text not null,
    title_forms text not null,
    body text not null,
    paths text not null,
    idents text not null,
    forms text not null
) strict;

create table project(
    page text primary key,
    id text not null,
    workspace text not null,
    folder text not null,
    identity text not null
) strict, without rowid;
create index project_id on project(id);

create table project_alias(
    page text not null,
    kind text not null,
    value text not null,
    primary key (kind, value, page)
) strict, without rowid;

create virtual table page_fts using fts5(
    title, body, paths, idents, forms, content='page_text', content_rowid='n', tokenize="{STEMMED}");
create virtual table observation_fts using fts5(
    text, forms, content='observation', content_rowid='seq', tokenize="{STEMMED}");

create trigger page_gone after delete on page begin
    delete from page_text where n = old.n;
    delete from link where source = old.path;
    delete from project where page = old.path;
    delete from project_alias where page = old.path;
end;
create trigger page_text_out after delete on page_text begin
    insert into page_fts(page_fts, rowid, title, body, paths, idents, forms)
    values ('delete', old.n, old.title, old.body, old.paths, old.idents, old.forms);
end;
create trigger page_text_change after update on page_text begin
    insert into page_fts(page_fts, rowid, title, body, paths, idents, forms)
    values ('delete', old.n, old.title, old.body, old.paths, old.idents, old.forms);
    insert into page_fts(rowid, title, body, paths, idents, forms)
    values (new.n, new.title, new.body, new.paths, new.idents, new.forms);
end;

create trigger observation_in after insert on observation begin
    insert into observation_fts(rowid, text, forms) values (new.seq, new.text, new.forms);
end;
create trigger observation_out after delete on observation begin
    insert into observation_fts(observation_fts, rowid, text, forms) values ('delete', old.seq, old.text, old.forms);
end;
create trigger observation_change after update of seq, text, forms on observation begin
    insert into observation_fts(observation_fts, rowid, text, forms) values ('delete', old.seq, old.text, old.forms);
    insert into observation_fts(rowid, text, forms) values (new.seq, new.text, new.forms);
end;
{SIGNALS}"""
"""External content, since contentless tables can't delete on this SQLite: a change hands FTS5 the *old* text."""

PAGE_FILLS = (
    """insert into page_fts(rowid, title, body, paths, idents, forms)
    select n, title, body, paths, idents, forms from page_text where n > ?""",
    *FILLS,
)
"""Statements that take new pages, those with a row number above the one given, into each full-text table.

Not triggers, since table by table a batch costs a fifth less than row by row through all five.
"""
