"""A folder full of everything that a file system takes: grown and changed at random, and read without Backtrail."""

import contextlib
import os
import random
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

Held = tuple[str, bytes]
State = dict[bytes, Held]

LARGEST = 50_000  # bytes of a file that is captured
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_NAMES = (
    "line\nbreak", "\x1b[31mred\x1b[0m", "bell\x07", "trailing ", " leading", ".", "-rf", "--", "a:b", "CON", "nul.txt",
    "\u00e9", "e\u0301", "\u212b", "\u00c5", "\U0001f600", "\u202egnp.exe", "Readme", "README", "readme", "*", "?",
    "[a]", "{x}", "$HOME", "`id`", "'", '"', "\\", "\\n", "%s", "~x", "#", "@", "@{now}", "HEAD", ".gitx", "...", "\t",
    "\x7f", "a" * 255, "\u00e4" * 127, "\ufeffbom", "refs", "x.lock", "git~2", "\ud7ff", "0", "-",
)  # fmt: skip
_BYTES = (b"\xff\xfe", b"caf\xe9", b"\xc3", b"\xed\xa0\x80", b"\xf8" * 255, b"a\xffb", b"\x80.txt")
_TIMES = (0, -(2**31), 2**31, 2**33, 9_223_372_037, 1)


class StrangeTree:
    """Changes at random what is in a folder; every path is made of bytes and walked component by component."""

    def __init__(self, root: Path, source: random.Random) -> None:
        self.root = os.fsencode(root)
        self._source = source
        self.touched: set[bytes] = set()
        self._chain = source.choice(((b"n" * 250, 20), (b"m" * 100, 45), (b"l" * 20, 10), (b"d", 150)))
        self._acts: tuple[Callable[[], None], ...] = (
            *[self._write] * 6, self._rewrite, self._rewrite, self._grow, self._become_executable, self._link,
            self._link_far, self._swap, self._swap, self._rename, self._rename_case, self._hard_link, self._remove,
            self._special, self._large, self._exact, self._date, self._empty_folder, self._deep, self._pair,
        )  # fmt: skip

    def change(self, times: int) -> None:
        """Do so many things at random; those that are impossible are left out."""
        for _ in range(times):
            with contextlib.suppress(OSError):
                self._source.choice(self._acts)()

    def depth(self) -> int:
        """How deep the deepest file lies."""
        return max((path.count(b"/") for path in state(self.root)), default=0)

    def _name(self) -> bytes:
        kind = self._source.random()
        if kind < 0.4:
            return b"%x" % self._source.randrange(40)
        name = os.fsencode(self._source.choice(_NAMES)) if kind < 0.9 else self._source.choice(_BYTES)
        return b"dot" if name == b"." else name

    def _content(self) -> bytes:
        size = self._source.choice((0, 1, 3, 100, 5_000))
        return self._source.randbytes(size)

    def _folders(self) -> list[bytes]:
        return [b"", *(path for path, mode in walk(self.root) if stat.S_ISDIR(mode))]

    def _files(self) -> list[bytes]:
        return [path for path, mode in walk(self.root) if not stat.S_ISDIR(mode)]

    @contextlib.contextmanager
    def _somewhere(self, folder: bytes | None = None) -> Iterator[tuple[int, bytes]]:
        """An open folder, and the beginning of paths in it."""
        path = self._source.choice(self._folders()) if folder is None else folder
        with entered(self.root, path) as descriptor:
            yield descriptor, path + b"/" if path else b""

    @contextlib.contextmanager
    def _file(self) -> Iterator[tuple[int, bytes]]:
        """Some file: its folder, open, and its name."""
        path = self._source.choice(self._files() or [b"none"])
        self.touched.add(path)
        folder, _, name = path.rpartition(b"/")
        with entered(self.root, folder) as descriptor:
            if os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_nlink > 1:
                self.touched.add(b"")  # its other names change with it
            yield descriptor, name

    def _touch(self, prefix: bytes, name: bytes) -> bytes:
        self.touched.add(prefix + name)
        return name

    def _put(self, folder: int, name: bytes, content: bytes, flags: int = os.O_TRUNC) -> None:
        descriptor = os.open(
            name, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | flags, 0o644, dir_fd=folder
        )
        os.write(descriptor, content)
        os.close(descriptor)

    def _write(self) -> None:
        with self._somewhere() as (folder, prefix):
            name = self._touch(prefix, self._name())
            if self._source.random() < 0.3:
                os.mkdir(name, dir_fd=folder)
                with entered_at(folder, name) as below:
                    self._put(below, self._touch(prefix + name + b"/", self._name()), self._content())
            else:
                self._put(folder, name, self._content())

    def _rewrite(self) -> None:
        """Same size, same date: only the change time tells."""
        with self._file() as (folder, name):
            before = os.stat(name, dir_fd=folder, follow_symlinks=False)
            self._put(folder, name, self._source.randbytes(min(before.st_size, LARGEST)), 0)
            os.utime(name, ns=(before.st_atime_ns, before.st_mtime_ns), dir_fd=folder, follow_symlinks=False)

    def _grow(self) -> None:
        with self._file() as (folder, name):
            self._put(folder, name, self._content(), os.O_APPEND)

    def _become_executable(self) -> None:
        with self._file() as (folder, name):
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
            if stat.S_ISREG(mode):
                os.chmod(name, mode ^ 0o111, dir_fd=folder)

    def _link(self) -> None:
        with self._somewhere() as (folder, prefix):
            target = self._source.choice((b"..", b"/", b"nowhere", b"\xff", self._name()))
            os.symlink(target, self._touch(prefix, self._name()), dir_fd=folder)

    def _link_far(self) -> None:
        with self._somewhere() as (folder, prefix):
            os.symlink(b"t" * 4095, self._touch(prefix, self._name()), dir_fd=folder)

    def _swap(self) -> None:
        """A file becomes a folder, a symlink or a pipe."""
        with self._file() as (folder, name):
            os.unlink(name, dir_fd=folder)
            kind = self._source.randrange(3)
            if kind == 0:
                os.mkdir(name, dir_fd=folder)
                with entered_at(folder, name) as below:
                    self._put(below, b"inside", self._content())
            elif kind == 1:
                os.symlink(b"swapped", name, dir_fd=folder)
            else:
                os.mknod(name, stat.S_IFIFO | 0o600, dir_fd=folder)

    def _rename(self) -> None:
        with self._file() as (folder, name), self._somewhere() as (other, prefix):
            os.rename(name, self._touch(prefix, self._name()), src_dir_fd=folder, dst_dir_fd=other)

    def _rename_case(self) -> None:
        with self._file() as (folder, name):
            os.rename(name, name.swapcase(), src_dir_fd=folder, dst_dir_fd=folder)
        self.touched.add(b"")  # the folder is known, its new name is not noted: everything may have changed

    def _hard_link(self) -> None:
        """Two names of one file, then a write through one of them: no event tells of the other."""
        with self._file() as (folder, name), self._somewhere() as (other, prefix):
            os.link(name, self._touch(prefix, self._name()), src_dir_fd=folder, dst_dir_fd=other)
            self._put(folder, name, self._content())
        self.touched.add(b"")

    def _remove(self) -> None:
        with self._file() as (folder, name):
            os.unlink(name, dir_fd=folder)

    def _special(self) -> None:
        with self._somewhere() as (folder, prefix):
            name = self._touch(prefix, self._name())
            if self._source.random() < 0.5:
                os.mknod(name, stat.S_IFIFO | 0o600, dir_fd=folder)
                return
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(b"/proc/self/fd/%d/" % folder + name)

    def _large(self) -> None:
        """Ten gigabytes that take no room: to be left out by their size, not to be read."""
        self._sized(10 * 2**30)

    def _exact(self) -> None:
        self._sized(LARGEST + self._source.randrange(2))

    def _sized(self, size: int) -> None:
        with self._somewhere() as (folder, prefix):
            name = self._touch(prefix, self._name())
            descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=folder)
            os.truncate(descriptor, size)
            os.close(descriptor)

    def _date(self) -> None:
        with self._file() as (folder, name):
            moment = self._source.choice(_TIMES) * 10**9
            os.utime(name, ns=(moment, moment), dir_fd=folder, follow_symlinks=False)

    def _empty_folder(self) -> None:
        with self._somewhere() as (folder, _):
            os.mkdir(self._name(), dir_fd=folder)

    def _deep(self) -> None:
        """Deeper than a path may be long, or than a few descriptors reach."""
        name, levels = self._chain
        with contextlib.ExitStack() as stack:
            folder, prefix = stack.enter_context(self._somewhere(b""))
            for _ in range(levels):
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, dir_fd=folder)
                folder = stack.enter_context(entered_at(folder, name))
                prefix += name + b"/"
            self._put(folder, self._touch(prefix, self._name()), self._content())

    def _pair(self) -> None:
        """Two names that look the same."""
        with self._somewhere() as (folder, prefix):
            for name in ("\u00e9", "e\u0301"):
                self._put(folder, self._touch(prefix, name.encode()), self._content())


