"""Room that is kept back for what gives space back."""

import errno
import os
from pathlib import Path

import pytest

from backtraild.spare import Spare


def _full() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_the_room_is_used_when_there_is_no_other(tmp_path: Path):
    """The second time there is room, because the first time there was none."""
    spare = Spare(str(tmp_path / "spare"))
    spare.keep(10_000)
    assert sum(path.stat().st_blocks for path in (tmp_path / "spare").iterdir()) * 512 >= 10_000
    tries = []

    def act() -> None:
        tries.append((tmp_path / "spare").exists())
        if tries == [True]:
            raise _full()

    spare.spent_on(act)
    assert tries == [True, False]


def test_it_can_be_spent_once(tmp_path: Path):
    """Who has nothing left says so."""
    with pytest.raises(OSError, match="No space left"):
        Spare(str(tmp_path / "spare")).spent_on(lambda: (_ for _ in ()).throw(_full()))


def test_other_failures_leave_it_alone(tmp_path: Path):
    """It would not help against them, and would be missing later."""
    spare = Spare(str(tmp_path / "spare"))
    spare.keep()
    with pytest.raises(PermissionError):
        spare.spent_on(lambda: (_ for _ in ()).throw(PermissionError()))
    assert len(list((tmp_path / "spare").iterdir())) == 4


def test_nothing_is_made_where_the_folder_above_is_missing(tmp_path: Path):
    """Its disk may be unmounted just now, and a folder in its place would be taken for it."""
    Spare(str(tmp_path / "unmounted" / "spare")).keep()
    assert not os.listdir(tmp_path)
