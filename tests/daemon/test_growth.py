"""What a daemon holds in memory stays as it is, however many checkpoints come and go."""

import gc
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtraild.housekeeping import housekeeper
from backtraild.keeper import Keeper
from backtraild.store import comparisons, repository
from backtraild.workspace import history, steps
from support.serving import Desk, Site, desk
from support.upkeep import tidy_up

KEPT = 30
# Later numbers are objects, which the first ones are not.
FIRST, LATER = 300, 300
# Of objects that others refer to hardly one is new. About 200 pieces come from below Python, where some few hundred are
# remembered, and ever fewer are new: one for each checkpoint would be 300 more.
CONTAINERS, PIECES = 20, 300


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A folder of which few checkpoints are kept; upkeep comes when it is called, and memories are soon full."""
    monkeypatch.setattr(housekeeper, "CALM_SECONDS", 3600.0)
    monkeypatch.setattr(housekeeper, "BEGIN_SECONDS", 3600.0)
    monkeypatch.setattr(repository, "DECODED_BYTES", 2_000)
    monkeypatch.setattr(steps, "KEPT_BYTES", 20_000)
    # How many are made ahead depends on the moments in which nobody asks for anything: there is room for one or two.
    for module, name in ((comparisons, "KEPT_BYTES"), (history, "DIFFS_BYTES")):
        monkeypatch.setattr(module, name, 1_500)
    with desk(tmp_path, auto_checkpoint=False, max_checkpoints=KEPT) as at:
        yield at.watch()


def test_as_much_is_held_in_memory_after_six_hundred_checkpoints_as_after_three_hundred(site: Site):
    """A daemon runs for months: one small object for each checkpoint would be all of its memory in the end."""
    _save_many(site, FIRST)
    # What grows with the checkpoints grows every time; what others in this process hold for a moment does not.
    growth = [_growth(site) for _ in range(2)]
    assert min(containers for containers, _ in growth) < CONTAINERS, growth
    assert min(pieces for _, pieces in growth) < PIECES, growth


def _growth(site: Site) -> tuple[int, int]:
    containers, pieces = _held(site.desk)
    _save_many(site, LATER)
    more_containers, more_pieces = _held(site.desk)
    return more_containers - containers, more_pieces - pieces


def _save_many(site: Site, count: int) -> None:
    """Checkpoints, and a round of upkeep after them: what small packs hold is held in memory until then."""
    for number in range(count):
        site.write(f"{number % 20}", f"{number} of {count}\n")
        site.desk.service.save(site.id)
    site.desk.service.ask(site.id, _tidy_up)


def _tidy_up(keeper: Keeper) -> None:
    tidy_up(keeper.workspace.store)


def _held(at: Desk) -> tuple[int, int]:
    """How many objects there are that refer to others, and how many pieces of memory all of them take."""
    at.told.clear()
    at.progress.clear()
    gc.collect()
    found = gc.get_objects()
    # SQLite's module forgets about cursors that are gone after every two hundred of them.
    dead = sum(isinstance(each, weakref.ref) and each() is None for each in found)
    count = len(found) - dead
    del found
    return count, sys.getallocatedblocks() - dead
