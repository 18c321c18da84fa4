"""What the operations of the product answer, as the surfaces (HTTP, MCP, command line) receive it.

Each answer names the project it is about and how that project was found, so that a reader sees a wrong guess.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from aimemory.model.page import SearchAnswer


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, as far as the surface can see; every field is a hint and may be None.

    cwd: absolute directory of the asking process. session: the harness's own session id, which may be stale.
    peer: pid of the process that connected, where it did so over the Unix socket.
    """

    cwd: str | None = None
    harness: str | None = None
    session: str | None = None
    peer: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A search. project_how: one phrase, such as "from the working directory". next_cursor: None on the last page."""

    answer: SearchAnswer
    project: str | None
    project_how: str
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class SectionView:
    """A section of a page. number: from 1, in the order of the text. name: the headings that lead to it. offset, chars:
    where it stands in the page and how long it is, with what is below it."""

    number: int
    name: str
    level: int
    offset: int
    chars: int


@dataclass(frozen=True, slots=True)
class PageThen:
    """An earlier version that a reading is about. version: None where there was no page. number: in its history, None
    for one that no history lists. path: the name that it had in git. said: in a phrase, for people."""

    version: str | None
    number: int | None
    when: str
    path: str
    commit: str | None
    said: str


@dataclass(frozen=True, slots=True)
class FeedbackView:
    """What one voice says of a page. seq: of its journal line. is_current: it was said of the text that stands."""

    seq: int
    verdict: str
    note: str
    at: str
    user: str | None
    harness: str | None
    session: str | None
    is_current: bool


@dataclass(frozen=True, slots=True)
class FeedbackGiven:
    """A verdict that is durable and in force. withdrawn: lines that it takes back. feedback: what counts now."""

    path: str
    id: str
    title: str
    verdict: str
    seq: int
    withdrawn: tuple[int, ...]
    feedback: tuple[FeedbackView, ...]
    redacted: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PageView:
    """A part of a page. text: the characters from the asked offset on; next_offset: where to go on, None at the end.

    section: the headings of the one that was asked for; offsets count in it then. sections: those of the page, where
    they were asked for or the page goes on; at most 200 of sections_total. as_of: the earlier version that this is,
    diff_from: the one that the text shows the differences from (unified). redacted: what was taken out of the text,
    since it goes to an agent; such a text can't be written back. feedback: what readers say of the page, the newest
    first.
    """

    path: str
    id: str
    title: str
    kind: str
    text: str
    version: str
    project: str | None
    project_how: str
    total_chars: int
    next_offset: int | None = None
    section: str | None = None
    sections: tuple[SectionView, ...] = ()
    sections_total: int = 0
    as_of: PageThen | None = None
    diff_from: PageThen | None = None
    redacted: Mapping[str, int] = field(default_factory=dict)
    feedback: tuple[FeedbackView, ...] = ()


@dataclass(frozen=True, slots=True)
class EventView:
    """A recorded event, in short. seq: its number in the journal. text: what is searched of it, at most 1,000
    characters of what was asked, said, run, touched and failed."""

    seq: int
    id: str
    at: str
    kind: str
    harness: str
    tool: str | None
    session: str | None
    text: str


@dataclass(frozen=True, slots=True)
class EventAround:
    """An event (`seq`) among those of its session right before and after it, in the order of their time."""

    seq: int
    session: str | None
    project: str | None
    events: tuple[EventView, ...]


@dataclass(frozen=True, slots=True)
class EventsBehind:
    """The last events of a session behind a page. role: page (it is the session's own), handoff, or write (the session
    wrote it; what it did afterwards is left out). total: how many there are. next_before: give it as `before` for
    earlier ones, None when all are shown."""

    session: str
    harness: str | None
    role: str
    total: int
    events: tuple[EventView, ...]
    next_before: int | None = None


@dataclass(frozen=True, slots=True)
class RelatedPage:
    """A related page. distance: steps. why: what joins it, at most 4 reasons."""

    path: str
    title: str
    kind: str
    date: str
    project: str | None
    status: str | None
    distance: int
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RelatedView:
    """What is around a page: related pages, by distance and then the closest first, of `total` that were found."""

    path: str
    title: str
    kind: str
    project: str | None
    project_how: str
    depth: int
    pages: tuple[RelatedPage, ...]
    total: int
    behind: tuple[EventsBehind, ...]


@dataclass(frozen=True, slots=True)
class Written:
    """A page write that is durable. created: False when an existing page was changed.

    redacted: how many things of each kind were taken out of the text before it was stored. merged: somebody had changed
    the page since the version that was given; both changes are in it, so its text is not the one that was sent.
    unchanged: the page had that text already, and nothing was written.
    """

    path: str
    id: str
    version: str
    project: str | None
    project_how: str
    created: bool
    redacted: Mapping[str, int] = field(default_factory=dict)
    merged: bool = False
    unchanged: bool = False


@dataclass(frozen=True, slots=True)
class ConflictCopy:
    """A text that could not be written since its page had changed. at: RFC 3339. summary: what it was to do.

    expected: the version that its writer had read; None for a page that was to be new. stands: the version that stood
    instead; None where the page was gone. size: bytes of the text. redacted: how many things were taken out of it.
    settled: its writer has written the page since.
    """

    id: str
    path: str
    at: str
    user: str
    harness: str | None
    session: str | None
    summary: str
    expected: str | None
    stands: str | None
    size: int
    redacted: int = 0
    settled: bool = False


@dataclass(frozen=True, slots=True)
class ConflictView:
    """A conflict copy with its text, and how that differs from the page as it stands (unified; "" for a page that is
    gone)."""

    copy: ConflictCopy
    text: str
    diff: str


@dataclass(frozen=True, slots=True)
class PageChange:
    """One version of a page. number: 1 is the newest. version: None where it was deleted.

    what: created, changed, edited, deleted, restored or moved. by: a phrase for people. by_hand: done outside of us.
    commit: where git has it. restorable: whether its text can be had again.
    """

    number: int
    version: str | None
    what: str
    when: str
    by: str
    user: str | None
    harness: str | None
    session: str | None
    by_hand: bool
    commit: str | None
    restorable: bool


@dataclass(frozen=True, slots=True)
class PageChanges:
    """A page's versions, newest first. exists: whether the page is there now. diff: unified, where one was asked for.

    total: how many there are. held: what keeps its present text out of git.
    """

    path: str
    exists: bool
    changes: tuple[PageChange, ...]
    total: int
    held: str | None = None
    diff: str | None = None


@dataclass(frozen=True, slots=True)
class Deletion:
    """What deleting a page does, or did (`applied`). version: what a deletion must give back.

    commit: where its text stays; None if deleting it loses it. linked_from: pages that link to it. remains: what
    stays of it afterwards, a sentence each.
    """

    path: str
    id: str
    title: str
    version: str
    applied: bool
    commit: str | None
    held: str | None
    linked_from: tuple[str, ...]
    remains: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LinkView:
    """A link of the page `source`. kind: wiki, embed, markdown or property. page: what it leads to.

    verdict: page; ambiguous, where several pages fit and `page` is the one that Obsidian opens; file, which is not
    judged; or broken.
    """

    source: str
    kind: str
    raw: str
    target: str
    alias: str
    heading: str
    block: str
    page: str | None
    verdict: str


@dataclass(frozen=True, slots=True)
class PageLinks:
    """The links in a page in the order of its text, and those of other pages that lead to it."""

    path: str
    outgoing: tuple[LinkView, ...]
    backlinks: tuple[LinkView, ...]


@dataclass(frozen=True, slots=True)
class LinkFaults:
    """Links that lead nowhere or fit several pages. project: None for all. links: how many there are of any kind.

    shared_names: paths of the pages that share a file name, in the whole wiki.
    """

    project: str | None
    project_how: str
    links: int
    broken_total: int
    ambiguous_total: int
    broken: tuple[LinkView, ...]
    ambiguous: tuple[LinkView, ...]
    shared_names: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Undone:
    """What taking back a session's writes means for one page.

    action: `delete` (it created the page), `revert` (to version `to`), `restore` (it deleted the page) or `leave`, for
    the reason in `note`. version: what stands before. back: the command that takes this back. done: it was done.
    """

    path: str
    action: str
    version: str | None
    to: str | None
    note: str
    back: str
    done: bool = False


@dataclass(frozen=True, slots=True)
class Undo:
    """session: our id. applied: False for what would be done."""

    session: str
    applied: bool
    pages: tuple[Undone, ...]


@dataclass(frozen=True, slots=True)
class Refiled:
    """What renaming or merging a project or moving a session does, or did (`applied`).

    project, to: paths of the projects before and after. session: for one that moves. pages: new paths by old ones.
    sessions, observations, handoffs: how many come along. linked_from: pages whose links by path or by the project's
    name lead nowhere then. relinked: pages whose links are changed along. back: the command that takes this back.
    aliases: names and directories that mean `to` then. renamed: of `pages`, those that get another name, since one of
    theirs is there. left: pages that are not where a merge put them any more, and stay.
    """

    op: str
    project: str
    to: str
    session: str | None
    pages: Mapping[str, str]
    sessions: int
    observations: int
    handoffs: int
    linked_from: tuple[str, ...]
    back: str
    applied: bool
    relinked: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    renamed: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CaptureRule:
    """One rule of a `.aimemory.toml`: mode, or a pattern. problem: why it can't be used."""

    setting: str
    value: str
    line: int | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class CaptureVerdict:
    """level: full, metadata or drop. rule: the setting that decided. pattern, line, path: of it. said: in words."""

    level: str
    rule: str | None
    pattern: str | None
    line: int | None
    path: str | None
    said: str


