"""Upkeep against everything else that happens to a store: saves, deletions, kills, stops, git commands, at random."""

import os
import random
from collections import Counter
from collections.abc import Callable

from backtraild.model import FILE_MODE, Entry
from backtraild.store import Store, Tidied, trees
from support.disk import fsck
from support.drafts import save
from support.git import git
from support.upkeep import (
    PLENTY,
    Process,
    contents,
    needed_objects,
    objects_on_disk,
    stopping,
    tidied,
    tidy_up,
)
from torture.campaign import Campaign, Counts, Round

STEPS = 45
PATHS = [b"a", b"b", b"lib/c", b"lib/deep/d", b"lib/deep/e"]
TOPICS = ["refs/transcripts/one", "refs/sessions/two"]


class Machine:
    """A store, and what must be in it."""

    def __init__(self, git_dir: str, source: random.Random) -> None:
        self._git_dir = git_dir
        self._source = source
        self._contents = [b"%d " % number * source.randrange(1, 400) for number in range(9)]  # they come back
        self._store = Store.create(git_dir)
        self._expected: dict[int, dict[bytes, bytes]] = {}
        self._named: dict[str, dict[bytes, bytes]] = {}
        self.counts: Counter[str] = Counter()

    def step(self) -> None:
        """Something happens."""
        acts: list[tuple[Callable[[], None], int]] = [
            (self._save, 12),
            (self._name, 4),
            (self._delete, 5),
            (self._tidy, 5),
            (self._tidy_in_a_process, 1),
            (self._stop_in_the_swap, 2),
            (self._reopen, 1),
            (self._run_git, 1),
        ]
        acted = self._source.choices([act for act, _ in acts], [weight for _, weight in acts])[0]
        acted()
        self.counts[acted.__name__.strip("_").replace("_", " ")] += 1

    def check(self) -> None:
        """All that was acknowledged and not deleted is there, and nothing else takes space in the end."""
        self._check_contents()
        fsck(self._git_dir)
        tidy_up(self._store, urgent=True)
        self._check_contents()
        fsck(self._git_dir)
        git("prune-packed", "-q", git_dir=self._git_dir)  # what git commands left lying twice
        assert objects_on_disk(self._git_dir) == needed_objects(self._git_dir)

    def _check_contents(self) -> None:
        assert self._store.numbers == sorted(self._expected)
        for number, files in self._expected.items():
            assert contents(self._store, number) == files, number
        for name, files in self._named.items():
            tree = self._store.named.tree(name)
            assert tree is not None
            found = trees.walk(tree, self._store.objects.read_tree)
            assert {path: self._store.objects.read_blob(entry.oid) for path, entry in found} == files, name

    def _save(self) -> None:
        newest = self._store.newest
        files = {} if newest is None else dict(self._expected[newest])
        path = self._source.choice(PATHS)
        content = (
            None if path in files and self._source.random() < 0.2 else self._source.choice(self._contents)
        )
        files = (
            {**files, path: content} if content is not None else {k: v for k, v in files.items() if k != path}
        )
        made = save(self._store, {path: content}, base=self._store.newest_tree())
        self._expected[made.number] = files

    def _name(self) -> None:
        """What sessions and conversations do: entries of the tree before, and new ones, under the same ref."""
        name = self._source.choice(TOPICS)
        root = self._store.named.tree(name)
        entries = {} if root is None else self._store.objects.read_tree(root)
        pack = self._store.named.new_pack()
        try:
            path, content = b"%d" % self._source.randrange(6), self._source.choice(self._contents)
            entries[path] = Entry(FILE_MODE, pack.add_blob(content))
            self._store.named.publish(name, pack, self._store.named.add_tree(pack, entries), "a message")
        finally:
            pack.abandon()
        self._named[name] = {**self._named.get(name, {}), path: content}

    def _delete(self) -> None:
        if not self._expected:
            return
        going = self._source.sample(
            sorted(self._expected), self._source.randint(1, min(4, len(self._expected)))
        )
        self._store.delete_many(going)
        for number in going:
            del self._expected[number]

    def _happen(self) -> None:
        """What else goes on while a round is under way."""
        for _ in range(self._source.randrange(5)):
            self._source.choice([self._save, self._save, self._name, self._delete])()

    def _tidy(self) -> None:
        packs = self._store.begin_upkeep()
        self._happen()
        room = self._source.choice([PLENTY, PLENTY, 3000])
        found = tidied(self._store, packs, room=room, urgent=self._source.random() < 0.5)
        self._happen()
        self._end(found)

    def _end(self, found: Tidied) -> None:
        assert found.incomplete is None, found
        assert found.damaged == (), found
        self.counts["rounds put in place" if self._store.end_upkeep(found) else "rounds thrown away"] += 1

    def _tidy_in_a_process(self) -> None:
        process = Process(self._git_dir)
        process.upkeep.tidy(self._store.begin_upkeep(), PLENTY, urgent=True)
        try:
            for _ in range(self._source.randrange(12)):
                self._happen()
            if self._source.random() < 0.4:
                self.counts["processes killed"] += 1
                return
            found = process.outcome()
            assert isinstance(found, Tidied), found
            self._end(found)
        finally:
            process.upkeep.stop()
            self._store.abandon_upkeep()

    def _stop_in_the_swap(self) -> None:
        found = tidied(self._store, self._store.begin_upkeep(), urgent=self._source.random() < 0.5)
        with stopping(self._source.randrange(1, 20)):
            self._store.end_upkeep(found)
        self._reopen()

    def _reopen(self) -> None:
        self._store = Store(self._git_dir)
        left = [name for name in os.listdir(os.path.join(self._git_dir, "objects/pack")) if "tmp" in name]
        assert left == []

    def _run_git(self) -> None:
        """The owner runs git commands on the store, and what they make is the store's from then on."""
        command = self._source.choice(
            [
                [
                    "-c",
                    "gc.writeCommitGraph=false",
                    "gc",
                    "-q",
                    "--prune=now",
                ],  # a repack would leave the graph behind
                ["-c", "repack.useDeltaBaseOffset=false", "repack", "-q", "-a", "-d"],
                ["pack-refs", "--all"],
            ]
        )
        git(*command, git_dir=self._git_dir)
        self._reopen()


def attempt(turn: Round) -> Counts:
    """One store and what happens to it."""
    machine = Machine(str(turn.folder / "a store.git"), turn.source)
    try:
        for _ in range(STEPS):
            machine.step()
        machine.check()
    except Exception as error:
        raise AssertionError(f"seed {turn.number}, after {dict(machine.counts)}: {error!r}") from error
    return machine.counts


CAMPAIGNS = (
    Campaign(
        "upkeep-random",
        "R11",
        "Whatever happens around it, upkeep loses nothing that is needed and keeps nothing that is not.",
        2000,
        attempt,
    ),
)
