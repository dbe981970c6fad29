"""Walking through captured folders without looking at their files: to have them observed at once."""

import os

from backtraild.ignore import IGNORE_FILES, FolderRules
from backtraild.model import Path, is_dot_git
from backtraild.scan.folders import Folder, descend, list_folder, open_root, read_rules
from backtraild.scan.observer import Observer


def crawl(root: bytes, rules: FolderRules, path: Path, observer: Observer) -> None:
    """Enter a folder and all below it, as far as they are captured. What can't be entered is left to the scan."""
    place = _walk_to(root, rules, path)
    frames = [] if place is None else [_entered(place, observer)]
    try:
        while frames:
            place, names = frames[-1]
            if not names:
                os.close(frames.pop()[0].descriptor)
                continue
            below = descend(place, names.pop(), ())
            if below is not None:
                frames.append(_entered(below, observer))
    finally:
        for place, _ in frames:
            os.close(place.descriptor)


def _entered(place: Folder, observer: Observer) -> tuple[Folder, list[bytes]]:
    """Have a folder observed, then list it; owns its descriptor until it returns."""
    try:
        return _looked_into(place, observer)
    except BaseException:
        os.close(place.descriptor)
        raise


def _looked_into(place: Folder, observer: Observer) -> tuple[Folder, list[bytes]]:
    """The folder with its own rules, and its captured subfolders."""
    observer.enter(place.path, place.descriptor)
    try:
        entries = list_folder(place.descriptor)
    except OSError:
        return place, []
    rules = read_rules(place.descriptor, place.rules, entries)
    observer.govern(place.path, rules)
    folders = [name for name, entry in entries.items() if entry.is_dir(follow_symlinks=False)]
    captured = [name for name in folders if not is_dot_git(name) and not rules.excludes(name, True)]
    return Folder(place.path, place.descriptor, rules), captured


def _walk_to(root: bytes, rules: FolderRules, path: Path) -> Folder | None:
    """The folder at a path, if the way to it leads through captured folders."""
    descriptor = open_root(root)
    place = Folder(b"", descriptor, read_rules(descriptor, rules, IGNORE_FILES))
    names = path.split(b"/") if path else []
    for position, name in enumerate(names, 1):
        try:
            below = descend(place, name, IGNORE_FILES if position < len(names) else ())
        finally:
            os.close(place.descriptor)
        if below is None:
            return None
        place = below
    return place
