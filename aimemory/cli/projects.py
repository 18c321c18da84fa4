"""`where`, and what a project is called: `project list|alias|rename|merge|move-session`."""

from typing import Any

import click

from aimemory.cli.client import Client
from aimemory.cli.explain import explain_capture
from aimemory.cli.output import clean, counted, examples, json_option, note, print_json, translated
from aimemory.cli.pages import here
from aimemory.config import load_config


@click.command(epilog=examples("aimemory where", "aimemory where ~/app --json"))
@click.argument("directory", required=False, type=click.Path(resolve_path=True))
@json_option
@translated
def where(directory: str | None, as_json: bool) -> None:
    """Explain which project a directory belongs to, step by step. Changes nothing."""
    found = Client(load_config()).get("/api/v1/where", cwd=directory or here())
    if as_json:
        print_json(found)
        return
    known = "" if found["is_known"] else "  (nothing is recorded for it yet)"
    click.echo(f"{click.style(clean(found['project']), bold=True)}{known}")
    for step in found["steps"]:
        click.echo(f"  {clean(step)}")
    if found["found_by"]:
        click.echo(f"  It is the known project found by {clean(found['found_by'])}.")
    if found["capture"]["off_by"]:
        click.echo(clean(f"  Nothing is recorded here: `aimemory off {found['capture']['off_by']}` holds."))
    elif found["capture"]["mode"] != "full" or found["capture"]["ignore"]:
        ignored = f", not what touches {', '.join(found['capture']['ignore'])}" if found["capture"]["ignore"] else ""
        click.echo(clean(f"  Captured here: {found['capture']['mode']}{ignored}."))
    for problem in found["problems"]:
        note(f"Problem: {clean(problem)}")


@click.group()
def project() -> None:
    """List projects, or put right what was filed wrongly."""


project.add_command(explain_capture)


@project.command("list", epilog="Example: aimemory project list --json")
@json_option
@translated
def list_projects(as_json: bool) -> None:
    """All projects with their names, directories and what they hold."""
    found = Client(load_config()).get("/api/v1/projects")
    if as_json:
        print_json(found)
        return
    for one in found["projects"]:
        click.echo(
            f"{click.style(clean(one['project']), bold=True)}  "
            f"{counted(one['pages'], 'page')}, {counted(one['sessions'], 'session')}"
        )
        for name in filter(None, [one["identity"], *one["aliases"]]):
            click.echo(f"    {clean(name)}")
    if not found["projects"]:
        note("No project yet: the first event or page in a directory makes one.")


@project.command("alias", epilog="Example: aimemory project alias app git@github.com:acme/app-mirror.git")
@click.argument("name")
@click.argument("alias")
@json_option
@translated
def alias(name: str, alias: str, as_json: bool) -> None:
    """Let another remote or directory mean project NAME too."""
    found = Client(load_config()).post("/api/v1/projects/alias", {"project": name, "alias": alias})
    if as_json:
        print_json(found)
        return
    click.echo(f"{found['project']} is now also known as {', '.join(found['aliases'])}.")


@project.command(
    "rename", epilog="Examples: aimemory project rename app shop   ·   aimemory project rename app shop --apply"
)
@click.argument("name")
@click.argument("new")
@click.option("--apply", is_flag=True, help="Do it; without, what would happen is shown.")
@click.option("--links", is_flag=True, help="Also change links in pages that people and agents wrote.")
@json_option
@translated
def rename(name: str, new: str, apply: bool, links: bool, as_json: bool) -> None:
    """Give project NAME the folder NEW, or WORKSPACE/NEW. Identity, aliases and ids stay; later events land in it."""
    body = {"project": name, "name": new, "apply": apply, "links": links, "cwd": here()}
    _print_refiled(Client(load_config(), timeout_s=300).post("/api/v1/projects/rename", body), as_json)


@project.command("move-session", epilog="Example: aimemory project move-session 3f9ac21b shop --apply")
@click.argument("session")
@click.argument("target")
@click.option("--apply", is_flag=True, help="Do it; without, what would happen is shown.")
@json_option
@translated
def move_session(session: str, target: str, apply: bool, as_json: bool) -> None:
    """File SESSION under project TARGET: events, handoffs, its page and those it created. Later events follow."""
    body = {"moved": session, "project": target, "apply": apply, "cwd": here()}
    _print_refiled(Client(load_config(), timeout_s=300).post("/api/v1/projects/move-session", body), as_json)


@project.command(
    "merge", epilog="Examples: aimemory project merge fork app   ·   aimemory project merge fork app --apply"
)
@click.argument("name")
@click.argument("into")
@click.option("--apply", is_flag=True, help="Do it; without, what would happen is shown.")
@json_option
@translated
def merge(name: str, into: str, apply: bool, as_json: bool) -> None:
    """File all of project NAME under project INTO. Its remotes, aliases and directories mean INTO from then on."""
    body = {"project": name, "into": into, "apply": apply, "cwd": here()}
    _print_refiled(Client(load_config(), timeout_s=300).post("/api/v1/projects/merge", body), as_json)


@project.command("unmerge", epilog="Example: aimemory project unmerge fork --apply")
@click.argument("name")
@click.option("--apply", is_flag=True, help="Do it; without, what would happen is shown.")
@json_option
@translated
def unmerge(name: str, apply: bool, as_json: bool) -> None:
    """Take the merge of project NAME back: what came from it goes back; what was added since stays."""
    body = {"project": name, "apply": apply, "cwd": here()}
    _print_refiled(Client(load_config(), timeout_s=300).post("/api/v1/projects/unmerge", body), as_json)


_DID = {"rename": "Renamed", "move-session": "Moved", "merge": "Merged", "unmerge": "Moved out of"}
_WOULD = {"rename": "move", "move-session": "move", "merge": "merge", "unmerge": "move out of"}


def _print_refiled(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    what = f"session {found['session']} from {found['project']}" if found["session"] else found["project"]
    did = _DID[found["op"]] if found["applied"] else f"Would {_WOULD[found['op']]}"
    click.echo(f"{did} {clean(what)} {'into' if found['op'] == 'merge' else 'to'} {clean(found['to'])}")
    counts = f"{len(found['pages'])} pages, {found['sessions']} sessions, {found['observations']} events"
    click.echo(f"    {counts}, {found['handoffs']} handoffs")
    if found["relinked"]:
        did = "Changed" if found["applied"] else "Would change"
        note(f"{did} links in {counted(len(found['relinked']), 'page')}, the rest of each byte for byte as it was.")
    for alias in found["aliases"]:
        click.echo(clean(f"    {alias} means {found['to']} then"))
    for path in found["renamed"]:
        note(clean(f"Gets another name, since one of its is there: {path} becomes {found['pages'].get(path, path)}"))
    for path in found["left"]:
        note(clean(f"Is not where the merge put it, and stays: {path}"))
    for path in found["linked_from"]:
        note(clean(f"Links by the old name or path: {path}"))
    if found["op"] == "rename" and found["linked_from"] and not found["applied"]:
        note("Their links will lead nowhere; --links changes them too.")
    note(f"To take it back: {clean(found['back'])}" if found["applied"] else "Nothing was changed. --apply does it.")