@dataclass(frozen=True, slots=True)
class CaptureView:
    """What holds in a directory. file: the settings file in force. off_by: the folder that `aimemory off` names.

    settings_mode: `capture.mode` of the program's settings. work_trees: where the same rules hold.
    """

    directory: str
    project: str
    project_how: str
    file: str | None
    off_by: str | None
    settings_mode: str
    settings_file: str | None
    rules: tuple[CaptureRule, ...]
    problems: tuple[str, ...]
    work_trees: tuple[str, ...]
    verdict: CaptureVerdict


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One change. seq: of its journal line. type: the line's; op: what was done, where the type has several.

    session: ours, of who did it, where an agent did.
    """

    seq: int
    at: str
    type: str
    op: str | None
    said: str
    user: str | None
    machine: str | None
    harness: str | None
    session: str | None
    project: str | None


@dataclass(frozen=True, slots=True)
class AuditList:
    """Changes, newest first. next_cursor: None on the last page. damage: journal lines that can't be read."""

    entries: tuple[AuditEntry, ...]
    next_cursor: str | None
    damage: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Exported:
    """A project as a bundle. name: of the bundle. files: texts by path in it. left_out: reasons by path.

    redacted: by path in the bundle, how many things of each kind were taken out.
    """

    project: str
    name: str
    files: Mapping[str, str]
    left_out: Mapping[str, str]
    redacted: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class ImportedPage:
    """One file of a foreign bundle. page: its place in the wiki. redacted: what was taken out of it, by kind.

    outcome: new, updated, unchanged, left (changed or deleted here) or left out, for the reason in `why`.
    """

    path: str
    page: str | None
    outcome: str
    why: str = ""
    redacted: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Imported:
    """What importing does, or did (`applied`). is_new: there was no such project before."""

    project: str
    bundle: str
    applied: bool
    pages: tuple[ImportedPage, ...]
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class RecentItem:
    """One thing that happened. when: RFC 3339. path: None for what has no page, such as a live session."""

    kind: str
    title: str
    path: str | None
    when: str
    project: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Recent:
    """What happened last, newest first."""

    items: tuple[RecentItem, ...]
    project: str | None
    project_how: str


