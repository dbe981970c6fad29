"""Reading objects only to see whether they are still what was stored; each one once, however many trees share it.

What is wrong below a tree is a number whose bits stand for flaws: thousands of checkpoints that lead to the same
damage share it at the cost of one number each. Nothing here recurses.
"""

from collections.abc import Callable, Iterator

from msgspec import Struct

from backtrail.errors import StoreDamaged, StoreFailed
from backtraild.model import TREE_MODE, Entry, ObjectId, Path, join_path
from backtraild.store.objects import EMPTY_TREE, ObjectType, decode_tree
from backtraild.store.reader import Objects

LISTED_FLAWS = 200  # in a store that lost a whole pack, more are only counted
UNLISTED = 1 << LISTED_FLAWS
PROGRESS_STEP = 256  # objects

SOUND = 0


class Stopped(Exception):
    """Whoever wanted to know no longer does."""


class Flaw(Struct, frozen=True):
    """Something that can't be used. The path is where it was first met; None if it is no file or folder."""

    path: Path | None
    message: str


class _Known:
    """What came of reading objects of one type."""

    def __init__(self) -> None:
        self._sound: set[ObjectId] = set()
        self._damaged: dict[ObjectId, int] = {}

    def damage(self, oid: ObjectId) -> int | None:
        return SOUND if oid in self._sound else self._damaged.get(oid)

    def note(self, oid: ObjectId, damage: int) -> int:
        if damage == SOUND:
            self._sound.add(oid)
        else:
            self._damaged[oid] = damage
        return damage


class _Folder(Struct):
    """A tree whose entries are being looked at."""

    oid: ObjectId
    path: Path
    rest: Iterator[tuple[bytes, Entry]]
    damage: int


class Examiner:
    """Reads objects of one repository. Raises nothing but Stopped."""

    def __init__(self, objects: Objects, stop: Callable[[], bool], progress: Callable[[int], None]) -> None:
        self._objects = objects
        self._stop = stop
        self._progress = progress
        self._files, self._folders = _Known(), _Known()
        self.flaws: list[Flaw] = []
        self.unlisted = 0
        self.objects = self.bytes = 0

    def flaw(self, path: Path | None, message: str) -> int:
        """Take note of something that is wrong; the bit that stands for it."""
        if len(self.flaws) == LISTED_FLAWS:
            self.unlisted += 1
            return UNLISTED
        self.flaws.append(Flaw(path, message))
        return 1 << (len(self.flaws) - 1)

    def commit(self, oid: ObjectId) -> bytes:
        """The content of a commit; StoreDamaged if it is not what was stored."""
        return self._read(oid, ObjectType.COMMIT)

    def tree(self, root: ObjectId) -> int:
        """What is wrong with a tree and with all that is in it."""
        known = self._folders.damage(root)
        if known is not None:
            return known
        opened = [self._opened(root, b"")]
        while True:
            folder = opened[-1]
            inner = self._next_unknown(folder)
            if inner is not None:
                opened.append(inner)
                continue
            opened.pop()
            damage = self._folders.note(folder.oid, folder.damage)
            if not opened:
                return damage
            opened[-1].damage |= damage

    def _next_unknown(self, folder: _Folder) -> _Folder | None:
        """Go through a folder's entries, up to a folder in it that has not been looked at; None at the end."""
        for name, entry in folder.rest:
            kind = self._folders if entry.mode == TREE_MODE else self._files
            known = kind.damage(entry.oid)
            if known is None:
                path = join_path(folder.path, name)
                if entry.mode == TREE_MODE:
                    return self._opened(entry.oid, path)
                known = self._files.note(entry.oid, self._file(entry.oid, path))
            folder.damage |= known
        return None

    def _opened(self, oid: ObjectId, path: Path) -> _Folder:
        try:
            entries = {} if oid == EMPTY_TREE else decode_tree(self._read(oid, ObjectType.TREE))
        except (StoreDamaged, StoreFailed) as error:
            return _Folder(oid, path, iter(()), self.flaw(path, error.message))
        return _Folder(oid, path, iter(entries.items()), SOUND)

    def _file(self, oid: ObjectId, path: Path) -> int:
        self._count()
        try:
            for piece in self._objects.chunks(oid):
                self.bytes += len(piece)
                self._check_stop()
        except (StoreDamaged, StoreFailed) as error:
            return self.flaw(path, error.message)
        return SOUND

    def _read(self, oid: ObjectId, kind: ObjectType) -> bytes:
        self._count()
        self._check_stop()
        content = self._objects.read(oid, kind)
        self.bytes += len(content)
        return content

    def _count(self) -> None:
        self.objects += 1
        if self.objects % PROGRESS_STEP == 0:
            self._progress(self.objects)

    def _check_stop(self) -> None:
        if self._stop():
            raise Stopped
