"""`backup`, `backup verify`, `backup restore`."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aimemory.cli.output import clean, json_option, note, print_json, translated
from aimemory.config import Config, load_config, load_place
from aimemory.errors import UserError
from aimemory.model.protocols import SystemClock
from aimemory.store.outside import note_deed

if TYPE_CHECKING:
    from aimemory.upkeep.backup.archive import Manifest
    from aimemory.upkeep.backup.since import ForgottenSince

_NAMED = 10


class _WithDefault(click.Group):
    """`aimemory backup DEST` is `aimemory backup make DEST`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ("-h", "--help")):
            args = ["make", *args]
        return super().parse_args(ctx, args)


@click.group(
    cls=_WithDefault,
    epilog="Examples: aimemory backup   ·   aimemory backup /mnt/stick   ·   aimemory backup make --help",
)
def backup() -> None:
    """Copy everything into one archive file; check one, or put one back.

    `aimemory backup [DEST]` makes one; its options are those of `aimemory backup make`.
    """


@backup.command("make", epilog="Examples: aimemory backup   ·   aimemory backup --keep 7 /mnt/stick")
@click.argument("dest", required=False, type=click.Path(path_type=Path, resolve_path=True))
@click.option(
    "--with-secrets", is_flag=True, help="With our token and keys, and agents' settings as they were before connect."
)
@click.option(
    "--keep",
    type=click.IntRange(1, 10_000),
    metavar="N",
    help="An automatic backup: keep the newest N of those in DEST, remove older ones.",
)
@click.option("--no-verify", is_flag=True, help="Don't restore it into a scratch directory to see that it is good.")
@json_option
@translated
def make(dest: Path | None, with_secrets: bool, keep: int | None, no_verify: bool, as_json: bool) -> None:
    """Copy everything but caches into one archive, beside a running daemon or without one.

    DEST is a folder, or a new file that ends in .tar.gz or .tgz; without it the archive goes to `backups/` of the data
    directory. A backup on the same disk helps against mistakes, not against the loss of the disk.
    """
    from aimemory.store.actor import load_actor
    from aimemory.upkeep.backup.make import Wanted, make_backup

    config = _config()
    wanted = Wanted(dest, with_secrets=with_secrets, verify=not no_verify, keep=keep)
    with Progress() as progress:
        made = make_backup(config, load_actor(config), SystemClock(), wanted, progress)
    counts = made.manifest.counts
    found = {
        "file": str(made.file), "bytes": made.bytes, "sha256": made.sha256, "verified": made.verified,
        "damage": list(made.damage), "removed": list(made.removed), **_about(made.manifest),
    }  # fmt: skip
    if as_json:
        print_json(found)
    else:
        click.echo(f"{made.file}")
        click.echo(
            f"{counts['pages']:,} pages, {counts['lines']:,} journal lines up to {made.manifest.seq:,}, "
            f"{counts['files']:,} files: {made.bytes / 1e6:,.1f} MB; {'checked' if made.verified else 'NOT checked'}."
        )
        click.echo(f"sha256 {made.sha256}")
        for name in made.removed:
            click.echo(f"Removed the older {name}.")
    _say_skipped(made.manifest.skipped)
    _exit_with(made.damage)


def _config() -> Config:
    """Broken settings must not keep anybody from saving what there is."""
    try:
        return load_config()
    except UserError as error:
        note(f"aimemory: {error}")
        return load_place()


@backup.command(epilog="Example: aimemory backup verify /mnt/stick/aimemory-5f3a9c01-20261130T160000Z-1734.tar.gz")
@click.argument("file", type=click.Path(path_type=Path, resolve_path=True))
@click.option(
    "--scratch",
    type=click.Path(path_type=Path, resolve_path=True, file_okay=False),
    help="Where to write it out for a moment; by default beside the archive.",
)
@json_option
@translated
def verify(file: Path, scratch: Path | None, as_json: bool) -> None:
    """Restore an archive into a scratch directory and compare every file and count. Changes nothing.

    Needs room for all that is in it. Exit code 1 when it is damaged.
    """
    from aimemory.upkeep.backup.check import check_archive

    with Progress() as progress:
        checked = check_archive(file, progress, scratch)
    about = checked.manifest
    if as_json:
        print_json({"file": str(file), "good": True, "damage": list(checked.damage), **_about(about)})
    else:
        counts, secrets = about.counts, "; with secrets" if about.with_secrets else ""
        click.echo(clean(f"Good: made at {about.made_at} by aimemory {about.version} for {about.user}."))
        click.echo(
            f"{counts['pages']:,} pages, {counts['lines']:,} journal lines up to {about.seq:,}, "
            f"{counts['files']:,} files, {counts['bytes'] / 1e6:,.1f} MB{secrets}."
        )
    _say_skipped(about.skipped)
    _exit_with(checked.damage)


