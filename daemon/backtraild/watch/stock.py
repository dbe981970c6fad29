"""Elsewhere than on Linux: watchdog's own observer, taken for lossy."""

import os
from collections.abc import Mapping, Set

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from backtraild.ignore import FolderRules
from backtraild.model import Path
from backtraild.watch.dirt import Dirt
from backtraild.watch.polling import forget_shut


class StockWatcher:
    """A recursive watch on the root. What it reports is looked at; a save never relies on it alone."""

    kind = "watchdog"

    def __init__(self, root: bytes, dirt: Dirt) -> None:
        self._shut: dict[Path, str] = {}
        # Some systems report real paths whatever was asked for.
        real = os.path.realpath(root)
        self._observer = Observer()
        self._observer.schedule(_Marker(real, dirt), os.fsdecode(real), recursive=True)
        self._observer.start()

    @property
    def unwatched(self) -> Mapping[Path, str]:
        """Folders that can't be listed, with the reason."""
        return self._shut

    def enter(self, folder: Path, descriptor: int) -> None:  # noqa: ARG002 (the protocol has it)
        """The watch is recursive."""
        self._shut.pop(folder, None)

    def shut_out(self, folder: Path, reason: str) -> None:
        """Whether the recursive watch reaches into it, nobody knows."""
        self._shut[folder] = reason

    def govern(self, folder: Path, rules: FolderRules) -> None:
        """The look at what was reported applies the rules."""

    def leave(self, scope: Path, entered: Set[Path]) -> None:
        """Forget what was shut and is gone."""
        forget_shut(self._shut, scope, entered)

    def barrier(self, seconds: float) -> bool:  # noqa: ARG002 (the protocol has it)
        """Events may be lost or late here: only a look at everything can tell."""
        return False

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
