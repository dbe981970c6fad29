"""Which folders are watched, and how: one small file, replaced as a whole."""

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import msgspec

from backtrail.errors import BacktrailError, StoreFailed
from backtrail.pathtext import from_text, to_text
from backtraild import durable
from backtraild.model import WorkspaceConfig

VERSION = 1


@dataclass(frozen=True, slots=True)
class Registered:
    """A watched folder. The id is made from its path, so that watching it again finds its checkpoints."""

    id: str
    root: str
    config: WorkspaceConfig
    paused: bool = False
    forced: bool = False  # its owner lifted the size limits; a baseline that a crash cut short keeps that
    store: str | None = None  # in which folder its owner wants the store; None is among the daemon's data


class _File(msgspec.Struct):
    version: int
    workspaces: list[Registered]


class RegistryDamaged(BacktrailError):
    """The list of watched folders can't be read."""

    code = "registry-damaged"


class Registry:
    """The list of watched folders."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._entries = {entry.id: entry for entry in self._read()}

    def __iter__(self) -> Iterator[Registered]:
        return iter(list(self._entries.values()))

    def get(self, workspace: str) -> Registered | None:
        """An entry by its id."""
        return self._entries.get(workspace)

    def around(self, path: str) -> Registered | None:
        """The innermost watched folder that contains a path."""
        found = [entry for entry in self if _contains(entry.root, path)]
        return max(found, key=lambda entry: len(entry.root), default=None)

    def overlapping(self, root: str) -> list[str]:
        """The watched folders inside or around a folder, other than itself."""
        others = [entry.root for entry in self if entry.root != root]
        return [other for other in others if _contains(other, root) or _contains(root, other)]

    def put(self, entry: Registered) -> None:
        """Add or replace an entry, durably."""
        self._write({**self._entries, entry.id: entry})

    def remove(self, workspace: str) -> None:
        """Forget an entry, durably."""
        self._write({name: entry for name, entry in self._entries.items() if name != workspace})

    def _read(self) -> list[Registered]:
        try:
            with open(self._path, "rb") as file:
                found = msgspec.json.decode(file.read(), type=_File)
            if found.version > VERSION:
                raise ValueError(f"it was written by a newer Backtrail (version {found.version})")
            return [_checked(entry) for entry in found.workspaces]
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:  # msgspec's errors are ValueErrors
            raise RegistryDamaged(
                f"The list of watched folders, {self._path}, can't be read: {error}.",
                "Move the file away and watch the folders again: their checkpoints are found by their paths.",
            ) from error

    def _write(self, entries: dict[str, Registered]) -> None:
        content = msgspec.json.encode(_File(VERSION, [_shown(entry) for entry in entries.values()]))
        try:
            durable.replace_file(self._path, msgspec.json.format(content))
        except OSError as error:
            raise StoreFailed(
                f"The list of watched folders could not be written: {error.strerror or error}.",
                "Nothing was changed. Look at free space and permissions, then try again.",
            ) from error
        self._entries = entries


def _checked(entry: Registered) -> Registered:
    root = os.fsdecode(from_text(entry.root))
    if entry.id != workspace_id(root):
        raise ValueError(f"{entry.id} is not the name of {entry.root}")
    store = None if entry.store is None else os.fsdecode(from_text(entry.store))
    return replace(entry, root=root, store=store)


def _shown(entry: Registered) -> Registered:
    """As it stands in the file, where a path that is not UTF-8 has to be written as text."""
    store = None if entry.store is None else to_text(os.fsencode(entry.store))
    return replace(entry, root=to_text(os.fsencode(entry.root)), store=store)


def _contains(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def workspace_id(root: str) -> str:
    """A name for a folder that is readable and belongs to its path alone."""
    digest = hashlib.sha256(os.fsencode(root)).hexdigest()[:10]
    readable = re.sub(r"[^a-z0-9]+", "-", os.path.basename(root).lower()).strip("-")[:24]
    return f"{readable or 'workspace'}-{digest}"
