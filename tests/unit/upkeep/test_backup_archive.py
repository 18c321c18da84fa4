"""The format of a backup: what is taken, what is refused, and that damage is named with the file."""

import gzip
import io
import json
import shutil
import tarfile
from contextlib import closing

import pytest

from aimemory.datadir import DataDir
from aimemory.errors import Damaged, Unavailable, UserError
from aimemory.upkeep.backup import archive as archive_format
from aimemory.upkeep.backup.archive import FORMAT, HEAD_FILE, MANIFEST_FILE, Manifest, Moved, Writer, extract
from aimemory.upkeep.backup.contents import DERIVED, SECRET, is_derived, walk

NONE = {"files": 0, "bytes": 0, "pages": 0, "lines": 0, "segments": 0}


def quiet(step, count):
    return


def pack(path, packed, more=(), **changed):
    """An archive of these (name, bytes), with a right manifest unless `changed` says otherwise."""
    with path.open("wb") as file, closing(Writer(file)) as writer:
        sample = path.stat()
        for name, content in packed:
            writer.add_bytes(name, content, sample)
        about = {
            "made_at": "2026-11-30T12:00:00+00:00", "version": "0", "user": "ada", "machine": "m", "seq": 0,
            "branch": None, "with_secrets": False, "config_from": None, "counts": NONE, "skipped": [],
            "files": dict(writer.files),
        } | changed  # fmt: skip
        for member in more:
            writer._tar.addfile(member)
        writer.finish(Manifest(**about))
    return path


def raw_tar(path, members):
    with gzip.open(path, "wb") as zipped, tarfile.open(fileobj=zipped, mode="w|") as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


@pytest.fixture
def into(tmp_path):
    made = tmp_path / "into"
    made.mkdir()
    return made


def test_what_was_packed_comes_out_with_its_bytes_and_times(tmp_path, into):
    archive = pack(tmp_path / "a.tar.gz", [("wiki/ä/日本.md", b"one"), ("journal/2026/11/0001.jsonl", b"")])

    manifest = extract(archive, into, quiet)

    assert (into / "wiki/ä/日本.md").read_bytes() == b"one"
    assert (into / "wiki/ä/日本.md").stat().st_mtime_ns == manifest.files["wiki/ä/日本.md"].mtime_ns
    assert {path.stat().st_mode & 0o777 for path in into.rglob("*") if path.is_dir()} == {0o700}


def test_names_that_are_no_utf8_survive(tmp_path, into):
    name = "wiki/caf\udce9.md"

    extract(pack(tmp_path / "a.tar.gz", [(name, b"x")]), into, quiet)

    assert (into / name).read_bytes() == b"x"


def test_of_a_file_that_is_there_twice_the_later_one_counts(tmp_path, into):
    extract(pack(tmp_path / "a.tar.gz", [("wiki/a.md", b"old"), ("wiki/a.md", b"new")]), into, quiet)

    assert (into / "wiki/a.md").read_bytes() == b"new"


@pytest.mark.promise("P2.34")
@pytest.mark.parametrize("name", ["../out", "/out", "wiki/../../out", "wiki//out", "./out", "wiki/.."])
def test_no_name_leads_out_of_the_target(tmp_path, into, name):
    archive = pack(tmp_path / "a.tar.gz", [(name, b"x")])

    with pytest.raises(Damaged, match="leads out"):
        extract(archive, into, quiet)
    assert not (tmp_path / "out").exists()


@pytest.mark.promise("P2.34")
@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_links_and_special_files_are_refused(tmp_path, into, kind):
    member = tarfile.TarInfo("wiki/link")
    member.type, member.linkname = kind, "/etc/passwd"

    with pytest.raises(Damaged, match="link"):
        extract(pack(tmp_path / "a.tar.gz", [], more=[member]), into, quiet)
    assert list(into.iterdir()) == []


