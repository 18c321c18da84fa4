"""`handoffs`, `handoff begin|claim|cancel|release`, `sessions`, `trail`, `why`."""

from typing import Any

import click

from aimemory.cli.client import Client
from aimemory.cli.output import clean, counted, examples, json_option, note, print_json, translated
from aimemory.cli.pages import here, needs_place, project_option
from aimemory.cli.textin import text_from_stdin
from aimemory.config import load_config
from aimemory.errors import UserError

_STATES = ("open", "claimed", "done", "cancelled", "expired")


@click.command(
    epilog=examples("aimemory handoffs", "aimemory handoffs 3f9a1c", "aimemory handoffs --state open --json")
)
@click.argument("handoff", required=False)
@click.option("--state", type=click.Choice(_STATES), help="Only these.")
@click.option("-n", "--limit", type=click.IntRange(1, 200), default=20, show_default=True, help="Number of handoffs.")
@project_option
@json_option
@translated
def handoffs(handoff: str | None, state: str | None, limit: int, project: str | None, as_json: bool) -> None:
    """Handoffs of this project, those that can be taken first; or one of them and what happened to it."""
    handoff = handoff or None
    found = Client(load_config()).get(
        "/api/v1/handoffs", handoff=handoff, state=state, limit=limit, project=project, cwd=here()
    )
    if as_json:
        print_json(found)
        return
    if handoff is not None:
        _print_handoff(found["handoff"])
        _print_steps(found["steps"])
        return
    note(f"In {found['project'] or 'all projects'} ({found['project_how']}):")
    for one in found["handoffs"]:
        _print_handoff(one)
    if not found["handoffs"]:
        note("No handoff. `aimemory why` says why.")


@click.group()
def handoff() -> None:
    """Hand over, take, give back or cancel by hand. Sessions are handed over by themselves."""


@handoff.command(epilog="Example: aimemory handoff begin --summary 'The parser works; the docs are open.' --to codex")
@click.option("-s", "--summary", help="What is done, open, failing; without it, standard input is read.")
@click.option("--next", "next_steps", default="", help="What to do first.")
@click.option("--title", default="", help="Short title of the work.")
@click.option("--to", help="For whom: a harness, a user or a machine.")
@project_option
@json_option
@translated
def begin(summary: str | None, as_json: bool, **rest: str | None) -> None:
    """Write a handoff by hand; it is offered before those of sessions."""
    if summary is None:
        summary = text_from_stdin("summary", "--summary")
    if not summary.strip():
        raise UserError("The summary is empty. Say in it what is done, what is open and what failed.")
    needs_place(rest)
    view = Client(load_config()).post("/api/v1/handoffs/begin", {"summary": summary, "cwd": here(), **rest})
    if as_json:
        print_json(view)
        return
    _print_handoff(view)


@handoff.command(epilog="Example: aimemory handoff claim 3f9a1c")
@click.argument("handoff_id")
@json_option
@translated
def claim(handoff_id: str, as_json: bool) -> None:
    """Take a handoff yourself, so that no agent is offered it; prints what it carries."""
    found = _change("claim", handoff_id, as_json)
    if found is not None:
        click.echo(clean(found["text"]))


@handoff.command(epilog="Example: aimemory handoff release 3f9a1c")
@click.argument("handoff_id")
@json_option
@translated
def release(handoff_id: str, as_json: bool) -> None:
    """Give a taken handoff back: the next session here can be offered it."""
    _change("release", handoff_id, as_json)


@handoff.command(epilog="Example: aimemory handoff cancel 3f9a1c --reason 'done by hand'")
@click.argument("handoff_id")
@click.option("--reason", default="", help="Why; kept with it.")
@json_option
@translated
def cancel(handoff_id: str, reason: str, as_json: bool) -> None:
    """Withdraw a handoff: nobody is offered it any more. Its page stays."""
    _change("cancel", handoff_id, as_json, reason=reason)


