"""Checkpoints that are protected from retention: each has a second ref, which git's own tools heed as well."""

from collections.abc import Callable, Collection, Iterable

from backtraild.store.refs import Refs, numbers_among

PINNED = "refs/pinned"


class Pins:
    """Those of one store. Used by one thread."""

    def __init__(self, refs: Refs) -> None:
        self._refs = refs
        self._names = set(refs.names(PINNED))

    @property
    def numbers(self) -> frozenset[int]:
        """The checkpoints that are protected."""
        return frozenset(numbers_among(self._names))

    def hold(self, number: int) -> bool:
        """Is this one protected?"""
        return str(number) in self._names

    def add(self, number: int, commit_id: str) -> None:
        """Protect one, durably."""
        self._refs.write(f"{PINNED}/{number}", commit_id)
        self._names.add(str(number))

    def remove(self, number: int) -> None:
        """Protect one no more; harmless if it was not."""
        self._refs.delete(f"{PINNED}/{number}")
        self._names.discard(str(number))

    def remove_many(self, numbers: Iterable[int]) -> None:
        """The same for those of these that are protected."""
        held = [str(number) for number in numbers if self.hold(number)]
        self._refs.delete_many([f"{PINNED}/{name}" for name in held])
        self._names.difference_update(held)

    def mend(self, numbers: Collection[int], commit_of: Callable[[int], str | None]) -> list[int]:
        """Let pins of these checkpoints hold their commits again; those that did not."""
        mended = []
        for number in sorted(self.numbers.intersection(numbers)):
            commit_id = commit_of(number)
            if commit_id is not None and self._refs.read(f"{PINNED}/{number}") != commit_id:
                self._refs.write(f"{PINNED}/{number}", commit_id)
                mended.append(number)
        return mended
