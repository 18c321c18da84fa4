"""The table of commands. Each is loaded when it is called, so that `aimemory status` never meets the server."""

from importlib import import_module

import click

from aimemory import __version__
from aimemory.config import no_color

COMMANDS: dict[str, tuple[str, str]] = {
    "up": ("lifecycle", "Start the daemon in the background and wait until it answers."),
    "down": ("lifecycle", "Stop the daemon and keep it stopped."),
    "restart": ("lifecycle", "Stop and start the daemon."),
    "serve": ("lifecycle", "Run the daemon in the foreground."),
    "status": ("lifecycle", "What runs, what was captured, what is wrong."),
    "doctor": ("doctor", "What is wrong, how it was seen, and what to do."),
    "audit": ("audit", "Who changed what, newest first."),
    "where": ("projects", "Explain which project a directory belongs to."),
    "project": ("projects", "List projects, or put right what was filed wrongly."),
    "off": ("capture", "Record nothing in a folder and below."),
    "on": ("capture", "Record again in a folder and below."),
    "search": ("searching", "Search pages and recorded events."),
    "read": ("reading", "Print a page or a section, as it is, as it was, or what changed."),
    "grep": ("grep", "Literal text or a pattern over pages and events, from the files."),
    "related": ("reading", "What belongs to a page, and the events behind it."),
    "feedback": ("reading", "Say that a page was helpful or not, is stale or wrong."),
    "write": ("pages", "Create or replace a page."),
    "edit": ("repair", "Change a page in your editor, or one field of it."),
    "delete": ("repair", "Take a page away; it can be brought back."),
    "undelete": ("repair", "Bring back a deleted page, or an earlier version."),
    "history": ("repair", "The versions of a page: when, who, what."),
    "conflicts": ("conflicts", "Texts that could not be written since the page had changed."),
    "undo": ("undo", "Take back what a session wrote to pages."),
    "links": ("links", "What a page links to and what links to it; links that lead nowhere."),
    "recent": ("pages", "What was written or recorded last."),
    "brief": ("pages", "Print what the next agent would be told here."),
    "handoffs": ("handoffs", "Handoffs of this project, or one of them."),
    "handoff": ("handoffs", "Hand over, take, give back or cancel by hand."),
    "sessions": ("handoffs", "Sessions of this project, or one of them."),
    "trail": ("handoffs", "Who worked here and who took what from whom."),
    "why": ("handoffs", "Why a handoff was or wasn't written, offered, taken."),
    "demo": ("demo", "Two scripted agents, a crash, one handoff: a few seconds."),
    "preview": ("preview", "What the next agent would be told here, from transcripts alone."),
    "reindex": ("upkeep", "Rebuild the search index from the files."),
    "forget": ("forget", "Take something out of everything that is stored, for good."),
    "retention": ("retention", "What the settings let go because of its age; --apply does it now."),
    "rescan": ("forget", "Apply today's privacy rules to what was stored before them."),
    "backup": ("backup", "Copy everything into one archive; check one, put one back."),
    "verify": ("verify", "Check journal, wiki, git, index and spool; change nothing."),
    "export": ("bundles", "Write a project as a bundle of the Open Knowledge Format."),
    "import": ("bundles", "Take a foreign bundle's pages into a project."),
    "connect": ("connect", "Register hooks and the MCP server with coding agents."),
    "disconnect": ("connect", "Take them out again, to the same bytes."),
    "hook": ("upkeep", "Send one event, as a vendor's hook does."),
    "mcp": ("upkeep", "Serve MCP on standard input and output."),
    "service": ("service", "Install or remove the systemd user service."),
}


_NAMED = {"import": "import_bundle"}
"""Commands whose name can't be a function's."""


class _Lazy(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = import_module(f"aimemory.cli.{COMMANDS[name][0]}")
        command: click.Command = getattr(module, _NAMED.get(name, name))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise click.UsageError(f"{error.message} `aimemory --help` lists all commands.", ctx) from None


@click.group(
    cls=_Lazy,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 damaged data or a fault, 2 wrong use, 3 somebody else was first, 75 try again later.",
)
@click.version_option(__version__, prog_name="aimemory")
def cli() -> None:
    """Long-term memory and handoffs for AI coding agents: local first, in plain markdown."""
    if no_color():
        click.get_current_context().color = False
