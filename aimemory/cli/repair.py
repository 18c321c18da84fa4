"""`edit`, `delete`, `undelete`, `history`: putting right what was written wrongly."""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from aimemory.cli.client import Client
from aimemory.cli.output import clean, json_option, note, print_json, translated
from aimemory.cli.pages import here, note_merged, project_option
from aimemory.cli.textin import decoded_text
from aimemory.config import Config, load_config
from aimemory.errors import AimemoryError, Conflict, UserError
from aimemory.privacy import sanitize

_NAME_BYTES = 200
"""Of a page's name in the name of its copy; its end says what kind of file it is."""

_MARK = "\ufeff"


@click.command(
    epilog="Examples: aimemory edit use-sqlite-1f2e   ·   aimemory edit use-sqlite-1f2e --set status=superseded   ·   "
    "aimemory edit use-sqlite-1f2e --set 'tags=[db, storage]'"
)
@click.argument("page")
@click.option(
    "--set", "fields", multiple=True, metavar="KEY=VALUE",
    help="Set one field of the front matter instead; [a, b] is a list, no value removes the field.",
)  # fmt: skip
@project_option
@json_option
@translated
def edit(page: str, fields: tuple[str, ...], project: str | None, as_json: bool) -> None:
    """Change a page in your editor ($VISUAL, $EDITOR), or single fields of it.

    A page that changed meanwhile is not overwritten; what you wrote is kept, and the message says where.
    """
    config = load_config()
    client = Client(config)
    if fields:
        written = {}
        for key, value in [_field(text) for text in fields]:
            body = {"page": page, "key": key, "project": project, "cwd": here()} | value
            written = client.post("/api/v1/page/field", body)
    else:
        found = client.get("/api/v1/page", page=page, project=project, cwd=here())
        written = _edited(config, client, found)
    _print_written(written, as_json, "Changed")


def _field(text: str) -> tuple[str, dict[str, Any]]:
    key, sign, value = text.partition("=")
    if not sign:
        raise UserError(f"--set takes KEY=VALUE, not {text[:80]!r}.")
    value = value.strip()
    if value.startswith("[") and value.endswith("]"):
        return key.strip(), {"values": [part.strip() for part in value[1:-1].split(",") if part.strip()]}
    return key.strip(), {"value": value} if value else {}


def _edited(config: Config, client: Client, found: dict[str, Any]) -> dict[str, Any]:
    """Let the person edit a copy and write it back; the copy stays wherever that fails."""
    copy = _copy(config, found)
    try:
        subprocess.run([*shlex.split(config.editor), str(copy)], check=True)
        text = _typed(copy.read_bytes(), found["text"])
    except UserError as error:
        raise UserError(f"{error}{_kept(copy, found['text'])}") from error
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        kept = _kept(copy, found["text"])
        raise UserError(
            f"Nothing was written: the editor {config.editor!r} failed ({_reason(error)}).{kept}"
        ) from error
    if text == found["text"]:
        copy.unlink()
        return {"path": found["path"], "version": found["version"], "redacted": {}, "unchanged": True}
    try:
        body = {"page": found["path"], "text": text, "version": found["version"], "cwd": here()}
        written: dict[str, Any] = client.post("/api/v1/page/edit", body)
    except Conflict as error:
        if error.kept and sanitize(text).value == text:  # the conflict copy has all of it
            copy.unlink()
            raise
        message = f"{error} Your text is kept in {copy}; `aimemory edit` the page again and take over what you need."
        raise Conflict(message, current=error.current, version=error.version) from error
    except AimemoryError as error:
        raise type(error)(f"{error} Your text is kept in {copy}.") from error
    copy.unlink()
    return written


def _typed(raw: bytes, before: str) -> str:
    """What the editor left. The page keeps a mark or a NUL that it had before. Raises UserError for no text."""
    if before.startswith(_MARK) or "\0" in before:
        return raw.decode("utf-8")
    return decoded_text(raw, "Nothing was written, since what the editor saved is no text")


def _copy(config: Config, found: dict[str, Any]) -> Path:
    """A private copy outside of the wiki, in a folder that outlives this process and a restart."""
    config.data.edits.mkdir(mode=0o700, parents=True, exist_ok=True)
    name = Path(found["path"]).name.encode()[-_NAME_BYTES:].decode("utf-8", "ignore")
    fd, name = tempfile.mkstemp(suffix=f"-{name}", dir=config.data.edits)
    with os.fdopen(fd, "wb") as file:
        file.write(found["text"].encode("utf-8"))
    return Path(name)


