"""Trees to measure on: synthetic ones, the same for the same seed, and ways of changing a file of any."""

import os
import random
from collections.abc import Iterator
from pathlib import Path

FILES_A_FOLDER = 10
# Coprime to the usual numbers of files: steps of so many spread over the whole tree.
_STEP = 7919


def make_tree(root: Path, files: int, seed: int = 5) -> list[bytes]:
    """Fill a folder with small text files, ten a folder; their paths, relative to it."""
    chooser = random.Random(seed)
    words = [b"%x" % chooser.getrandbits(40) for _ in range(2000)]
    paths: list[bytes] = []
    for number in range(-(-files // FILES_A_FOLDER)):
        folder = f"part{number // 1000:03d}/group{number // 30 % 34:02d}/unit{number}"
        (root / folder).mkdir(parents=True)
        for position in range(min(FILES_A_FOLDER, files - len(paths))):
            path = f"{folder}/file{position}.py"
            text = b" ".join(chooser.choices(words, k=chooser.randrange(20, 250)))
            (root / path).write_bytes(b"%s\n%d %d\n" % (text, number, position))
            paths.append(os.fsencode(path))
    return paths


def files_below(root: Path) -> list[bytes]:
    """The paths of all regular files of a tree that somebody else made, in order."""
    return sorted(_walked(os.fsencode(root)))


def _walked(root: bytes) -> Iterator[bytes]:
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not os.path.islink(path):
                yield os.path.relpath(path, root)


class Edits:
    """Changes files of a tree the way an edit does, spread over the tree, none of them twice the same."""

    def __init__(self, root: Path, paths: list[bytes]) -> None:
        self._root = os.fsencode(root)
        self._paths = paths
        self._made = 0

    def make(self, count: int = 1) -> list[bytes]:
        """Add a line to so many files; which ones."""
        return [self._edit() for _ in range(count)]

    def _edit(self) -> bytes:
        self._made += 1
        path = self._paths[self._made * _STEP % len(self._paths)]
        with open(os.path.join(self._root, path), "ab") as file:
            file.write(b"line %d\n" % self._made)
        return path