@backup.command(
    epilog="Examples: aimemory backup restore FILE --into /tmp/look   ·   aimemory backup restore FILE --apply"
)
@click.argument("file", type=click.Path(path_type=Path, resolve_path=True))
@click.option(
    "--into",
    type=click.Path(path_type=Path, resolve_path=True, file_okay=False),
    help="Another directory than the data directory.",
)
@click.option(
    "--apply", is_flag=True, help="Replace a data directory that holds something: it is moved aside, never deleted."
)
@json_option
@translated
def restore(file: Path, into: Path | None, apply: bool, as_json: bool) -> None:
    """Put a backup in place of a missing or empty data directory, or with --apply of the present one.

    The daemon must be down. The archive is written out and checked first; then the two directories change places.
    Without --apply a directory that holds something is left, and the command says what it would do.
    """
    from aimemory.upkeep.backup.restore import restore_backup

    target = into or load_place().data.root
    with Progress() as progress:
        done = restore_backup(file, target, apply=apply, clock=SystemClock(), progress=progress)
    if into is None:
        about: dict[str, object] = {"from": str(file), "made_at": done.manifest.made_at}
        if done.forgotten:
            about["brought_back"] = [f"{one.what} forgotten {one.at}" for one in done.forgotten]
        if problem := note_deed(load_place(), "restore", about):
            note(clean(problem))
    counts = done.manifest.counts
    if as_json:
        print_json({
            "target": str(done.target), "aside": str(done.aside) if done.aside else None, "kept": list(done.kept),
            "damage": list(done.damage), "forgotten_since": [asdict(one) for one in done.forgotten],
            **_about(done.manifest),
        })  # fmt: skip
    else:
        click.echo(
            f"{done.target} holds {counts['pages']:,} pages and {counts['lines']:,} journal lines "
            f"as of {clean(done.manifest.made_at)}."
        )
        if done.aside:
            click.echo(f"What was there lies in {done.aside}; delete it when you don't need it any more.")
        if done.kept:
            click.echo(f"Taken along from it: {', '.join(done.kept)}.")
        if done.manifest.config_from:
            click.echo(clean(f"The settings came from {done.manifest.config_from}; they are config.toml there now."))
        _say_forgotten(done.forgotten)
        click.echo("`aimemory up` starts the daemon, which builds the index.")
    _exit_with(done.damage)


def _say_forgotten(forgotten: "Sequence[ForgottenSince]") -> None:
    """What came back that was meant to be gone, and how to forget it again."""
    if not forgotten:
        return
    click.echo("Forgotten since that backup was made, and back with it. Forget it again when the daemon is up:")
    for one in forgotten:
        again = " ".join(f"`aimemory forget session {name} --apply`" for name in one.sessions[:_NAMED])
        if one.what == "rescan":
            again = "`aimemory rescan --apply`"
        elif not again:
            again = f"`aimemory forget {one.what} … --apply`"
        pages = f"; it was in {', '.join(one.pages[:_NAMED])}" if one.pages else ""
        click.echo(clean(f"  {one.what}, forgotten {one.at}: {again}{pages}"))


def _about(manifest: "Manifest") -> dict[str, object]:
    """The fields of a manifest that people and scripts want: all but the list of files."""
    return {
        "made_at": manifest.made_at, "format": manifest.format, "version": manifest.version, "user": manifest.user,
        "machine": manifest.machine, "seq": manifest.seq, "with_secrets": manifest.with_secrets,
        "config_from": manifest.config_from, "counts": manifest.counts, "skipped": manifest.skipped,
    }  # fmt: skip


def _say_skipped(skipped: list[str]) -> None:
    for name in skipped:
        note(f"Left out, since it is a link or no regular file: {clean(name)}")


def _exit_with(damage: tuple[str, ...]) -> None:
    """Exit 1 when the archive faithfully holds what was damaged before."""
    for one in damage:
        note(f"Damaged in the original, and so in the archive: {clean(one)}")
    if damage:
        note("`aimemory verify` says what to do about it.")
        sys.exit(1)


class Progress:
    """A line that counts, where somebody watches."""

    def __enter__(self) -> Callable[[str, int], None]:
        self._shown = sys.stderr.isatty()
        return self._step

    def __exit__(self, *_: object) -> None:
        if self._shown:
            click.echo("\r" + " " * 40 + "\r", nl=False, err=True)

    def _step(self, step: str, count: int) -> None:
        if self._shown:
            click.echo(f"\r{step}: {count:>10,}", nl=False, err=True)
