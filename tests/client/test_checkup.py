"""What `doctor` says of damage that Backtrail has dealt with."""

from pathlib import Path

from backtrail.cli import checkup
from backtrail.paths import places


def test_files_that_were_begun_anew_are_told(tmp_path: Path):
    """A list of folders or a log of events that was damaged is kept, and nobody would find it by himself."""
    where = places(tmp_path)
    assert list(checkup.set_aside(where)) == []
    where.data.mkdir()
    for name in ("workspaces.json", "workspaces.json.damaged-20261116T070000", "events.db.damaged-1-wal"):
        (where.data / name).touch()
    (check,) = checkup.set_aside(where)
    assert "workspaces.json.damaged-20261116T070000" in check.sentence
