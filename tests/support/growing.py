"""A daemon's service with memories that are soon full, and what it holds in memory as checkpoints come and go.

Run as a module it tells that, twice, as JSON: in a process of its own, where nothing else is held or let go of.
"""

import gc
import json
import sys
import weakref
from pathlib import Path

from backtraild.housekeeping import housekeeper
from backtraild.keeper import Keeper
from backtraild.store import comparisons, repository
from backtraild.workspace import history, steps
from support.serving import Desk, Site, desk
from support.upkeep import tidy_up

KEPT = 30
# Later numbers are objects, which the first ones are not.
FIRST, LATER = 300, 300


def _measure(folder: Path) -> list[tuple[int, int]]:
    """How many containers and pieces of memory there are after the first checkpoints, and after as many more."""
    _forget_quickly()
    with desk(folder, auto_checkpoint=False, max_checkpoints=KEPT) as at:
        site = at.watch()
        _save_many(site, FIRST)
        before = _held(site)
        _save_many(site, LATER)
        return [before, _held(site)]


def _forget_quickly() -> None:
    """Upkeep comes when it is called, and memories are soon full."""
    housekeeper.CALM_SECONDS = housekeeper.BEGIN_SECONDS = 3600.0
    repository.DECODED_BYTES = 2_000
    steps.KEPT_BYTES = 20_000
    # How many are made ahead depends on the moments in which nobody asks for anything: there is room for one or two.
    comparisons.KEPT_BYTES = history.DIFFS_BYTES = 1_500


def _save_many(site: Site, count: int) -> None:
    """Checkpoints, and a round of upkeep after them: what small packs hold is held in memory until then."""
    for number in range(count):
        site.write(f"{number % 20}", f"{number} of {count}\n")
        site.desk.service.save(site.id)
    site.desk.service.ask(site.id, _tidy_up)


def _tidy_up(keeper: Keeper) -> None:
    tidy_up(keeper.workspace.store)


def _held(site: Site) -> tuple[int, int]:
    """Counted by the worker: else it may be in the midst of what no answer waits for, and hold what that takes."""
    return site.desk.service.ask(site.id, lambda keeper: _counted(keeper, site.desk))


def _counted(keeper: Keeper, at: Desk) -> tuple[int, int]:
    """How many objects there are that refer to others, and how many pieces of memory all of them take."""
    keeper.workspace.history.foresee()
    keeper.workspace.settle()
    at.told.clear()
    at.progress.clear()
    gc.collect()
    found = gc.get_objects()
    # SQLite's module forgets about cursors that are gone after every two hundred of them.
    dead = sum(isinstance(each, weakref.ref) and each() is None for each in found)
    count = len(found) - dead
    del found
    return count, sys.getallocatedblocks() - dead


if __name__ == "__main__":
    print(json.dumps(_measure(Path(sys.argv[1]))))
