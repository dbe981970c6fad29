"""Folders by where they are."""

import random
import time

from backtraild.watch.branches import Branches

NAMES = [b"a", b"b", b"a-b", b"a.b"]


def test_it_holds_what_a_plain_set_of_paths_would_hold():
    """A folder that is forgotten while it is watched keeps its watch for ever, one that is invented loses it."""
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    chooser = random.Random(seed)
    adopted = {b"/".join(chooser.choices(NAMES, k=chooser.randrange(5))) for _ in range(50)}
    branches, plain = Branches(), set(adopted)
    branches.adopt(chooser.sample(sorted(adopted), len(adopted)))  # in any order
    for _ in range(3_000):
        path = b"/".join(chooser.choices(NAMES, k=chooser.randrange(5)))
        if chooser.random() < 0.5:
            branches.add(path)
            plain.add(path)
        elif chooser.random() < 0.8:
            branches.remove(path)
            plain.discard(path)
        inside = {other for other in plain if not path or other == path or other.startswith(path + b"/")}
        found = branches.below(path)
        assert set(found) == inside
        assert len(found) == len(inside)
        assert len(branches) == len(plain)
    for path in plain:
        branches.remove(path)
    assert not any(branches._below.values())


def test_forgetting_ten_thousand_neighbours_one_by_one_is_quick():
    """They are deleted one by one, too; going through all of them for each of them would take a minute."""
    branches = Branches()
    for number in range(10_000):
        branches.add(b"packages/%d/src" % number)
    start = time.perf_counter()
    for number in range(10_000):
        for path in branches.below(b"packages/%d" % number):
            branches.remove(path)
    assert time.perf_counter() - start < 2
    assert len(branches) == 0
