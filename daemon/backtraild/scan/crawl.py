"""Walking through captured folders without looking at their files: to have them observed at once."""

import os
from collections.abc import Iterator

from backtraild.ignore import IGNORE_FILES, FolderRules
from backtraild.model import Path, is_dot_git
from backtraild.scan.folders import Folder, descend, enter_root, list_folder, read_rules
from backtraild.scan.observer import Observer
from backtraild.scan.trail import Trail


def crawl(root: bytes, rules: FolderRules, path: Path, observer: Observer) -> None:
    """Enter a folder and all below it, as far as they are captured. What can't be entered is left to the scan."""
    place = _walk_to(root, rules, path)
    if place is None:
        return
    with Trail() as trail:
        trail.go_down(*_entered(place, observer))
        while trail:
            name = trail.next_name()
            below = None if name is None else descend(trail.folder, name, ())
            if name is None:
                trail.go_up()
            elif below is not None:
                trail.go_down(*_entered(below, observer))


def _entered(place: Folder, observer: Observer) -> tuple[Folder, Iterator[bytes]]:
    """Have a folder observed, then list it; owns its descriptor until it returns."""
    try:
        return _looked_into(place, observer)
    except BaseException:
        os.close(place.descriptor)
        raise


def _looked_into(place: Folder, observer: Observer) -> tuple[Folder, Iterator[bytes]]:
    """The folder with its own rules, and its captured subfolders."""
    observer.enter(place.path, place.descriptor)
    try:
        entries = list_folder(place.descriptor)
        rules = read_rules(place.descriptor, place.rules, entries)
    except OSError:
        return place, iter(())
    observer.govern(place.path, rules)
    folders = [name for name, entry in entries.items() if entry.is_dir(follow_symlinks=False)]
    captured = [name for name in folders if not is_dot_git(name) and not rules.excludes(name, True)]
    return Folder(place.path, place.descriptor, rules), iter(captured)


def _walk_to(root: bytes, rules: FolderRules, path: Path) -> Folder | None:
    """The folder at a path, if the way to it leads through captured folders."""
    place = enter_root(root, rules)
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
