"""Rounds of upkeep: done here, or by the real process; and a machine that stops in the middle of the swap."""

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

from backtraild import blanks, durable
from backtraild.store import Store, Swept, Tidied, UpkeepFailed, Weighed, aside, swapping, trees
from backtraild.upkeep import Upkeep
from backtraild.upkeep.orders import Tidy
from backtraild.upkeep.tidying import tidy
from support.git import git

PLENTY = 1 << 40
SECONDS = 60.0


def tidied(store: Store, packs: tuple[str, ...], *, room: int = PLENTY, urgent: bool = False) -> Tidied:
    """What the process of upkeep does, done in this one."""
    return tidy(Tidy(store.git_dir, packs, room, urgent))


def tidy_up(store: Store, *, room: int = PLENTY, urgent: bool = False) -> Tidied:
    """A whole round with nothing in between."""
    found = tidied(store, store.begin_upkeep(), room=room, urgent=urgent)
    put_in_place(store, found)
    return found


def put_in_place(store: Store, found: Tidied) -> None:
    """The end of a round, with the old packs swept as the process does it."""
    assert store.end_upkeep(found)
    store.sweep()


class Process:
    """The real process, started by the real `Upkeep`, and awaited."""

    def __init__(self, git_dir: str) -> None:
        self._ended = threading.Event()
        self.upkeep = Upkeep(git_dir, self._ended.set)

    def outcome(self) -> Weighed | Tidied | Swept | UpkeepFailed:
        """What came of it, once it has ended."""
        assert self._ended.wait(SECONDS)
        self._ended.clear()
        found = self.upkeep.take()
        assert found is not None
        return found


class Dead(BaseException):
    """The machine has stopped: no code after this changes anything on the disk."""


class StoppingOs:
    """`os`, until the so many-th call that changes something: it and all that follow do nothing but raise."""

    CHANGING = frozenset({"rename", "replace", "unlink", "fsync", "open"})

    def __init__(self, nth: int) -> None:
        self._left = nth

    @property
    def stopped(self) -> bool:
        return self._left <= 0

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        return self._wrap(real) if name in self.CHANGING else real

    def _wrap(self, real: Any) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            self._left -= 1
            if self._left <= 0:
                raise Dead
            return real(*arguments, **named)

        return call


@contextlib.contextmanager
def stopping(nth: int) -> Iterator[StoppingOs]:
    """Have the machine stop in the middle of a swap; what is left is what a crash would leave."""
    substitute = StoppingOs(nth)
    with (
        patch.object(aside, "os", substitute),
        patch.object(swapping, "os", substitute),
        patch.object(durable, "os", substitute),
        contextlib.suppress(Dead),
    ):
        yield substitute


def contents(store: Store, number: int) -> dict[bytes, bytes]:
    """All files of a checkpoint, every byte read from the store."""
    tree = bytes.fromhex(store.get(number).tree)
    files = trees.walk(tree, store.objects.read_tree)
    return {path: store.objects.read_blob(entry.oid) for path, entry in files}


def objects_on_disk(git_dir: str) -> set[str]:
    """The ids of all objects that git finds, needed or not."""
    said = git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)", git_dir=git_dir)
    return set(said.decode().split())


def needed_objects(git_dir: str) -> set[str]:
    """The ids of all objects that refs lead to, as git sees it."""
    said = git("rev-list", "--objects", "--no-object-names", "--all", git_dir=git_dir)
    return set(said.decode().split())


def pack_names(git_dir: str) -> list[str]:
    """What lies in the folder of packs, without what was made ahead for the next ones."""
    names = os.listdir(os.path.join(git_dir, "objects", "pack"))
    return sorted(name for name in names if not name.startswith(blanks.PREFIX))