@pytest.mark.promise("P2.33")
def test_other_bytes_than_the_manifest_says_are_named_with_the_file(tmp_path, into):
    honest = pack(tmp_path / "a.tar.gz", [("wiki/a.md", b"x"), ("wiki/b.md", b"y")])
    with gzip.open(honest) as zipped:
        changed = zipped.read().replace(b"y" + b"\0" * 511, b"z" + b"\0" * 511)
    honest.write_bytes(gzip.compress(changed))

    with pytest.raises(Damaged, match=r"a\.tar\.gz.*wiki/b\.md has other bytes"):
        extract(honest, into, quiet)


@pytest.mark.promise("P2.33")
def test_an_archive_that_ends_well_but_without_its_manifest_is_refused(tmp_path, into):
    head = json.dumps({"format": FORMAT}).encode()
    cut = raw_tar(tmp_path / "a.tar.gz", [(HEAD_FILE, head), ("wiki/a.md", b"x")])

    with pytest.raises(Damaged, match=r"a\.tar\.gz is cut off: its last part is missing"):
        extract(cut, into, quiet)


@pytest.mark.promise("P2.33")
def test_files_that_are_missing_or_too_many_are_named(tmp_path, into):
    honest = pack(tmp_path / "a.tar.gz", [("wiki/a.md", b"x")])
    manifest = extract(honest, into, quiet)
    wrong = pack(tmp_path / "b.tar.gz", [("wiki/c.md", b"x")], files=dict(manifest.files))
    other = tmp_path / "other"
    other.mkdir()

    with pytest.raises(Damaged, match=r"wiki/a\.md is missing; wiki/c\.md is not in the manifest"):
        extract(wrong, other, quiet)


@pytest.mark.promise("P2.33")
def test_an_archive_cut_at_any_place_is_refused(tmp_path):
    whole = pack(tmp_path / "a.tar.gz", [(f"wiki/{n}.md", bytes([n]) * 700) for n in range(20)]).read_bytes()
    cut = tmp_path / "cut.tar.gz"
    for size in range(0, len(whole), 37):
        cut.write_bytes(whole[:size])
        into = tmp_path / f"into{size}"
        into.mkdir()

        with pytest.raises(Damaged, match=r"cut\.tar\.gz"):
            extract(cut, into, quiet)


@pytest.mark.promise("P2.33")
def test_a_flipped_bit_anywhere_is_noticed_or_changes_nothing(tmp_path):
    """Compression has several ways to say the same, so some flips give the very bytes that were packed."""
    files = [(f"wiki/{n}.md", bytes([n]) * 300) for n in range(5)]
    whole = pack(tmp_path / "a.tar.gz", files).read_bytes()
    bad = tmp_path / "bad.tar.gz"
    noticed = 0
    for place in range(len(whole)):
        bad.write_bytes(whole[:place] + bytes([whole[place] ^ 0x20]) + whole[place + 1 :])
        into = tmp_path / f"into{place}"
        into.mkdir()
        try:
            extract(bad, into, quiet)
        except (Damaged, UserError):
            noticed += 1
        else:
            assert [(into / name).read_bytes() for name, _ in files] == [content for _, content in files]
    assert noticed > len(whole) * 0.9


def test_a_newer_format_is_refused_with_what_to_do(tmp_path, into):
    head = json.dumps({"format": FORMAT + 1, "version": "9.1"}).encode()
    newer = raw_tar(tmp_path / "a.tar.gz", [(HEAD_FILE, head), ("wiki/a.md", b"x")])

    with pytest.raises(UserError, match=r"format 2.*9\.1.*newer aimemory"):
        extract(newer, into, quiet)
    assert list(into.iterdir()) == []


@pytest.mark.parametrize(
    "members", [[], [("a", b"x")], [(HEAD_FILE, b"[]")], [(HEAD_FILE, b"{")], [(MANIFEST_FILE, b"{}")]]
)
def test_what_is_no_backup_of_ours_is_refused(tmp_path, into, members):
    with pytest.raises(Damaged):
        extract(raw_tar(tmp_path / "a.tar.gz", members), into, quiet)


def test_a_file_that_got_shorter_while_it_was_read_asks_for_another_attempt(tmp_path):
    short = tmp_path / "short"
    short.write_bytes(b"abc")
    with (
        (tmp_path / "a.tar.gz").open("wb") as file,
        closing(Writer(file)) as writer,
        short.open("rb") as source,
        pytest.raises(Moved),
    ):
        writer.add("wiki/a.md", source, short.stat(), 5)


