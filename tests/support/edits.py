"""Random edits of a folder, the way people, scripts and agents make them."""

import os
import random
import shutil
from pathlib import Path

_STEMS = [
    b"app",
    b"main",
    b"readme",
    b"a",
    b"a-b",
    b"a.b",
    b"data",
    "grüße".encode(),
    "日本".encode(),
    b"caf\xe9",
    b"sp ace",
    b"new\nline",
]
_SUFFIXES = [b"", b".py", b".txt", b".bin", b".SQL"]


class Editor:
    """Makes one random edit at a time; every choice comes from the given generator."""

    def __init__(self, root: Path, chooser: random.Random) -> None:
        self._root = os.fsencode(root)
        self._random = chooser

    def edit(self) -> str:
        """One edit; what was done."""
        edits = (
            [self._create] * 4 + [self._change] * 3 + [self._delete, self._rename, self._chmod, self._link]
        )
        edits += [self._empty, self._binary, self._file_to_folder, self._folder_to_file, self._move_folder]
        chosen = self._random.choice(edits)
        chosen()
        return chosen.__name__

    def _files(self) -> list[bytes]:
        found = []
        for folder, folders, files in os.walk(self._root):
            folders.sort()
            found += [os.path.join(folder, name) for name in sorted(files)]
        return found

    def _folders(self) -> list[bytes]:
        return sorted(folder for folder, _, _ in os.walk(self._root))

    def _new_path(self) -> bytes:
        folder = self._random.choice(self._folders())
        for _ in range(self._random.choice([0, 0, 0, 1, 2])):
            below = os.path.join(folder, self._random.choice(_STEMS) + b"_dir")
            if not os.path.lexists(below) or (os.path.isdir(below) and not os.path.islink(below)):
                folder = below
        name = self._random.choice(_STEMS) + self._random.choice(_SUFFIXES)
        path = os.path.join(folder, name)
        return path + b"_" if os.path.isdir(path) else path

    def _write(self, path: bytes, content: bytes) -> None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.islink(path):
            os.unlink(path)
        with open(path, "wb", opener=_unfollowed) as file:
            file.write(content)

    def _text(self) -> bytes:
        ending = self._random.choice([b"\n", b"\r\n"])
        return ending.join(
            b"line %d" % self._random.randrange(50) for _ in range(self._random.randrange(1, 30))
        )

    def _create(self) -> None:
        self._write(self._new_path(), self._text())

    def _empty(self) -> None:
        self._write(self._new_path(), b"")

    def _binary(self) -> None:
        self._write(self._new_path(), self._random.randbytes(self._random.randrange(1, 5000)))

    def _change(self) -> None:
        files = [path for path in self._files() if not os.path.islink(path)]
        if files:
            with open(self._random.choice(files), "ab", opener=_unfollowed) as file:
                file.write(self._text())

    def _delete(self) -> None:
        if files := self._files():
            os.unlink(self._random.choice(files))

    def _rename(self) -> None:
        if files := self._files():
            target = self._new_path()
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.rename(self._random.choice(files), target)

    def _chmod(self) -> None:
        files = [path for path in self._files() if not os.path.islink(path)]
        if files:
            # Another writer may have put a folder there meanwhile, which nobody could enter any more.
            with open(self._random.choice(files), "rb", opener=_unfollowed) as file:
                os.fchmod(file.fileno(), os.fstat(file.fileno()).st_mode ^ 0o111)

    def _link(self) -> None:
        path = self._new_path()
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if not os.path.lexists(path):
            os.symlink(self._random.choice([b"/etc/passwd", b"../nowhere", b"app.py", b"caf\xe9"]), path)

    def _file_to_folder(self) -> None:
        if files := self._files():
            path = self._random.choice(files)
            os.unlink(path)
            self._write(os.path.join(path, b"inside.txt"), self._text())

    def _folder_to_file(self) -> None:
        folders = [folder for folder in self._folders() if folder != self._root]
        if folders:
            path = self._random.choice(folders)
            shutil.rmtree(path)
            self._write(path, self._text())

    def _move_folder(self) -> None:
        folders = [folder for folder in self._folders() if folder != self._root]
        if folders:
            source = self._random.choice(folders)
            target = os.path.join(self._root, b"moved_%d" % self._random.randrange(10_000))
            if not target.startswith(source + b"/") and not os.path.lexists(target):
                os.rename(source, target)


def _unfollowed(path: bytes, flags: int) -> int:
    """Another writer may have put a symlink there meanwhile, and some lead to files of the system."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)
