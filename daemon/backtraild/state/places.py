"""Folders as they stand in the stat table: between slashes, so that all that is in one stands behind it, in one range.

The order of these keys is that of a walk which enters a folder before those inside it, and those by their names.
"""

from backtraild.model import Path


def key_of(folder: Path) -> bytes:
    """What stands for a folder."""
    return b"/" + folder + b"/" if folder else b"/"


def folder_of(key: bytes) -> Path:
    """What a key stands for."""
    return key[1:-1]


def range_of(folder: Path) -> tuple[bytes, bytes]:
    """Where the keys of a folder and of all below it begin, and where they have ended: the byte after a slash is 0."""
    key = key_of(folder)
    return key, key[:-1] + b"0"


def walking_order(name: bytes) -> bytes:
    """By which the folders in one folder are to be sorted."""
    return name + b"/"
