"""Synthetic trees: small text files, ten a folder, the same for the same seed."""

import os
import random
from pathlib import Path

FILES_A_FOLDER = 10


def make_tree(root: Path, files: int, seed: int = 5) -> list[bytes]:
    """Fill a folder; the paths of its files, relative to it."""
    chooser = random.Random(seed)
    words = [b"%x" % chooser.getrandbits(40) for _ in range(2000)]
    paths = []
    for number in range(files // FILES_A_FOLDER):
        folder = f"part{number // 1000:03d}/group{number // 30 % 34:02d}/unit{number}"
        (root / folder).mkdir(parents=True)
        for position in range(FILES_A_FOLDER):
            path = f"{folder}/file{position}.py"
            text = b" ".join(chooser.choices(words, k=chooser.randrange(20, 250)))
            (root / path).write_bytes(b"%s\n%d %d\n" % (text, number, position))
            paths.append(os.fsencode(path))
    return paths


def append_line(root: Path, path: bytes, line: int) -> None:
    """Change one file, the way an edit does."""
    with (root / os.fsdecode(path)).open("ab") as file:
        file.write(b"line %d\n" % line)
