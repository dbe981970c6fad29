"""A workspace, a store of content and a journal for the tests of restore; nothing of git or of the daemon."""

import errno
import hashlib
import os
import stat
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from backtrail.errors import RestoreInterrupted, StoreDamaged
from backtraild import restore
from backtraild.model import EXECUTABLE_MODE, FILE_MODE, SYMLINK_MODE, Change, Entry
from backtraild.restore import Calls, Outcome, Plan
from backtraild.restore.journal import Journal


class Link(bytes):
    """A symlink to this target."""


class Program(bytes):
    """An executable file with this content."""


LONG_AGO = 1_500_000_000_123_456_789
Tree = Mapping[bytes, bytes]


def blob_id(content: bytes) -> bytes:
    """Git's id of this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).digest()


def entry(content: bytes) -> Entry:
    """What a checkpoint holds for this content."""
    kinds = {Link: SYMLINK_MODE, Program: EXECUTABLE_MODE}
    return Entry(kinds.get(type(content), FILE_MODE), blob_id(content))


class Shelf(dict[bytes, bytes]):
    """Content by id, some of it damaged."""

    def __init__(self) -> None:
        super().__init__()
        self.damaged: set[bytes] = set()

    def size(self, oid: bytes) -> int:
        return len(self[oid])

    def chunks(self, oid: bytes) -> Iterator[bytes]:
        content = self[oid]
        yield content[:3]
        if oid in self.damaged:
            raise StoreDamaged(f"{oid.hex()} is damaged.")
        yield content[3:]


@dataclass
class World:
    """A workspace with its journal; `put` makes the disk hold a tree, `go` restores another over it."""

    folder: Path
    shelf: Shelf = field(default_factory=Shelf)

    def __post_init__(self) -> None:
        self.root = self.folder / "workspace"
        self.root.mkdir(parents=True)
        (self.folder / "store").mkdir()
        self.journal = str(self.folder / "store" / "restore.journal")

    def put(self, tree: Tree) -> None:
        for path, content in tree.items():
            put(self.root, path, content)
            # Long ago, so that a file is known again by its inode and times and need not be read again.
            os.utime(
                os.path.join(os.fsencode(self.root), path), ns=(LONG_AGO, LONG_AGO), follow_symlinks=False
            )

    def changes(self, old: Tree, new: Tree) -> dict[bytes, Change]:
        for content in (*old.values(), *new.values()):
            self.shelf[blob_id(content)] = bytes(content)
        both = {path: Change(_entry(old, path), _entry(new, path)) for path in {*old, *new}}
        return {path: change for path, change in both.items() if change.old != change.new}

    def plan(self, old: Tree, new: Tree, unchanged: int = 0) -> Plan:
        return restore.make_plan(str(self.root), self.changes(old, new), unchanged)

    def apply(self, plan: Plan, calls: Calls = restore.OS) -> Outcome:
        outcome = restore.apply(str(self.root), plan, self.shelf, self.journal, {"target": 7}, calls=calls)
        try:
            self.conclude(calls)
        except RestoreInterrupted:
            self.conclude(calls)  # as is done every few seconds until it succeeds
        return outcome

    def conclude(self, calls: Calls = restore.OS) -> None:
        restore.conclude(self.journal, str(self.root), self.shelf, calls=calls)

    def go(self, old: Tree, new: Tree, calls: Calls = restore.OS) -> Outcome:
        return self.apply(self.plan(old, new), calls)

    def recover(self, calls: Calls = restore.OS) -> Outcome | None:
        return restore.recover(self.journal, str(self.root), self.shelf, calls=calls)

    def on_disk(self) -> dict[bytes, bytes]:
        """Everything in the workspace, folders too, with what it holds and whether it is executable."""
        return everything(self.root)

    def assert_tidy(self) -> None:
        self.assert_store_tidy()
        assert not [name for name in self.on_disk() if b".backtrail" in name]

    def assert_store_tidy(self) -> None:
        """There is nothing but, perhaps, the announcement of the next restore."""
        files = os.listdir(self.folder / "store")
        assert files == ([] if Journal(self.journal).announced() is None else ["restore.journal"])


def put(root: Path, path: bytes, content: bytes) -> None:
    """Create one file, executable or symlink and the folders above it."""
    full = os.path.join(os.fsencode(root), path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    if isinstance(content, Link):
        os.symlink(bytes(content), full)
        return
    with open(full, "wb") as file:
        file.write(content)
    os.chmod(full, 0o755 if isinstance(content, Program) else 0o644)


def everything(root: Path) -> dict[bytes, bytes]:
    """All that is below a folder."""
    found: dict[bytes, bytes] = {}
    top = os.fsencode(root)
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            full = os.path.join(folder, name)
            found[os.path.relpath(full, top)] = _described(full)
    return found


def expected(tree: Tree) -> dict[bytes, bytes]:
    """What `everything` says about a folder that holds exactly this tree."""
    marks = {Link: b"link ", Program: b"program "}
    found = {path: marks.get(type(content), b"file ") + content for path, content in tree.items()}
    for path in tree:
        while path := os.path.dirname(path):
            found[path] = b"folder"
    return found


def identities(root: Path) -> dict[bytes, tuple[int, int, int]]:
    """Inode, mtime and mode of every file, by which a rewritten file is told from one left alone."""
    found = {}
    for path, what in everything(root).items():
        if what != b"folder":
            status = os.lstat(os.path.join(os.fsencode(root), path))
            found[path] = (status.st_ino, status.st_mtime_ns, status.st_mode)
    return found


CHANGING = [
    "open",
    "write",
    "fsync",
    "syncfs",
    "fchmod",
    "symlink",
    "mkdir",
    "let_folders_lie_apart",
    "rmdir",
    "unlink",
    "link",
    "rename",
    "renameat2",
    "save_journal",
    "append_journal",
    "remove_journal",
]
LOOKING = ["read", "stat", "fstat", "listdir", "readlink"]


def counting(before: Callable[[int, str, tuple[object, ...]], None], names: list[str] = CHANGING) -> Calls:
    """System calls that first report their number, their name and their arguments."""
    calls, count = Calls(), 0

    def counted(name: str, real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **options: object) -> object:
            nonlocal count
            count += 1
            before(count, name, arguments)
            return real(*arguments, **options)

        return call

    for name in names:
        # What a killed process wrote is there without syncing; only a power cut needs it.
        real = nothing if name in ("fsync", "syncfs") else getattr(calls, name)
        setattr(calls, name, counted(name, real))
    return calls


def nothing(descriptor: int) -> None:
    """Instead of syncing."""


def without_renameat2() -> Calls:
    """An operating system that has neither exchange nor no-replace."""

    def missing(*arguments: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    calls = Calls()
    calls.renameat2 = missing  # type: ignore[method-assign]
    return calls


def _entry(tree: Tree, path: bytes) -> Entry | None:
    return entry(tree[path]) if path in tree else None


def _described(full: bytes) -> bytes:
    status = os.lstat(full)
    if stat.S_ISLNK(status.st_mode):
        return b"link " + os.readlink(full)
    if stat.S_ISDIR(status.st_mode):
        return b"folder"
    if not stat.S_ISREG(status.st_mode):
        return b"special"
    with open(full, "rb") as file:
        return (b"program " if status.st_mode & 0o100 else b"file ") + file.read()


def test_the_tests_name_content_the_way_git_does() -> None:
    """A wrong id here would make every comparison in the other tests meaningless."""
    named = subprocess.run(["git", "hash-object", "--stdin"], input=b"abc", capture_output=True, check=True)
    assert blob_id(b"abc").hex().encode() == named.stdout.strip()