@click.command(epilog=examples("aimemory sessions", "aimemory sessions 8c1d4d --json"))
@click.argument("session", required=False)
@click.option("-n", "--limit", type=click.IntRange(1, 200), default=20, show_default=True, help="Number of sessions.")
@project_option
@json_option
@translated
def sessions(session: str | None, limit: int, project: str | None, as_json: bool) -> None:
    """Sessions of this project, the latest first; or one of them."""
    session = session or None
    found = Client(load_config()).get("/api/v1/sessions", session=session, limit=limit, project=project, cwd=here())
    if as_json:
        print_json(found)
        return
    if session is not None:
        _print_session(found)
        return
    note(f"In {found['project'] or 'all projects'} ({found['project_how']}):")
    for one in found["sessions"]:
        _print_session(one)
    if not found["sessions"]:
        note("No session was recorded here yet.")


@click.command(epilog="Example: aimemory trail")
@click.option("-n", "--limit", type=click.IntRange(1, 200), default=20, show_default=True, help="Number of sessions.")
@project_option
@json_option
@translated
def trail(limit: int, project: str | None, as_json: bool) -> None:
    """Who worked here and who took what from whom, oldest first."""
    found = Client(load_config()).get("/api/v1/trail", limit=limit, project=project, cwd=here())
    if as_json:
        print_json(found)
        return
    note(f"In {found['project'] or 'all projects'} ({found['project_how']}):")
    _print_steps(found["steps"])
    if not found["steps"]:
        note("No session was recorded here yet.")


@click.command(epilog=examples("aimemory why", "aimemory why 8c1d4d   (a session or a handoff)"))
@click.argument("about", required=False)
@project_option
@json_option
@translated
def why(about: str | None, project: str | None, as_json: bool) -> None:
    """Why a handoff was or wasn't written, offered or taken: of a session, a handoff, or all that was here lately."""
    found = Client(load_config()).get("/api/v1/why", about=about, project=project, cwd=here())
    if as_json:
        print_json(found)
        return
    _print_steps(found["steps"])
    if not found["steps"]:
        note("No session was recorded here yet, so there is nothing to hand over.")


def _change(action: str, handoff_id: str, as_json: bool, **more: str) -> dict[str, Any] | None:
    """The answer, already printed; None when it was printed as JSON."""
    body = {"handoff": handoff_id, "cwd": here(), **more}
    found: dict[str, Any] = Client(load_config()).post(f"/api/v1/handoffs/{action}", body)
    if as_json:
        print_json(found)
        return None
    _print_handoff(found["handoff"])
    return found


def _print_handoff(view: dict[str, Any]) -> None:
    state = view["state"] if view["page"] else f"{view['state']}, its session is not closed"
    if view["claimed"]:
        state += f" by {view['claimed_by_harness'] or view['claimed_by_user']} {view['claimed'][:16].replace('T', ' ')}"
    click.echo(f"{view['id']}  {click.style(clean(view['title'] or '(no title yet)'), bold=True)}  [{clean(state)}]")
    facts = [view["harness"] or "by hand", view["changed"][:16].replace("T", " "), view["branch"], view["page"]]
    if view["to"]:
        facts.append(f"for {view['to']}")
    click.echo(f"              {click.style(clean(' · '.join(fact for fact in facts if fact)), fg='cyan')}")


def _print_session(view: dict[str, Any]) -> None:
    title = click.style(clean(view["title"]), bold=True)
    click.echo(
        f"{view['id']}  {view['started'][:16].replace('T', ' ')}  {title}  [{view['harness']}, {view['standing']}]"
    )
    facts = [counted(view["prompts"], "request"), counted(view["tools"], "tool call")]
    facts += [counted(view["files"], "file edited", "files edited")] * bool(view["files"])
    facts += [counted(view["failing"], "command failing", "commands failing")] * bool(view["failing"])
    facts.append(view["page"] or view["cwd"] or "")
    click.echo(f"              {click.style(clean(' · '.join(fact for fact in facts if fact)), fg='cyan')}")


def _print_steps(steps: list[dict[str, Any]]) -> None:
    for step in steps:
        click.echo(f"{step['at'][:19].replace('T', ' ')}  {clean(step['said'])}")
