"""A full disk is not a damaged index."""

import subprocess
import sys

import pytest
from smalldisk import alone_on

LOOK = """
import os, sqlite3, sys
from pathlib import Path
from aimemory.datadir import DataDir
from aimemory.doctor.stores import _text
from aimemory.index.connect import open_writer, refusal
data = DataDir(Path(sys.argv[1]))
data.index.parent.mkdir(parents=True, exist_ok=True)
data.cache.mkdir(parents=True, exist_ok=True)
db = open_writer(data.index)
ballast = os.open(data.root / "ballast", os.O_WRONLY | os.O_CREAT)
try:
    while os.write(ballast, bytes(4096)):
        pass
except OSError:
    pass
os.close(ballast)
full = _text(data)
try:
    db.execute("create table more as with recursive n(i) as (values (1) union all select i + 1 from n limit 99999) select i from n")
except sqlite3.Error as error:
    print(refusal(error))
(data.root / "ballast").unlink()
print(full.level.name, "|", full.fix, "|", _text(data).level.name)
"""


@pytest.mark.promise("P12.340")
def test_a_full_disk_is_not_called_a_damaged_index(tmp_path):
    alone = alone_on(tmp_path, "size=4m,mode=700")
    done = subprocess.run(
        [*alone, sys.executable, "-c", LOOK, str(tmp_path)], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    said, found = done.stdout.splitlines()
    assert said.startswith("The disk is full") and "reindex" not in said
    assert found == "NOTE | Free some room on the disk, and look again. | OK"
