"""Elsewhere than on Linux: watchdog's own observer, taken for lossy."""

import os

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from backtraild.watch.dirt import Dirt
from backtraild.watch.hinting import HintingWatcher


class StockWatcher(HintingWatcher):
    """A recursive watch on the root. What it reports is looked at; a save never relies on it alone."""

    kind = "watchdog"

    def __init__(self, root: bytes, dirt: Dirt) -> None:
        super().__init__()
        # Some systems report real paths whatever was asked for.
        real = os.path.realpath(root)
        self._observer = Observer()
        self._observer.schedule(_Marker(real, dirt), os.fsdecode(real), recursive=True)
        self._observer.start()

    def close(self) -> None:
        """Stop watching."""
        self._observer.stop()
        self._observer.join()


class _Marker(FileSystemEventHandler):
    def __init__(self, root: bytes, dirt: Dirt) -> None:
        self._root = root
        self._dirt = dirt

    def on_any_event(self, event: FileSystemEvent) -> None:
        if event.event_type in ("opened", "closed_no_write"):
            return
        if event.is_directory and event.event_type == "modified":
            return  # something in it came or went, which is reported too; all below it need not be looked at
        for path in (event.src_path, event.dest_path):
            if path:
                self._mark(os.fsencode(path))

    def _mark(self, path: bytes) -> None:
        relative = os.path.relpath(path, self._root).replace(os.fsencode(os.sep), b"/")
        if relative == b".":
            self._dirt.mark_everything("the workspace's folder itself changed")
        elif not relative.startswith(b"../") and b".git" not in relative.split(b"/"):
            self._dirt.mark(relative)
