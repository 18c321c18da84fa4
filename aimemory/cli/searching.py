"""`search`: hits for people, coloured on a terminal; one of them can be opened."""

import re
import shlex
import shutil
import subprocess
import sys
from typing import Any

import click

from aimemory.cli.client import Client
from aimemory.cli.output import clean, counted, examples, json_option, note, print_json, translated
from aimemory.cli.pages import here, project_option
from aimemory.config import Config, load_config
from aimemory.errors import NotFound, UserError
from aimemory.model.page import total_text

_MINUS = re.compile(r"-[a-z]{3,}(\s.*)?")
_WORD = re.compile(r"[^\W_]{2,}")
_LIKE_NAMED = 3
_LABEL_COLORS = {"called wrong": "red"}


class _Search(click.Command):
    """Notes which argument is a word behind a minus by its looks, that the shell's rules make an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        options = args[: args.index("--")] if "--" in args else args
        ctx.meta[_MEANT] = next((one for one in options if _MINUS.fullmatch(one)), None)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            raise click.UsageError(error.format_message() + _in_quotes(ctx), error.ctx or ctx) from error


_MEANT = "aimemory.minus"


def _in_quotes(ctx: click.Context) -> str:
    """How to leave a word out, where one of the arguments may have been meant so; else ""."""
    if (meant := ctx.meta.get(_MEANT)) is None:
        return ""
    word, *more = meant.split(None, 1)
    what = f'-"{word[1:]} {more[0]}"' if more else word
    return f" {meant} was read as an option; to leave it out, put the query in quotes: 'redis {what}'."


@click.command(
    cls=_Search,
    epilog=examples(
        "aimemory search session brief",
        "aimemory search 'redis -pool -\"use redis\"'",
        "aimemory search -p '*' 'connection refused'",
        "aimemory search --open 1 'why is the timeout 30 s'",
        "aimemory search --json 飞书",
        "aimemory search --explain --file src/main.py 'why is the timeout 30 s'",
    ),
)
@click.argument("query", nargs=-1)
@project_option
@click.option("-k", "--kind", help="Only pages of this kind, such as decision or session; observation: only events.")
@click.option("-t", "--tag", help="Only pages with this tag.")
@click.option("-w", "--workspace", help="All projects of this workspace.")
@click.option("-f", "--file", help="Only what is about this file, by its path or a part of it.")
@click.option("--harness", help="Only recorded events of this harness.")
@click.option("--session", help="Only recorded events of this session.")
@click.option("--since", help="Not older than this date or time.")
@click.option("--until", help="Not newer than this date or time.")
@click.option("-n", "--limit", type=click.IntRange(1, 50), default=10, show_default=True, help="Number of hits.")
@click.option("--cursor", help="Go on where an earlier answer ended.")
@click.option("--pages-only", is_flag=True, help="Leave recorded events out.")
@click.option("--no-fold", is_flag=True, help="Show hits that say nearly the same one by one.")
@click.option("--explain", is_flag=True, help="Show what brought each hit to its place.")
@click.option("--open", "opened", type=click.IntRange(1), metavar="N", help="Open hit N in $PAGER, else in $EDITOR.")
@json_option
@translated
def search(
    query: tuple[str, ...], limit: int, pages_only: bool, no_fold: bool, explain: bool, opened: int | None,
    as_json: bool, **filters: str | None,
) -> None:  # fmt: skip
    """Search pages and recorded events. Any text is a valid query; quoted "phrases" and -word work.

    A query with these goes in quotes, for the shell: 'redis -pool'. One that begins with a dash goes behind `--`:
    aimemory search -- -Wall
    """
    config = load_config()
    client = Client(config)
    text = " ".join(query)
    if opened is not None and filters["cursor"] is None:
        limit = min(50, max(limit, opened))
    body = {"query": text, "cwd": here(), "limit": limit, "observations": not pages_only, "fold": not no_fold}
    hint = _in_quotes(click.get_current_context())
    try:
        found = client.post("/api/v1/search", body | filters)
    except UserError as error:
        raise type(error)(f"{error}{hint}") from error
    if hint and not found["answer"]["hits"]:
        note(hint.strip())
    if opened is not None:
        _open(config, client, found, opened, as_json)
    elif as_json:
        print_json(found)
    else:
        _print(found, text, explain)


def _print(found: dict[str, Any], query: str, explain: bool) -> None:
    answer = found["answer"]
    note(f"In {found['project'] or 'all projects'} ({found['project_how']}):")
    if answer["loosened"]:
        note(clean(answer["loosened"]))
    words = _words(query)
    for hit in answer["hits"]:
        _print_hit(hit, words)
        if explain:
            _print_reason(hit)
    for text in answer["notes"]:
        note(clean(text))
    if cursor := found["next_cursor"]:
        note(f"{len(answer['hits'])} of {total_text(answer['total'])} hits; --cursor {cursor} gives the next.")


def _print_reason(hit: dict[str, Any]) -> None:
    shares = ", ".join(f"{name} {share:.2f}" for name, share in hit["shares"])
    click.echo(f"    #{hit['rank']}, score {hit['score']:.2f}: {shares or 'newest first'}")
    click.echo(f"    {clean(hit['explanation'] or hit['why'])}")


def _print_hit(hit: dict[str, Any], words: re.Pattern[str] | None) -> None:
    about = f"[{hit['kind']}, {(hit['date'] or '')[:10]}]"
    labels = "".join(f"  {click.style(clean(label), fg=_label_color(label))}" for label in hit["labels"])
    title = click.style(clean(hit["title"]), bold=True)
    click.echo(f"{hit['rank']:>2}. {title}  {click.style(about, dim=True)}{labels}")
    section = f"  {click.style(clean(hit['section']), dim=True)}" if hit["section"] else ""
    click.echo(f"    {click.style(clean(_place(hit)), fg='cyan')}{section}")
    if hit["snippet"]:
        click.echo(f"    {_marked(clean(hit['snippet']), words)}")
    if hit["like_count"]:
        named = ", ".join(hit["like"][:_LIKE_NAMED]) + (", …" if hit["like_count"] > _LIKE_NAMED else "")
        more = clean(f"and {hit['like_count']} like it: {named}")
        click.echo(f"    {click.style(more, dim=True)}")


def _place(hit: dict[str, Any]) -> str:
    return hit["path"] or f"session {hit['session']} line {hit['seq']}"


def _label_color(label: str) -> str:
    return next((color for begin, color in _LABEL_COLORS.items() if label.startswith(begin)), "yellow")


def _words(query: str) -> re.Pattern[str] | None:
    """The words of a query where a text begins with one of them, to be marked."""
    words = sorted(set(_WORD.findall(query)), key=len, reverse=True)[:50]
    if not words:
        return None
    return re.compile("|".join(rf"{chr(92) + 'b' if w.isascii() else ''}{re.escape(w)}" for w in words), re.IGNORECASE)


def _marked(text: str, words: re.Pattern[str] | None) -> str:
    return words.sub(lambda m: click.style(m[0], fg="green", bold=True), text) if words else text


# -- opening one of them -----------------------------------------------------------------------------------------------


def _open(config: Config, client: Client, found: dict[str, Any], number: int, as_json: bool) -> None:
    """On a terminal in $PAGER, else in $EDITOR; elsewhere printed."""
    hits = found["answer"]["hits"]
    hit = next((one for one in hits if one["rank"] == number), None)
    if hit is None:
        raise NotFound(f"There is no hit {number}: {counted(len(hits), 'hit')} in this answer.")
    if hit["path"] is None:
        event = client.get("/api/v1/event", seq=hit["seq"])
        text = _event_text(event)
    else:
        event = client.get("/api/v1/page", page=hit["path"])
        text = event["text"]
    if as_json:
        print_json(event)
    elif not sys.stdout.isatty():
        click.echo(text, nl=not text.endswith("\n"))
    elif _is_there(config.pager):
        _run(config.pager, clean(text))
    elif hit["path"] is not None and _is_there(config.editor):
        _run(f"{config.editor} {shlex.quote(str(config.data.wiki / hit['path']))}", None)
    else:
        click.echo(clean(text), nl=not text.endswith("\n"))


def _is_there(command: str) -> bool:
    try:
        return bool(parts := shlex.split(command)) and shutil.which(parts[0]) is not None
    except ValueError:
        return False


def _run(command: str, text: str | None) -> None:
    try:
        given = text.encode("utf-8", "replace") if text is not None else None
        done = subprocess.run(shlex.split(command), input=given, check=False)
    except (OSError, ValueError) as error:
        raise UserError(f"{command!r} could not be run: {error}.") from error
    if done.returncode > 0:
        raise UserError(f"{command!r} ended with exit code {done.returncode}.")


def _event_text(event: dict[str, Any]) -> str:
    lines = []
    for one in event["events"]:
        mark = "> " if one["seq"] == event["seq"] else "  "
        tool = f" {one['tool']}" if one["tool"] else ""
        lines.append(f"{mark}line {one['seq']}  {one['at'][:19]}  {one['harness']} {one['kind']}{tool}")
        lines += [f"    {row}" for row in one["text"].splitlines()]
    return "\n".join(lines) + "\n"
