"""The table of MCP tools and the check of their arguments.

Schemas are written by hand and go out as they stand: a flat object, every property with one plain type, optional means
"not in `required`". Several vendors reject *all* tools of a server for one union, `anyOf`, `$ref` or null type.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

READ_MAX_CHARS = 16_000
"""Largest part of a page in one answer; leaves room for heading and pointer below the cap of an answer."""

WRITE_KINDS = ("decision", "gotcha", "concept", "procedure", "note", "rule")


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool: `properties` and `required` make its input schema."""

    name: str
    title: str
    description: str
    properties: Mapping[str, Mapping[str, Any]]
    required: tuple[str, ...] = ()
    read_only: bool = True
    idempotent: bool = True
    destructive: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {name: dict(rules) for name, rules in self.properties.items()},
            "required": list(self.required),
            "additionalProperties": False,
        }


def _text(description: str, **rules: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **rules}


def _whole(description: str, least: int, most: int) -> dict[str, Any]:
    return {"type": "integer", "description": description, "minimum": least, "maximum": most}


_PROJECT = _text("Another project than the current one, by name or remote; * for all when searching.")

TOOLS: tuple[ToolSpec, ...] = (
    ToolSpec(
        "memory_search",
        "Search memory",
        "Search what earlier sessions of any coding agent did, decided and learnt in this project. Use it before a "
        "decision, when an error looks familiar, or when the user refers to earlier work. Any text is a valid query.",
        {
            "query": _text("What to look for: words, a phrase, an identifier, an error message or a file path."),
            "project": _PROJECT,
            "kind": _text("Only this kind: decision, gotcha, concept, procedure, note, rule, session, observation."),
            "limit": _whole("How many results; 10 if left out.", 1, 50),
            "cursor": _text("Continue an earlier search: the cursor that its answer gave."),
            "harness": _text("Only what this agent did, such as claude-code or codex."),
            "session": _text("Only this session id."),
            "since": _text("Only from this date or time on, such as 2026-11-30."),
            "until": _text("Only up to this date or time."),
            "file": _text("Only what is about this file: its path or a part of it."),
            "tag": _text("Only pages with this tag."),
            "workspace": _text("All projects of this workspace, in place of one project."),
            "include_observations": {
                "type": "boolean",
                "description": "Also search the raw recorded events; true if left out.",
            },
        },
        ("query",),
    ),
    ToolSpec(
        "memory_read_page",
        "Read a memory page",
        "Read one page of memory, or a section of it, as it is or as it was. Use it after memory_search or "
        "memory_recent named a page, and before you change one: memory_write_page needs the version in the answer.",
        {
            "page": _text("Path, id, title or alias of the page, as an earlier answer gave it."),
            "project": _PROJECT,
            "section": _text(
                "Only this section: its heading, the headings that lead to it (Setup > Linux) or a number."
            ),
            "sections": {"type": "boolean", "description": "List the page's sections in place of its text."},
            "as_of": _text(
                "As it was then, also if it is gone: a day, a time, a commit, or a number (1 is the newest)."
            ),
            "diff": _text("What changed since then, until as_of or now: a day, a time, a commit or a number."),
            "offset": _whole("First character to read; 0 if left out.", 0, 1_000_000_000),
            "max_chars": _whole("How many characters; 16000 if left out.", 1, READ_MAX_CHARS),
        },
        ("page",),
    ),
    ToolSpec(
        "memory_related",
        "What is around a memory page",
        "Pages that belong to a page (links both ways, same session, handoffs, tags), each with why, and the recorded "
        "events behind it. Use it after memory_read_page to see how something came about.",
        {
            "page": _text("Path, id, title or alias of the page, as an earlier answer gave it."),
            "project": _PROJECT,
            "depth": _whole("How many steps from the page; 1 if left out.", 1, 3),
            "limit": _whole("How many pages; 20 if left out.", 0, 50),
            "events": _whole("How many events of each session behind the page; 10 if left out.", 0, 30),
            "before": _whole("Only events with a lower line number: for earlier ones.", 1, 1_000_000_000_000),
        },
        ("page",),
    ),
    ToolSpec(
        "memory_feedback",
        "Say what a page was worth",
        "Say that a page you used was helpful, or not, or that it is stale or wrong, with a note on what is right. It "
        "moves the page a little in later searches and warns readers. To correct a page, change it instead.",
        {
            "page": _text("Path, id or title of the page, as an earlier answer gave it."),
            "verdict": _text(
                "What it was; withdraw takes back what you said.",
                enum=["helpful", "not helpful", "stale", "wrong", "withdraw"],
            ),
            "note": _text("Why, in a sentence or two."),
            "project": _PROJECT,
        },
        ("page", "verdict"),
        read_only=False,
    ),
    ToolSpec(
        "memory_write_page",
        "Write a memory page",
        "Store what later sessions should know: a decision with its reason, a trap and its fix, how something is done, "
        "a rule of the user. One subject per page. To change a page, read it first and give its path and version.",
        {
            "title": _text("Short title that says what the page is about."),
            "body": _text("Markdown text of the page, without front matter."),
            "kind": _text("What it is; note if left out.", enum=list(WRITE_KINDS)),
            "project": _PROJECT,
            "path": _text("Path of an existing page to change."),
            "version": _text("Version of that page as memory_read_page gave it."),
            "tags": {"type": "array", "items": {"type": "string"}, "description": "Words to find it by."},
        },
        ("title", "body"),
        read_only=False,
        idempotent=False,
    ),
    ToolSpec(
        "memory_delete_page",
        "Delete a memory page",
        "Take away a page that is wrong or was filed by mistake, so that no search or brief shows it again. Read it "
        "first: its version is needed. To correct or supersede a page, change it instead. The user can bring it back.",
        {
            "page": _text("Path, id or title of the page, as an earlier answer gave it."),
            "version": _text("Version of that page as memory_read_page gave it."),
            "project": _PROJECT,
        },
        ("page", "version"),
        read_only=False,
        idempotent=False,
        destructive=True,
    ),
    ToolSpec(
        "memory_recent",
        "Recent memory",
        "List what happened last in this project, newest first: sessions and pages. Use it to pick up where earlier "
        "work stopped.",
        {
            "project": _PROJECT,
            "limit": _whole("How many items; 20 if left out.", 1, 50),
            "kind": _text("Only this kind: session, decision, gotcha, concept, procedure, note, rule."),
        },
    ),
    ToolSpec(
        "memory_session_brief",
        "Brief for this session",
        "What earlier sessions left for you here: the handoff that is offered to you or that you have, rules, who else "
        "is at work. Use it at the start when no brief was shown, or after losing context. A handoff in it becomes "
        "yours with your next tool call.",
        {"project": _PROJECT},
    ),
    ToolSpec(
        "memory_session_close",
        "Sum up this session",
        "Call it before you stop or when the user ends the work: your summary goes into this session's handoff, marked "
        "as your own words, beside what was observed. Say what is done, what is open, what failed. It ends nothing.",
        {
            "summary": _text("What is done, what is open, what was tried and dropped, what fails."),
            "next_steps": _text("What the next agent should do first."),
        },
        ("summary",),
        read_only=False,
    ),
    ToolSpec(
        "memory_handoff_begin",
        "Hand over by hand",
        "Hand this work to another agent, person or machine on purpose. Only when the user asks for a handoff: every "
        "session is handed over by itself. To see what is open use memory_handoff_list.",
        {
            "summary": _text("What is done, what is open, what was tried and dropped, what fails."),
            "next_steps": _text("What the next agent should do first."),
            "title": _text("Short title of the work."),
            "to": _text("For whom: a harness such as codex, a user or a machine; anyone if left out."),
            "project": _PROJECT,
        },
        ("summary",),
        read_only=False,
    ),
    ToolSpec(
        "memory_handoff_list",
        "List handoffs",
        "Which handoffs are open here, who has taken which. It changes nothing.",
        {
            "state": _text("Only these.", enum=["open", "claimed", "done", "cancelled", "expired"]),
            "project": _PROJECT,
            "limit": _whole("How many; 20 if left out.", 1, 50),
        },
    ),
    ToolSpec(
        "memory_handoff_claim",
        "Take a handoff",
        "Take an open handoff by its id, when it was not offered to you in your brief and the user wants you to go on "
        "with it. Only one session can have it; the answer holds what it carries.",
        {"handoff": _text("Id of the handoff, as a brief or memory_handoff_list gave it.")},
        ("handoff",),
        read_only=False,
    ),
    ToolSpec(
        "memory_handoff_cancel",
        "Cancel a handoff",
        "Withdraw a handoff that nobody should go on with. Its page stays, marked as cancelled.",
        {
            "handoff": _text("Id of the handoff, as memory_handoff_list gave it."),
            "reason": _text("Why, in a few words."),
        },
        ("handoff",),
        read_only=False,
        idempotent=False,
    ),
    ToolSpec(
        "memory_status",
        "Memory status",
        "Show whether memory works: what is running, what was captured last and what failed. Use it when results look "
        "incomplete.",
        {},
    ),
    ToolSpec(
        "memory_doctor",
        "Find what is wrong with memory",
        "Check every part of memory: files, daemon, stores, hooks of each agent. Each finding has what was seen and "
        "what to do. Use it when nothing is captured or found, or when the user asks what is wrong. Repairs nothing.",
        {"show_all": {"type": "boolean", "description": "Also say what is well; false if left out."}},
    ),
)


