"""What scouts have found in one workspace."""

from collections.abc import Iterable

from backtraild.scouts.looking import Found


class Report:
    """The folders that are watched now, and hints at all that may have changed."""

    def __init__(self, stretches: Iterable[Found]) -> None:
        self.numbers: dict[bytes, int] = {}  # the watch of each folder, after those around it
        self.ruling: set[bytes] = set()  # the folders that have ignore files as they were
        self.hints: set[bytes] = set()
        self.listings: dict[bytes, bytes] = {}  # of folders that had to be listed, for the next start
        others: list[bytes] = []
        for found in stretches:
            for folder, number in zip(found.folders, found.numbers, strict=True):
                if self.numbers.setdefault(folder, number) != number:
                    self.hints.add(folder)  # another one was put into its place meanwhile
            self.ruling.update(found.ruling)
            self.hints.update(found.differing)
            others += found.others
            self.listings.update(found.listings)
        self.hints.update(set(others).difference(self.numbers))
