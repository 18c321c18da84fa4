"""`export` and `import`: a project as a bundle of the Open Knowledge Format, a foreign bundle as pages of a project."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aimemory.cli.client import Client
from aimemory.cli.output import clean, counted, examples, json_option, note, print_json, translated
from aimemory.cli.pages import here
from aimemory.config import load_config
from aimemory.errors import UserError

if TYPE_CHECKING:
    from aimemory.upkeep.okf.files import Bundle

_BATCH_CHARS = 1_000_000
_TIMEOUT_S = 300
_SHOWN = 20


@click.command(epilog=examples("aimemory export --okf app", "aimemory export --okf app /srv/share/app.tar.gz --all"))
@click.option("--okf", "project", required=True, metavar="PROJECT", help="As Open Knowledge Format 0.2, this project.")
@click.argument("dest", required=False, type=click.Path(path_type=Path))
@click.option("--all", "everything", is_flag=True, help="With sessions and handoffs, which are personal.")
@json_option
@translated
def export(project: str, dest: Path | None, everything: bool, as_json: bool) -> None:
    """Write a project's pages as a bundle into the new folder or archive (.tar.gz, .tar, .zip) DEST.

    Secrets are taken out, links become relative markdown links, and what is left out is said. The same pages give the
    same bytes.
    """
    from aimemory.upkeep.okf.files import write_bundle

    found = Client(load_config(), timeout_s=_TIMEOUT_S).post("/api/v1/export", {"project": project, "all": everything})
    place = (dest or Path(f"{found['name']}-okf")).absolute()
    write_bundle(place, found["files"])
    if as_json:
        print_json({**found, "files": sorted(found["files"]), "dest": str(place)})
        return
    click.echo(str(place))
    note(f"{counted(len(found['files']), 'file')} of {clean(found['project'])}.")
    for path, kinds in found["redacted"].items():
        note(clean(f"Taken out of {path}: {_counts(kinds)}."))
    _note_reasons("Left out", found["left_out"])


@click.command(
    "import",
    epilog=examples(
        "aimemory import --okf ~/Downloads/acme.zip --project app",
        "aimemory import --okf ~/acme-bundle --project acme --apply",
    ),
)
@click.option(
    "--okf", "source", required=True, metavar="DIR|ARCHIVE", type=click.Path(exists=True, path_type=Path),
    help="A bundle of the Open Knowledge Format: a folder, .tar.gz, .tar or .zip.",
)  # fmt: skip
@click.option(
    "-p", "--project", required=True, help="The project whose pages they become; a name that none has makes one."
)
@click.option("--name", help="The bundle's name, by which a later import knows its pages; by default the file's.")
@click.option("--apply", is_flag=True, help="Do it; without, what would happen is shown.")
@json_option
@translated
def import_bundle(source: Path, project: str, name: str | None, apply: bool, as_json: bool) -> None:
    """Take pages of a foreign bundle into a project. A second import changes only what changed in the bundle.

    They keep their front matter and say where they came from (`imported`). What you changed or deleted since is left.
    """
    from aimemory.upkeep.okf.files import read_bundle

    bundle = read_bundle(source.absolute())
    client = Client(load_config(), timeout_s=_TIMEOUT_S)
    texts, left_out = _texts(bundle)
    if not texts:
        raise UserError(f"{source} holds no page (.md) of a bundle.")
    pages: list[dict[str, Any]] = []
    answer: dict[str, Any] = {}
    for batch in _batches(texts):
        body = {"project": project, "bundle": name or bundle.name, "paths": sorted(texts), "texts": batch}
        found = client.post("/api/v1/import", {**body, "apply": apply, "cwd": here()})
        answer = {**found, "is_new": answer.get("is_new", found["is_new"])}
        pages += found["pages"]
    if as_json:
        print_json({**answer, "pages": pages, "not_read": left_out})
        return
    _print_imported(answer, pages, left_out)


def _texts(bundle: "Bundle") -> tuple[dict[str, str], dict[str, str]]:
    texts, left_out = {}, dict(bundle.left_out)
    for path, raw in bundle.files.items():
        try:
            texts[path] = raw.decode("utf-8")
        except UnicodeDecodeError:
            left_out[path] = "it is no UTF-8"
    return texts, left_out


def _batches(texts: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Requests of a bounded size."""
    batch: dict[str, str] = {}
    size = 0
    for path, text in sorted(texts.items()):
        if batch and size + len(text) > _BATCH_CHARS:
            yield batch
            batch, size = {}, 0
        batch[path] = text
        size += len(text)
    if batch:
        yield batch


def _print_imported(answer: Mapping[str, Any], pages: list[dict[str, Any]], left_out: Mapping[str, str]) -> None:
    outcomes = Counter(page["outcome"] for page in pages)
    for page in pages:
        if page["outcome"] in ("new", "updated"):
            click.echo(f"{page['outcome']:<8} {clean(page['page'])}  ({clean(page['path'])})")
        if page["redacted"]:
            note(clean(f"Taken out of {page['path']}: {_counts(page['redacted'])}."))
    counts = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())
    note(f"{clean(answer['bundle'])} into {clean(answer['project'])}: {counts}.")
    if answer["is_new"] and any(page["outcome"] == "new" for page in pages):
        made = "It was made" if answer["applied"] else "--apply makes it"
        note(clean(f"There was no project {answer['project']} before. {made}."))
    _note_reasons("Left", {page["path"]: page["why"] for page in pages if page["outcome"].startswith("left")})
    _note_reasons("Not read", left_out)
    if not answer["applied"]:
        note("Nothing was changed. --apply does it.")


def _note_reasons(what: str, reasons: Mapping[str, str]) -> None:
    """Each path with its reason; of one reason that many share, a few."""
    by_reason: dict[str, list[str]] = {}
    for path, reason in reasons.items():
        by_reason.setdefault(reason, []).append(path)
    for reason, paths in by_reason.items():
        more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
        note(clean(f"{what}: {', '.join(paths[:_SHOWN])}{more} ({reason.rstrip('.')})."))


def _counts(kinds: Mapping[str, int]) -> str:
    return ", ".join(f"{count} × {kind}" for kind, count in kinds.items())
