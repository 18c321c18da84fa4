"""The proof after a forgetting: what is packed is looked at unpacked, and nothing is found by chance."""

import gzip
import io
import random
import re
import tarfile

import pytest

from aimemory.upkeep.purge.search import search_all

WORD = "amaryllis"


def archive(path, *members):
    """A backup of these (name, content), of one with a compressed journal segment."""
    with tarfile.open(path, "w:gz") as made:
        for name, raw in members:
            about = tarfile.TarInfo(name)
            about.size = len(raw)
            made.addfile(about, io.BytesIO(raw))


@pytest.mark.promise("P10.330")
def test_a_text_is_found_in_what_is_packed_and_in_names_within_archives(tmp_path):
    (tmp_path / "0001.jsonl.gz").write_bytes(gzip.compress(f"the {WORD}".encode()))
    (tmp_path / "backups").mkdir()
    archive(tmp_path / "backups/content.tar.gz", ("data/a.md", f"the {WORD}".encode()))
    archive(tmp_path / "backups/name.tar.gz", (f"data/{WORD}.md", b"nothing"))
    archive(tmp_path / "backups/within.tar.gz", ("data/0001.jsonl.gz", gzip.compress(f"the {WORD}".encode())))
    archive(tmp_path / "backups/without.tar.gz", ("data/a.md", b"nothing"))
    (tmp_path / "torn.jsonl.gz").write_bytes(gzip.compress(b"nothing")[:-4])
    (tmp_path / "named so.gz").write_bytes(f"no gzip, and yet {WORD}".encode())

    done = search_all(tmp_path, [WORD])

    assert done.found == {
        "0001.jsonl.gz": 1, "backups/content.tar.gz": 1, "backups/name.tar.gz": 1, "backups/within.tar.gz": 1,
        "named so.gz": 1,
    }  # fmt: skip
    assert [one.partition(" (")[0] for one in done.unread] == ["named so.gz", "torn.jsonl.gz"]


@pytest.mark.promise("P10.331")
def test_letters_that_stand_in_packed_bytes_by_chance_are_no_find(tmp_path):
    chance = random.Random(5)
    plain = " ".join(str(chance.random()) for _ in range(20_000)).encode()
    packed = gzip.compress(plain, mtime=0)
    by_chance = re.search(rb"[A-Za-z]{4}", packed[600:])[0].decode()
    (tmp_path / "0001.jsonl.gz").write_bytes(packed)
    archive(tmp_path / "x.tar.gz", ("data/0001.jsonl.gz", packed), ("data/b", chance.randbytes(10)))

    assert by_chance.encode() not in plain
    assert search_all(tmp_path, [by_chance]).found == {}
