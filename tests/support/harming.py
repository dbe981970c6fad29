"""One damage to one file, by chance: cut, flipped, overwritten, emptied, removed, exchanged, foreign."""

import os
import random
from pathlib import Path

from support import damage

Way = str


def files_below(folder: Path) -> list[Path]:
    """Every file, in an order that is the same in each run."""
    found = [Path(top) / name for top, _, names in os.walk(folder) for name in names]
    return sorted(path for path in found if path.is_file() and not path.is_symlink())


def harm(path: Path, source: random.Random) -> Way:
    """Damage a file in a way that chance chooses; what was done, in words."""
    content = bytearray(path.read_bytes())
    way = source.choice(
        ("flip", "flip", "cut", "overwrite", "zero", "swap", "empty", "remove", "foreign", "grow")
    )
    if way == "remove":
        damage.put(str(path), None)
        return "removed"
    if way in ("empty", "foreign", "grow") or not content:
        left = {"foreign": source.randbytes(len(content) or 10), "grow": bytes(content) + b"and more"}.get(
            way, b""
        )
        damage.put(str(path), left)
        return way
    at = damage.position(source, len(content))
    damage.put(str(path), getattr(damage, way)(content, at, source))
    return f"{way} at {at} of {len(content)}"