@dataclass(frozen=True, slots=True)
class HandoffView:
    """A handoff as the surfaces show it; times are RFC 3339. page: None while it is provisional.

    its_session: ended, quiet, gone or live, where that was looked at. offered_to: sessions that hold an offer.
    """

    id: str
    state: str
    title: str
    page: str | None
    project: str | None
    session: str | None
    harness: str
    manual: bool
    branch: str | None
    checkout: str | None
    to: str | None
    continues: str | None
    opened: str
    changed: str
    claimed_by: str | None
    claimed_by_harness: str | None
    claimed_by_user: str | None
    claimed: str | None
    offered_to: tuple[str, ...]
    its_session: str | None


@dataclass(frozen=True, slots=True)
class HandoffList:
    """Handoffs, those that can be taken first."""

    handoffs: tuple[HandoffView, ...]
    project: str | None
    project_how: str


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session as the surfaces show it. standing: ended, quiet, gone or live."""

    id: str
    harness: str
    native: str | None
    project: str | None
    title: str
    started: str
    last: str
    standing: str
    page: str | None
    prompts: int
    tools: int
    files: int
    failing: int
    cwd: str | None
    started_ns: int


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened to a session or a handoff. id: of the session or handoff. page: its page, if any."""

    at: str
    kind: str
    said: str
    page: str | None
    id: str