def _kept(copy: Path, text: str) -> str:
    """A sentence on where a changed copy is; one that wasn't changed goes."""
    try:
        if copy.read_bytes() == text.encode("utf-8"):
            copy.unlink()
            return ""
    except OSError:
        return ""
    return f" Your text is kept in {copy}."


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        return f"exit code {error.returncode}"
    return getattr(error, "strerror", None) or str(error)


@click.command(epilog="Examples: aimemory delete use-sqlite-1f2e   ·   aimemory delete use-sqlite-1f2e --apply")
@click.argument("page")
@click.option("--apply", is_flag=True, help="Do it; without, what would happen is shown.")
@click.option("--lose", is_flag=True, help="Also a page whose text is in no commit, so that nothing brings it back.")
@project_option
@json_option
@translated
def delete(page: str, apply: bool, lose: bool, project: str | None, as_json: bool) -> None:
    """Take a page away, so that nothing finds it any more. `aimemory undelete` brings it back."""
    client = Client(load_config())
    body = {"page": page, "project": project, "cwd": here()}
    plan = client.post("/api/v1/page/delete", body)
    if apply:
        given = {"page": plan["path"], "version": plan["version"], "apply": True, "lose": lose, "cwd": here()}
        plan = client.post("/api/v1/page/delete", given)
    if as_json:
        print_json(plan)
        return
    click.echo(f"{'Deleted' if plan['applied'] else 'Would delete'} {clean(plan['path'])}  ({clean(plan['title'])})")
    for path in plan["linked_from"]:
        note(f"Links to it: {clean(path)}")
    if plan["commit"] is None:
        because = f", because of {plan['held']}" if plan["held"] else ""
        note(f"Its present text is in no commit{because}: it can't be restored.")
    for sentence in plan["remains"]:
        note(sentence)
    if plan["applied"]:
        note(f"To bring it back: aimemory undelete {shlex.quote(plan['path'])}")
    else:
        note("Nothing was changed. --apply does it.")


@click.command(epilog="Examples: aimemory undelete default/app/notes/a-1f2e.md   ·   aimemory undelete a-1f2e --from 3")
@click.argument("page")
@click.option("--from", "version", help="Number, version or commit from `aimemory history`; by default the last text.")
@project_option
@json_option
@translated
def undelete(page: str, version: str | None, project: str | None, as_json: bool) -> None:
    """Bring back a deleted page, however it went; with --from also an earlier version of one that is there."""
    body = {"page": page, "version": version, "project": project, "cwd": here()}
    _print_written(Client(load_config()).post("/api/v1/page/undelete", body), as_json, "Restored")


@click.command(epilog="Examples: aimemory history use-sqlite-1f2e   ·   aimemory history use-sqlite-1f2e --diff 1")
@click.argument("page")
@click.option("-n", "--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="Number of versions.")
@click.option("--diff", type=click.IntRange(1), metavar="N", help="Show what version N changed; 1 is the newest.")
@project_option
@json_option
@translated
def history(page: str, limit: int, diff: int | None, project: str | None, as_json: bool) -> None:
    """The versions of a page, newest first: when, who and what. Works for deleted pages too."""
    found = Client(load_config()).get(
        "/api/v1/page/history", page=page, limit=limit, diff=diff, project=project, cwd=here()
    )
    if as_json:
        print_json(found)
        return
    if found["diff"] is not None:
        click.echo(clean(found["diff"]), nl=False)
        return
    note(f"{clean(found['path'])}{'' if found['exists'] else '  (deleted)'}")
    for change in found["changes"]:
        _print_change(change)
    if found["total"] > len(found["changes"]):
        note(f"{len(found['changes'])} of {found['total']} versions; -n shows more.")


def _print_change(change: dict[str, Any]) -> None:
    version = change["version"][:12] if change["version"] else "-"
    session = f", session {change['session']}" if change["session"] else ""
    lost = "" if change["restorable"] or change["version"] is None else "  (in no commit: can't be restored)"
    when = change["when"][:19].replace("T", " ")
    click.echo(
        f"{change['number']:>3}  {when}  {change['what']:<9} {version:<12}  {clean(change['by'])}{session}{lost}"
    )


def _print_written(written: dict[str, Any], as_json: bool, did: str) -> None:
    if as_json:
        print_json(written)
        return
    click.echo(clean(written["path"]))
    note(
        "There is nothing to do: the page has that text."
        if written.get("unchanged")
        else f"{did}; version {written['version']}."
    )
    note_merged(written)
    _note_redacted(written["redacted"].items())


def _note_redacted(found: Sequence[Any]) -> None:
    if kinds := ", ".join(f"{count} × {kind}" for kind, count in found):
        note(f"Taken out before it was stored: {kinds}.")
