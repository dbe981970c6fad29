"""Elsewhere than on Linux: watchdog's own observer, taken for lossy."""

import os
from collections.abc import Mapping, Set

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from backtraild.ignore import FolderRules
from backtraild.model import Path
from backtraild.watch.dirt import Dirt


class StockWatcher:
    """A recursive watch on the root. What it reports is looked at; a save never relies on it alone."""

    kind = "watchdog"
    unwatched: Mapping[Path, str] = {}

    def __init__(self, root: bytes, dirt: Dirt) -> None:
        self._observer = Observer()
        self._observer.schedule(_Marker(root, dirt), os.fsdecode(root), recursive=True)
        self._observer.start()

    def enter(self, folder: Path, descriptor: int) -> None:
        """The watch is recursive."""

    def govern(self, folder: Path, rules: FolderRules) -> None:
        """The look at what was reported applies the rules."""

    def leave(self, scope: Path, entered: Set[Path]) -> None:
        """The watch is recursive."""

    def barrier(self, seconds: float) -> bool:  # noqa: ARG002 (the protocol has it)
        """Events may be lost or late here: only a look at everything can tell."""
        return False

    def close(self) -> None:
        """Stop watching."""
        self._observer.stop()
        self._observer.join()


class _Marker(FileSystemEventHandler):
    def __init__(self, root: bytes, dirt: Dirt) -> None:
        self._root = os.fsencode(os.path.realpath(root))
        self._dirt = dirt

    def on_any_event(self, event: FileSystemEvent) -> None:
        if event.event_type in ("opened", "closed_no_write"):
            return
        for path in (event.src_path, event.dest_path):
            if path:
                self._mark(os.fsencode(path))

    def _mark(self, path: bytes) -> None:
        relative = os.path.relpath(path, self._root)
        if relative == b".":
            self._dirt.mark_everything("the workspace's folder itself changed")
        elif not relative.startswith(b"../") and b".git" not in relative.split(b"/"):
            self._dirt.mark(relative)