@dataclass(frozen=True, slots=True)
class Forgetting:
    """What forgetting something takes out, or took out.

    counts: by place or line type. pages: those that go or change. commits, versions: of git's history; rewritten with
    `history`, else still holding it. found: places that hold one of the texts that were looked for afterwards.
    unread: what could not be looked into. rewritten: commits that get new ids, those behind them included. other_forms:
    places that hold a text in a form that is not taken out. remains: sentences on what is left and how to remove that
    too. seq: the journal line that tells of it, once applied.
    """

    what: str
    applied: bool
    counts: dict[str, int]
    pages: tuple[str, ...]
    history: bool
    commits: int
    versions: int
    remains: tuple[str, ...]
    texts: int = 0
    files: int = 0
    bytes: int = 0
    found: dict[str, int] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    rewritten: int = 0
    other_forms: tuple[str, ...] = ()
    backups_removed: tuple[str, ...] = ()
    seq: int | None = None
    at: str | None = None


@dataclass(frozen=True, slots=True)
class Retaining:
    """What is older than the settings keep it, and goes or went (`applied`).

    days: by kind, those that have a limit; empty where retention is off. counts, bytes: by kind and by lines of the
    journal; bytes before compression. spared: sessions and handoffs that are old enough and stay. seq: the journal line
    that tells of it.
    """

    applied: bool
    days: dict[str, int]
    history: bool
    counts: dict[str, int]
    bytes: dict[str, int]
    pages: tuple[str, ...]
    spared: int
    remains: tuple[str, ...]
    seq: int | None = None
    at: str | None = None


@dataclass(frozen=True, slots=True)
class Rescanning:
    """What today's rules find in what is stored: by place, how many of which kind. persons: in files that a person
    wrote, which are never changed. pages: those that change. commits: of git's history that hold a finding."""

    applied: bool
    found: dict[str, dict[str, int]]
    persons: dict[str, dict[str, int]]
    pages: tuple[str, ...]
    commits: int
    history: bool
    remains: tuple[str, ...]
    counts: dict[str, int] = field(default_factory=dict)
    seq: int | None = None
    at: str | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """A finding that a person acknowledged: in this page, as it stands."""

    path: str
    found: str
