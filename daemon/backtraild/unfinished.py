"""Forks that are under way, each noted in a small file, so that the next start undoes what a kill has left of one."""

import contextlib
import os
from collections.abc import Iterator

import msgspec

from backtrail.errors import StoreFailed
from backtrail.pathtext import from_text, to_text
from backtraild import durable
from backtraild.registry import workspace_id
from backtraild.restore import Population, give_back
from backtraild.store import StoreReader, trees

_CHECKPOINTS = "refs/checkpoints"


class ForkNote(msgspec.Struct, frozen=True):
    """Where the fork is made, of which tree in which repository, and what was there before. Paths are text."""

    root: str
    made: tuple[str, ...]  # the folders that were made for it, outermost first
    git_dir: str
    tree: str
    had_store: bool  # the folder was watched before, and its checkpoints are still there

    @property
    def folder(self) -> str:
        """The folder that is forked into."""
        return _path(self.root)

    @property
    def workspace(self) -> str:
        """What the new folder is called once it is watched."""
        return workspace_id(self.folder)


def note_of(root: str, made: list[str], git_dir: str, tree: str, *, had_store: bool) -> ForkNote:
    """A note, for any paths there are."""
    return ForkNote(_text(root), tuple(map(_text, made)), _text(git_dir), tree, had_store)


class ForkNotes:
    """One file for each fork that is under way, in one folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    @contextlib.contextmanager
    def under_way(self, note: ForkNote) -> Iterator[None]:
        """Durably noted as long as the block lasts."""
        try:
            durable.make_folder(self._folder)
            durable.replace_file(self._file(note), msgspec.json.encode(note))
        except OSError as error:
            raise StoreFailed(
                f"The fork could not be noted: {error.strerror or error}.",
                "Nothing was written. Look at free space and permissions, then try again.",
            ) from error
        try:
            yield
        finally:
            self.forget(note)

    def left(self) -> list[ForkNote]:
        """Those of which nobody knows how they ended."""
        found = []
        for name in sorted(os.listdir(self._folder)) if os.path.isdir(self._folder) else ():
            # One that is damaged says nothing: what it was about is left as it is.
            with (
                contextlib.suppress(OSError, ValueError),
                open(os.path.join(self._folder, name), "rb") as file,
            ):
                found.append(msgspec.json.decode(file.read(), type=ForkNote))
        return found

    def finish(self, note: ForkNote) -> None:
        """The fork is complete, and no start will undo it. Where that can't be had, it must not be told as made."""
        try:
            self._remove(note)
        except OSError:
            try:
                self._remove(note)
            except OSError as error:
                raise StoreFailed(
                    f"The fork could not be completed: {error.strerror or error}.",
                    "It was undone. Look at free space and permissions, then try again.",
                ) from error

    def _remove(self, note: ForkNote) -> None:
        with contextlib.suppress(FileNotFoundError):
            durable.remove_file(self._file(note))

    def forget(self, note: ForkNote) -> None:
        """It is over; a note that can't be removed leads to nothing where there is nothing left to undo."""
        with contextlib.suppress(OSError):
            self._remove(note)

    def _file(self, note: ForkNote) -> str:
        return os.path.join(self._folder, note.workspace + ".json")


def take_away(note: ForkNote) -> None:
    """Remove the files that the fork wrote, if nobody has changed them, and the folders that were made for it."""
    objects = StoreReader(_path(note.git_dir)).objects
    files = dict(trees.walk(bytes.fromhex(note.tree), objects.read_tree))
    if os.path.isdir(note.folder):
        population = Population(note.folder)
        population.recognise(files, objects)
        population.take_away()
    give_back([_path(folder) for folder in note.made])


def is_in_use(store: str) -> bool:
    """Does a new folder's store have more than the checkpoint that it begins with?"""
    git_dir = os.path.join(store, "repo.git")
    return os.path.isdir(git_dir) and len(StoreReader(git_dir).named.names(_CHECKPOINTS)) > 1


def _text(path: str) -> str:
    return to_text(os.fsencode(path))


def _path(text: str) -> str:
    return os.fsdecode(from_text(text))
