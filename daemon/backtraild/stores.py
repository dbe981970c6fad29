"""Where on the disk the checkpoints of a workspace lie: among the daemon's data, or where its owner wants them."""

import os
import shutil
from pathlib import Path

from backtrail.errors import StoreFailed, UsageError
from backtrail.paths import Places
from backtraild import durable
from backtraild.registry import Registered


def folder_of(places: Places, entry: Registered) -> Path:
    """The folder that holds the store of a workspace, and nothing else."""
    return places.store(entry.id) if entry.store is None else Path(entry.store) / entry.id


def prepare(entry: Registered, folder: Path) -> None:
    """Make the folder that the owner chose, and keep all others out of it."""
    if entry.store is None:
        return
    try:
        durable.make_folder(str(folder))
    except OSError as error:
        raise UsageError(
            f"{entry.store!r} can't hold a store: {error.strerror}.", "Choose a folder that you may write in."
        ) from error


def require(entry: Registered, folder: str) -> None:
    """Refuse to begin an empty store in the place of one that lies on a disk which is not mounted now."""
    if entry.store is not None and not os.path.isdir(folder):
        raise StoreFailed(
            f"The store {folder!r} is not there; is a disk not mounted?",
            "Nothing is saved until it is back. If it is lost, unwatch the folder and watch it again.",
        )


def refuse_another(places: Places, entry: Registered, wanted: str) -> None:
    """A store does not move because its folder is watched again."""
    folder = folder_of(places, entry)
    if not os.path.isabs(wanted) or os.path.realpath(wanted) != os.path.realpath(folder.parent):
        raise UsageError(
            f"{entry.root!r} is watched already, and its store is {str(folder)!r}, not in {wanted!r}.",
            "Leave the store out to go on with it, or unwatch the folder first.",
        )


def all_in(places: Places) -> list[str]:
    """The stores among the daemon's data, also those of folders that are watched no more."""
    data = places.store("")
    try:
        return sorted(str(folder) for folder in data.iterdir() if (folder / "repo.git").exists())
    except FileNotFoundError:  # nothing was ever watched
        return []
    except OSError as error:
        raise StoreFailed(
            f"The stores in {str(data)!r} could not be listed: {error.strerror or error}.",
            "Look at the disk and its permissions, then try again.",
        ) from error


def has_checkpoints(folder: Path) -> bool:
    """Is there anything in the store that somebody may want back?"""
    refs, packed = folder / "repo.git" / "refs" / "checkpoints", folder / "repo.git" / "packed-refs"
    try:
        return packed.exists() or (refs.is_dir() and any(refs.iterdir()))
    except OSError:  # nobody can tell now, and what is not known must not be deleted
        return True


def purge(places: Places, entry: Registered) -> None:
    """Delete a store with all that is in it, and what lies among the daemon's data for one that is elsewhere."""
    try:
        for folder in {folder_of(places, entry), places.store(entry.id)}:
            if folder.exists():
                shutil.rmtree(folder)
    except OSError as error:
        raise StoreFailed(f"Not all of the store could be deleted: {error}.") from error