@contextlib.contextmanager
def entered_at(folder: int, name: bytes) -> Iterator[int]:
    """A subfolder, open for a while."""
    descriptor = os.open(name, _FOLDER, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def entered(root: bytes, path: bytes) -> Iterator[int]:
    """The folder at a path, reached step by step: it may be longer than the kernel takes at once."""
    descriptor = os.open(root, _FOLDER)
    try:
        for name in path.split(b"/") if path else ():
            below = os.open(name, _FOLDER, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def walk(root: bytes) -> list[tuple[bytes, int]]:
    """Everything below a folder with its mode, in a fixed order."""
    with entered(root, b"") as folder:
        return [(path, mode) for path, mode, _, _ in _below(folder, b"")]


def state(root: bytes) -> State:
    """What a checkpoint of the folder has to hold, read file by file."""
    found: State = {}
    with entered(root, b"") as top:
        for path, mode, folder, name in _below(top, b""):
            if stat.S_ISLNK(mode):
                found[path] = "symlink", os.readlink(name, dir_fd=folder)
            elif stat.S_ISREG(mode) and os.stat(name, dir_fd=folder).st_size <= LARGEST:
                with open(os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder), "rb") as file:
                    found[path] = "executable" if mode & stat.S_IXUSR else "file", file.read()
    return found


def _below(folder: int, prefix: bytes) -> Iterator[tuple[bytes, int, int, bytes]]:
    """Path, mode, open folder and name of everything in a folder, and then of what is below."""
    for name in sorted(map(os.fsencode, os.listdir(folder))):
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        yield prefix + name, mode, folder, name
        if stat.S_ISDIR(mode):
            with entered_at(folder, name) as below:
                yield from _below(below, prefix + name + b"/")
