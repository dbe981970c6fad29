"""References: what keeps a checkpoint alive. Written durably, and never silently left out when damaged.

libgit2 does not sync refs and omits damaged ones from its lists, so these small files are handled here.
Refs that git itself packed (`git gc`, `git pack-refs`) are understood.
"""

import contextlib
import os
import re

from backtraild import durable

_HEX_ID = re.compile(rb"[0-9a-f]{40}\n?")


class Refs:
    """The refs of one bare repository."""

    def __init__(self, git_dir: str) -> None:
        self._git_dir = git_dir
        self._packed_file = os.path.join(git_dir, "packed-refs")
        self._packed_stat: tuple[int, int, int] | None = None
        self._packed: dict[str, str] = {}

    def read(self, name: str) -> str | None:
        """The hexadecimal id that a ref holds; None if there is no such ref or its file is damaged."""
        try:
            with open(self._path(name), "rb") as file:
                content = file.read(64)
        except (FileNotFoundError, NotADirectoryError):
            content = self._read_packed().get(name, "").encode()
        except IsADirectoryError:
            return None
        return content[:40].decode() if _HEX_ID.fullmatch(content) else None

    def names(self, folder: str) -> list[str]:
        """The last parts of all refs directly below a folder such as `refs/checkpoints`."""
        try:
            found = set(os.listdir(self._path(folder)))
        except FileNotFoundError:
            found = set()
        prefix = folder + "/"
        found |= {name.removeprefix(prefix) for name in self._read_packed() if name.startswith(prefix)}
        return sorted(name for name in found if not name.endswith((".lock", ".tmp")))

    def write(self, name: str, hex_id: str) -> None:
        """Point a ref at an object, durable when the call returns."""
        path = self._path(name)
        folder = os.path.dirname(path)
        if not os.path.isdir(folder):
            os.makedirs(folder, 0o700)
            durable.sync_folder(os.path.dirname(folder))
        durable.replace_file(path, hex_id.encode() + b"\n")

    def delete(self, name: str) -> None:
        """Remove a ref, loose and packed; it stays removed after a power cut."""
        # The packed one first: a crash in between must not bring back an older value.
        packed = self._read_packed()
        if name in packed:
            rest = {other: hex_id for other, hex_id in packed.items() if other != name}
            lines = ["# pack-refs with: sorted \n", *(f"{rest[other]} {other}\n" for other in sorted(rest))]
            durable.replace_file(self._packed_file, "".join(lines).encode())
        with contextlib.suppress(FileNotFoundError):
            durable.remove_file(self._path(name))

    def _path(self, name: str) -> str:
        return os.path.join(self._git_dir, name)

    def _read_packed(self) -> dict[str, str]:
        try:
            status = os.stat(self._packed_file)
        except FileNotFoundError:
            return {}
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        if stamp != self._packed_stat:
            with open(self._packed_file, encoding="utf-8", errors="replace") as file:
                rows = [line.split() for line in file if not line.startswith(("#", "^"))]
            self._packed = {row[1]: row[0] for row in rows if len(row) == 2}
            self._packed_stat = stamp
        return self._packed
