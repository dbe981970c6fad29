"""A first look at what a folder lists: most files are as they were captured, and must cost next to nothing."""

import os
from typing import NamedTuple

from backtraild.ignore import FolderRules
from backtraild.model import is_dot_git
from backtraild.scan.capture import is_unchanged
from backtraild.state import Row


class Glance(NamedTuple):
    """What a folder lists, without what is excluded."""

    subfolders: list[bytes]
    differing: list[tuple[bytes, os.stat_result, Row | None]]  # from their rows, or without one
    shut: list[tuple[bytes, OSError]]  # listed, but not to be looked at
    unchanged: int
    unchanged_size: int


def glance(
    entries: dict[bytes, "os.DirEntry[str]"], rules: FolderRules, known: dict[bytes, Row], max_size: int
) -> Glance:
    """Compare what is listed with the rows; those that are left in `known` are of files that are not there."""
    _leave_out(entries, rules)
    subfolders: list[bytes] = []
    differing: list[tuple[bytes, os.stat_result, Row | None]] = []
    shut: list[tuple[bytes, OSError]] = []
    unchanged = unchanged_size = 0
    for name, entry in entries.items():
        row = known.get(name)
        if row is None and _is_folder(name, entry):
            subfolders.append(name)
            continue
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        except OSError as error:  # a folder may be listed without its files being accessible
            known.pop(name, None)
            shut.append((name, error))
            continue
        if row is not None and is_unchanged(row, status, max_size):
            unchanged += 1
            unchanged_size += status.st_size
            del known[name]
        elif row is not None and _is_folder(name, entry):
            subfolders.append(name)
        else:
            known.pop(name, None)
            differing.append((name, status, row))
    return Glance(subfolders, differing, shut, unchanged, unchanged_size)


def _leave_out(entries: dict[bytes, "os.DirEntry[str]"], rules: FolderRules) -> None:
    for name in rules.suspects(entries):
        if name in entries and rules.excludes(name, entries[name].is_dir(follow_symlinks=False)):
            del entries[name]


def _is_folder(name: bytes, entry: "os.DirEntry[str]") -> bool:
    return entry.is_dir(follow_symlinks=False) and not is_dot_git(name)
