"""How much a tree stands for: counted as a walk would, and where a walk would have no end."""

from collections import deque
from itertools import islice
from pathlib import Path

import pytest

from backtrail.errors import StoreDamaged
from backtraild.store import Store, trees
from backtraild.store.extent import Extent, measure, refuse_boundless
from backtraild.store.objects import EMPTY_TREE
from support.forging import FILE_MODE, TREE_MODE, Forger


@pytest.fixture
def forger(tmp_path: Path) -> Forger:
    Store.create(str(tmp_path / "repo.git"))
    return Forger(tmp_path / "repo.git")


def reader(forger: Forger) -> trees.ReadTree:
    return Store(str(forger.git_dir)).objects.read_tree


def test_files_and_folders_are_counted_as_a_walk_would(forger: Forger):
    """A count that is off would refuse an honest folder, or let a hostile one through."""
    leaf = forger.tree((FILE_MODE, b"one", forger.blob()), (FILE_MODE, b"three", forger.blob()))
    tree = forger.tree((TREE_MODE, b"a", leaf), (TREE_MODE, b"bb", leaf), (FILE_MODE, b"c", forger.blob()))
    read = reader(forger)
    paths = [path for path, _ in trees.walk(tree, read)] + [b"a", b"bb"]
    assert measure(tree, read) == Extent(len(paths), sum(map(len, paths)))
    assert measure(EMPTY_TREE, read) == Extent(0, 0)


@pytest.mark.parametrize("levels", [40, 2000])
def test_few_objects_that_stand_for_more_than_any_disk_are_measured_at_once(forger: Forger, levels: int):
    """Walking through them would take years, and all memory long before."""
    boundless = forger.doubled(levels)
    with pytest.raises(StoreDamaged, match="no folder is like that"):
        refuse_boundless(boundless, reader(forger))


def test_a_walk_measures_before_it_goes_on_for_ever(forger: Forger):
    """Whoever compares, restores or forks asks the walk and nobody else."""
    told = islice(trees.walk(forger.doubled(40), reader(forger)), 2 * trees.MEASURED_FROM)
    with pytest.raises(StoreDamaged, match="no folder is like that"):
        deque(told, maxlen=0)


def test_a_large_honest_tree_is_walked_to_its_end(forger: Forger, monkeypatch: pytest.MonkeyPatch):
    """Being measured is no reason to be refused."""
    monkeypatch.setattr(trees, "MEASURED_FROM", 100)
    tree = forger.doubled(8)
    assert sum(1 for _ in trees.walk(tree, reader(forger))) == 2**8
