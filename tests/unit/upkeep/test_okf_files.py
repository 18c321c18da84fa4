"""Bundles on disk: the same bytes each time, and no archive does more than give pages."""

import gzip
import io
import os
import stat
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from aimemory.errors import UserError
from aimemory.upkeep.okf import files as okf
from aimemory.upkeep.okf.files import read_bundle, write_bundle

FILES = {"index.md": "* x\n", "notes/ä b.md": "---\ntype: note\n---\nü\r\n", "a.md": "a"}
AS_BYTES = {path: text.encode() for path, text in FILES.items()}
KINDS = ["b", "b.tar.gz", "b.tgz", "b.tar", "b.zip"]


@pytest.mark.parametrize("name", KINDS)
def test_what_is_written_is_read_again_and_the_same_each_time(tmp_path: Path, name: str) -> None:
    for folder in ("one", "two"):
        write_bundle(tmp_path / folder / name, dict(reversed(FILES.items())))

    bundle = read_bundle(tmp_path / "one" / name)

    assert (bundle.name, bundle.files, bundle.left_out) == ("b", AS_BYTES, {})
    if name != "b":
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == [name]


@pytest.mark.parametrize("name", KINDS)
def test_nothing_is_written_over(tmp_path: Path, name: str) -> None:
    place = tmp_path / name
    if name == "b":
        place.mkdir()
        (place / "mine").write_text("x")
    else:
        place.write_text("x")

    with pytest.raises(UserError, match="exists already"):
        write_bundle(place, FILES)


def tar_with(path: Path, *members: tuple[str, bytes, bytes]) -> Path:
    """Members as (name, content, type)."""
    with tarfile.open(path, "w:gz") as archive:
        for name, content, kind in members:
            info = tarfile.TarInfo(name)
            info.type, info.size = kind, len(content) if kind == tarfile.REGTYPE else 0
            info.linkname = "../../secret.md" if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
            archive.addfile(info, io.BytesIO(content))
    return path


def zip_with(path: Path, *names: str, mode: int = stat.S_IFREG | 0o644) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            info = zipfile.ZipInfo(name)
            info.external_attr, info.create_system = mode << 16, 3
            archive.writestr(info, "x")
    return path


OUT = ["../a.md", "x/../../a.md", "/etc/a.md", "a\\..\\b.md", "C:/a.md", "c:\\a.md", "\\\\host\\a.md"]


def test_a_colon_or_a_backslash_in_a_name_is_no_way_out(tmp_path: Path) -> None:
    names = ("a:b.md", "notes/x: y.md", "a\\b.md")

    found = read_bundle(tar_with(tmp_path / "b.tar.gz", *((name, b"a", tarfile.REGTYPE) for name in names)))

    assert set(found.files) == set(names) and found.left_out == {}


@pytest.mark.promise("P9.157")
@pytest.mark.parametrize("name", OUT)
def test_a_name_that_leads_out_of_the_bundle_refuses_all_of_it(tmp_path: Path, name: str) -> None:
    for archive in (
        tar_with(tmp_path / "b.tar.gz", ("a.md", b"a", tarfile.REGTYPE), (name, b"x", tarfile.REGTYPE)),
        zip_with(tmp_path / "b.zip", "a.md", name),
    ):
        if archive.suffix == ".zip" and "\\" in name:
            continue  # the zip module reads it as a slash
        with pytest.raises(UserError, match="leads out"):
            read_bundle(archive)