class Arguments:
    """Checks and mends the arguments of one tool."""

    def __init__(self, spec: ToolSpec) -> None:
        self._spec = spec
        self._validator = Draft202012Validator(spec.schema)

    def mended(self, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """The arguments with what models commonly get wrong put right; wrong ones stay as they are.

        A number or boolean written as text becomes one, a number where text is expected becomes text, a comma-separated
        text becomes a list, and null counts as left out.
        """
        known = self._spec.properties
        return {
            name: _mended(value, known[name]["type"]) if name in known else value
            for name, value in (given or {}).items()
            if value is not None
        }

    def problems(self, arguments: Mapping[str, Any]) -> list[str]:
        """All problems, a sentence each, in the order of the schema; empty when the tool may run.

        Values are never repeated: they can be long, and the caller knows them.
        """
        found: list[str] = []
        for error in self._validator.iter_errors(dict(arguments)):
            found += self._sentences(error)
        order = {name: i for i, name in enumerate(self._spec.properties)}
        return sorted(found, key=lambda sentence: order.get(sentence.split(":", 1)[0], len(order)))

    def expected(self) -> str:
        """One line that says what the tool takes."""
        if not self._spec.properties:
            return f"{self._spec.name} takes no arguments."
        parts = []
        for name, rules in self._spec.properties.items():
            kind = " | ".join(rules["enum"]) if "enum" in rules else _TYPE_NAMES[rules["type"]]
            parts.append(f"{name} ({kind}{', required' if name in self._spec.required else ''})")
        return f"{self._spec.name} takes {', '.join(parts)}."

    def _sentences(self, error: Any) -> list[str]:
        where = str(error.absolute_path[0]) if error.absolute_path else ""
        match error.validator:
            case "required":  # one error per missing name, without saying which in a field of its own
                missing = [name for name in error.validator_value if name not in error.instance]
                return [f"{name}: is required" for name in missing if f"'{name}'" in error.message]
            case "additionalProperties":
                return [
                    f"{name[:60]}: is not an argument" for name in error.instance if name not in self._spec.properties
                ]
            case "type":
                what = "each item must be" if len(error.absolute_path) > 1 else "must be"
                return [f"{where}: {what} {_TYPE_NAMES[error.validator_value]}"]
            case "enum":
                return [f"{where}: must be one of {', '.join(error.validator_value)}"]
            case "minimum":
                return [f"{where}: must be at least {error.validator_value}"]
            case _:
                return [f"{where}: must be at most {error.validator_value}"]


_TYPE_NAMES = {"string": "text", "integer": "a whole number", "boolean": "true or false", "array": "a list of texts"}


def _mended(value: Any, wanted: str) -> Any:
    if wanted == "string" and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if wanted == "integer":
        if isinstance(value, float) and value.is_integer():
            return int(value)
        digits = value.strip() if isinstance(value, str) else ""
        return int(digits) if digits.isascii() and digits.lstrip("-").isdigit() and len(digits) < 19 else value
    if wanted == "boolean" and isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower(), value)
    if wanted == "array" and isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    if wanted == "array" and isinstance(value, list):
        return [_mended(item, "string") for item in value]
    return value