# -- what belongs ----------------------------------------------------------------------------------------------------


def test_every_place_of_the_data_directory_is_decided_about(tmp_path):
    """A place that is added to `DataDir` is in the backup, unless it is named as derived or secret."""
    data = DataDir(tmp_path)
    places = {path.relative_to(tmp_path).as_posix() for path in vars(data).values() if path not in (tmp_path, None)}

    kept = {place for place in places if not is_derived(place, with_secrets=False)}

    assert kept == {
        "wiki",
        "journal",
        "spool",
        "spool/rejects",
        "spool/deeds",
        "actor.json",
        "config.toml",
        "folders.json",
        "edits",
        "conflicts",
    }
    assert {place for place in places if is_derived(place, with_secrets=True)} <= {
        *DERIVED, *(f"{place}" for place in places if place.split("/")[0] in DERIVED)
    }  # fmt: skip
    assert set(SECRET) <= {*places, "private"}


def test_a_file_that_nobody_thought_of_is_kept_and_a_link_is_named(tmp_path):
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / "store.json").write_text("{}")
    (tmp_path / "later" / "link").symlink_to("/etc")
    skipped = []

    names = [e.name for e in walk(tmp_path, "", with_secrets=False, skipped=skipped.append)]

    assert names == ["later", "later/store.json"]
    assert skipped == ["later/link"]


@pytest.mark.promise("P2.33")
@pytest.mark.parametrize(
    "wrong", [{"counts": {}}, {"counts": None}, {"seq": "1"}, {"made_at": 5}, {"skipped": "abc"}, {"branch": 5},
              {"files": {"a.md": 5}}, {"files": None}, *({"files": {"a.md": {"size": 3, "sha256": "0", "mtime_ns": time}}}
                                                           for time in (float("inf"), 1e30, 10**30, "5"))],
    ids=str,
)  # fmt: skip
def test_a_manifest_of_other_kinds_is_damage_and_no_fault_of_ours(tmp_path, into, wrong):
    good = pack(tmp_path / "a.tar.gz", [("a.md", b"one")])
    with tarfile.open(good) as tar:
        members = [(member.name, tar.extractfile(member).read()) for member in tar]
    said = json.loads(members[-1][1]) | wrong

    with pytest.raises(Damaged, match="its manifest can't be read"):
        extract(
            raw_tar(tmp_path / "b.tar.gz", [*members[:-1], (MANIFEST_FILE, json.dumps(said).encode())]), into, quiet
        )


@pytest.mark.promise("P2.33")
def test_what_stands_behind_the_end_and_odd_heads_are_refused(tmp_path, into):
    good = pack(tmp_path / "a.tar.gz", [("a.md", b"one")])
    (tmp_path / "b.tar.gz").write_bytes(good.read_bytes() * 2)
    with pytest.raises(Damaged, match="behind its end"):
        extract(tmp_path / "b.tar.gz", into, quiet)
    for number, head in enumerate((b'{"format": 0}', b'{"format": -1}', b"[" * 100_000, b'{"format": true}')):
        with pytest.raises(Damaged, match="no backup of aimemory"):
            extract(raw_tar(tmp_path / f"{number}.tar.gz", [(HEAD_FILE, head)]), into, quiet)


@pytest.mark.promise("P2.230")
def test_an_archive_that_is_larger_than_the_room_is_refused_before_the_disk_is_full(tmp_path, into, monkeypatch):
    archive = pack(tmp_path / "a.tar.gz", [("a.md", b"one"), ("wiki/big.bin", b"\0" * (3 << 20))])
    monkeypatch.setattr(
        archive_format.shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(1 << 40, 1, 18 << 20)
    )

    with pytest.raises(Unavailable, match="more than there is room for"):
        extract(archive, into, quiet)

    assert not (into / "wiki/big.bin").exists()
    monkeypatch.undo()
    for made in into.iterdir():
        made.unlink()
    assert extract(archive, into, quiet).seq == 0