@pytest.mark.promise("P9.157")
def test_links_and_special_files_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    folder = tmp_path / "b"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.md").write_text("a")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (folder / "linked").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe.md")
    (folder / os.fsdecode(b"bad\xff.md")).write_text("a")
    tar = tar_with(
        tmp_path / "b.tar.gz", ("a.md", b"a", tarfile.REGTYPE), ("sym.md", b"", tarfile.SYMTYPE),
        ("hard.md", b"", tarfile.LNKTYPE), ("pipe.md", b"", tarfile.FIFOTYPE), ("dev.md", b"", tarfile.CHRTYPE),
    )  # fmt: skip
    zipped = zip_with(tmp_path / "b.zip", "sym.md", mode=stat.S_IFLNK | 0o777)

    assert read_bundle(folder).files == {"a.md": b"a"} == read_bundle(tar).files
    assert set(read_bundle(folder).left_out) == {"link.md", "pipe.md", "bad\ufffd.md"}
    assert set(read_bundle(tar).left_out) == {"sym.md", "hard.md", "pipe.md", "dev.md"}
    assert read_bundle(zipped).files == {}


@pytest.mark.promise("P9.157")
def test_what_unpacks_to_too_much_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(okf, "MAX_FILE_BYTES", 10_000)
    monkeypatch.setattr(okf, "MAX_TOTAL_BYTES", 100_000)
    monkeypatch.setattr(okf, "MAX_FILES", 50)
    big = b"x" * 50_000
    one = tar_with(tmp_path / "one.tar.gz", ("a.md", b"a", tarfile.REGTYPE), ("big.md", big, tarfile.REGTYPE))
    assert (read_bundle(one).files, list(read_bundle(one).left_out)) == ({"a.md": b"a"}, ["big.md"])

    bombs = [
        tar_with(tmp_path / "no-page.tar.gz", ("big.bin", b"\0" * 5_000_000, tarfile.REGTYPE), ("a.md", b"a", tarfile.REGTYPE)),
        tar_with(tmp_path / "many.tar.gz", *((f"{n}.md", b"x", tarfile.REGTYPE) for n in range(60))),
        zip_with(tmp_path / "many.zip", *(f"{n}.md" for n in range(60))),
    ]  # fmt: skip
    header = tarfile.TarInfo("a.md")
    header.pax_headers = {"comment": "x" * 3_000_000}
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(header)
    (tmp_path / "header.tar.gz").write_bytes(gzip.compress(raw.getvalue(), mtime=0))
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(20):
            archive.writestr(f"{number}.md", b"\0" * 9_000)
    for bomb in (*bombs, tmp_path / "header.tar.gz", tmp_path / "bomb.zip"):
        with pytest.raises(UserError, match=r"too large|unpacks to more"):
            read_bundle(bomb)


@pytest.mark.parametrize(
    "raw", [b"", b"no archive", b"\x1f\x8b\x08broken", b"PK\x03\x04broken", gzip.compress(b"no tar" * 200, mtime=0)]
)
def test_what_is_no_bundle_is_said_to_be_none(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "b.tar.gz").write_bytes(raw)

    with pytest.raises(UserError, match="can't be read as a bundle"):
        read_bundle(tmp_path / "b.tar.gz")


def test_an_archive_with_one_folder_in_it_is_that_folder_and_hidden_files_are_none(tmp_path: Path) -> None:
    archive = zip_with(
        tmp_path / "b.zip", "acme/a.md", "acme/x/b.md", "acme/.git/c.md", "__MACOSX/acme/a.md", "acme/p.png"
    )

    bundle = read_bundle(archive)

    assert sorted(bundle.files) == ["a.md", "x/b.md"]
    assert "p.png" in bundle.left_out


@pytest.mark.promise("P10.340")
def test_what_a_killed_export_leaves_goes_with_the_next_one(tmp_path):
    left = "import os, sys, pathlib; from aimemory.upkeep.okf import files; files._write_tar = lambda *_: os._exit(9); "
    left += "files.write_bundle(pathlib.Path(sys.argv[1]), {'a.md': 'x'})"
    assert subprocess.run([sys.executable, "-c", left, str(tmp_path / "out/b.tar.gz")], check=False).returncode == 9
    assert [path.name.startswith(".aimemory-") for path in (tmp_path / "out").iterdir()] == [True]

    write_bundle(tmp_path / "out/b.tar.gz", FILES)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["b.tar.gz"]
