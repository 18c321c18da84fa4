"""`links`: the links of a page from both ends, and those of a project that lead nowhere."""

from typing import Any

import click

from aimemory.cli.client import Client
from aimemory.cli.output import clean, counted, examples, json_option, note, print_json, translated
from aimemory.cli.pages import here, project_option
from aimemory.config import load_config


@click.command(epilog=examples("aimemory links use-sqlite-1f2e", "aimemory links", "aimemory links -p '*' --json"))
@click.argument("page", required=False)
@project_option
@click.option("-n", "--limit", type=click.IntRange(1, 1000), default=100, show_default=True, help="Links to list.")
@json_option
@translated
def links(page: str | None, project: str | None, limit: int, as_json: bool) -> None:
    """What PAGE links to and what links to it; without PAGE, links that are broken or fit several pages.

    The verdicts are those of Obsidian.
    """
    client = Client(load_config())
    if page is None:
        found = client.get("/api/v1/links", project=project, limit=limit, cwd=here())
    else:
        found = client.get("/api/v1/page/links", page=page, project=project, cwd=here())
    if as_json:
        print_json(found)
    elif page is None:
        _print_faults(found)
    else:
        _print_page(found)


def _print_page(found: dict[str, Any]) -> None:
    note(clean(found["path"]))
    for link in found["outgoing"]:
        click.echo(f"-> {clean(link['raw'])}  {_verdict(link)}")
    for link in found["backlinks"]:
        click.echo(f"<- {clean(link['source'])}  {clean(link['raw'])}")
    if not found["outgoing"] and not found["backlinks"]:
        note("It links to nothing, and nothing links to it.")


def _verdict(link: dict[str, Any]) -> str:
    where = click.style(clean(link["page"] or ""), fg="cyan")
    if link["verdict"] == "page":
        return where
    if link["verdict"] == "ambiguous":
        return f"{where} (several pages fit)"
    return "a file, not looked at" if link["verdict"] == "file" else click.style("leads nowhere", fg="red")


def _print_faults(found: dict[str, Any]) -> None:
    note(f"In {found['project'] or 'all projects'} ({found['project_how']}): {counted(found['links'], 'link')}.")
    for link in (*found["broken"], *found["ambiguous"]):
        click.echo(f"{clean(link['source'])}: {clean(link['raw'])}  {_verdict(link)}")
    for name, paths in found["shared_names"].items():
        click.echo(f"{clean(name)} is the name of {len(paths)} pages: {clean(', '.join(paths))}")
    more = found["broken_total"] + found["ambiguous_total"] - len(found["broken"]) - len(found["ambiguous"])
    if more > 0:
        note(f"{counted(more, 'more link')}; -n shows more.")
    if not (found["broken"] or found["ambiguous"]):
        note("None is broken.")
