"""The bare repository of one workspace: where checkpoints are written, found and let go."""

import contextlib
import os
from bisect import bisect_left

from backtrail.errors import StoreDamaged, StoreFailed, UnknownCheckpoint
from backtraild import durable
from backtraild.model import Changes, Checkpoint, ObjectId
from backtraild.store import record, trees
from backtraild.store.failing import failing
from backtraild.store.named import NamedTrees
from backtraild.store.objects import EMPTY_TREE, ObjectType
from backtraild.store.pack import TEMPORARY_PREFIX, PackWriter
from backtraild.store.reader import Objects
from backtraild.store.refs import Refs

CHECKPOINTS = "refs/checkpoints"
PINNED = "refs/pinned"
HIGHEST = "refs/backtrail/highest"  # a blob with the highest number ever given out, once that one is deleted

# Everything git would otherwise take from the user's configuration and that changes what is stored.
_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tbare = true
\tfilemode = true
\tautocrlf = false
\tfsync = all
\tlogallrefupdates = false
\thooksPath = /dev/null
[gc]
\tauto = 0
[pack]
\tindexVersion = 2
[commit]
\tgpgSign = false
"""


class Store:
    """Checkpoints as commits under `refs/checkpoints/<number>`. Used by one thread, the only writer."""

    def __init__(self, git_dir: str) -> None:
        """Open a repository that `create` made."""
        self.git_dir = git_dir
        self._newest_tree: tuple[int, str] | None = None
        self._pack_folder = os.path.join(git_dir, "objects", "pack")
        if not os.path.isdir(self._pack_folder):
            raise StoreFailed(f"There is no checkpoint store at {git_dir}.")
        with failing("opened"):
            self._remove_leftovers()
            self.objects = Objects(git_dir)
            self._refs = Refs(git_dir)
            self.named = NamedTrees(git_dir, self.objects, self._refs)
            self.numbers = sorted(map(int, filter(str.isdecimal, self._refs.names(CHECKPOINTS))))
            self._pinned = set(self._refs.names(PINNED))
            self._highest = max(self._deleted_highest(), self.numbers[-1] if self.numbers else 0)

    @staticmethod
    def create(git_dir: str) -> "Store":
        """Make an empty repository: bare, private, with a configuration of its own. Harmless if it exists."""
        with failing("created"):
            for folder in ("objects/pack", "objects/info", "refs/checkpoints", "refs/heads"):
                os.makedirs(os.path.join(git_dir, folder), 0o700, exist_ok=True)
            os.chmod(git_dir, 0o700)
            for folder in ("objects", "refs", os.pardir):
                durable.sync_folder(os.path.join(git_dir, folder))
            durable.replace_file(os.path.join(git_dir, "config"), _CONFIG.encode())
            # HEAD last: without it git does not take the folder for a repository.
            durable.replace_file(os.path.join(git_dir, "HEAD"), b"ref: refs/heads/none\n")
        return Store(git_dir)

    @property
    def newest(self) -> int | None:
        """The newest checkpoint's number."""
        return self.numbers[-1] if self.numbers else None

    @property
    def pinned(self) -> frozenset[int]:
        """The checkpoints that are protected from retention."""
        return frozenset(map(int, filter(str.isdecimal, self._pinned)))

    def newest_tree(self) -> str | None:
        """The tree of the newest checkpoint, from memory where this process made it.

        A damaged one is passed over: what has changed is then told against the one before it.
        """
        for number in reversed(self.numbers):
            with contextlib.suppress(StoreDamaged):
                if self._newest_tree is None or self._newest_tree[0] != number:
                    self._newest_tree = number, self.get(number).tree
                return self._newest_tree[1]
        return None

    def has(self, number: int) -> bool:
        """Is there a checkpoint of this number?"""
        at = bisect_left(self.numbers, number)
        return at < len(self.numbers) and self.numbers[at] == number

    def get(self, number: int) -> Checkpoint:
        """A checkpoint by number."""
        commit_id = self._commit_id(number)
        content = self.objects.read(bytes.fromhex(commit_id), ObjectType.COMMIT)
        checkpoint = record.decode(commit_id, content, str(number) in self._pinned)
        if checkpoint.number != number:
            raise _damaged_reference(number)
        return checkpoint

    def new_pack(self) -> PackWriter:
        """Where the objects of the next checkpoint go."""
        # An empty store knows nothing: a first snapshot need not ask for each of its files.
        return PackWriter(self._pack_folder, self.objects.has if self.numbers else _unknown)

    def write_tree(self, pack: PackWriter, base: str | None, changes: Changes) -> ObjectId:
        """Put the changed folders into the pack; the id of the whole tree."""

        def write(content: bytes) -> ObjectId:
            oid = pack.add(ObjectType.TREE, content)
            self.objects.keep_tree(oid, content)
            return oid

        base_tree = EMPTY_TREE if base is None else bytes.fromhex(base)
        if not changes and base_tree != EMPTY_TREE:
            return base_tree
        with failing("written"):
            tree = trees.rebuild(base_tree, changes, self.objects.read_tree, write)
            if tree == EMPTY_TREE:
                pack.add(ObjectType.TREE, b"")
        return tree

    def commit(self, pack: PackWriter, tree: ObjectId, draft: record.Draft) -> Checkpoint:
        """Make a checkpoint; when this returns, it survives a power cut."""
        number = self._highest + 1
        content = record.encode(number, tree, draft)
        with failing("written"):
            commit_id = pack.add(ObjectType.COMMIT, content).hex()
            self._finish(pack)
            # The pack is durable but no ref points at it: a crash here costs disk space, never data.
            self._publish(number, commit_id)
        self._highest = number
        self._newest_tree = number, tree.hex()
        self.numbers.append(number)
        return record.decode(commit_id, content, pinned=False)

    def delete(self, number: int) -> None:
        """Let go of a checkpoint, damaged or not. Its number is never given out again."""
        self._require(number)
        with failing("changed"):
            if number == self._highest:
                self._remember_highest(number)
            self._refs.delete(f"{PINNED}/{number}")
            self._refs.delete(f"{CHECKPOINTS}/{number}")
        self._pinned.discard(str(number))
        self.numbers.remove(number)

    def pin(self, number: int) -> None:
        """Protect a checkpoint from retention."""
        commit_id = self._commit_id(number)
        with failing("changed"):
            self._refs.write(f"{PINNED}/{number}", commit_id)
        self._pinned.add(str(number))

    def unpin(self, number: int) -> None:
        """Take the protection back; harmless if there was none."""
        self._require(number)
        with failing("changed"):
            self._refs.delete(f"{PINNED}/{number}")
        self._pinned.discard(str(number))

    def _require(self, number: int) -> None:
        if not self.has(number):
            raise UnknownCheckpoint(
                f"There is no checkpoint {number}.", "`backtrail list` shows those there are."
            )

    def _commit_id(self, number: int) -> str:
        self._require(number)
        with failing("read"):
            commit_id = self._refs.read(f"{CHECKPOINTS}/{number}")
        if commit_id is None:
            raise _damaged_reference(number)
        return commit_id

    def _publish(self, number: int, commit_id: str) -> None:
        """Point the checkpoint's ref at its commit, or leave no ref at all."""
        name = f"{CHECKPOINTS}/{number}"
        try:
            self._refs.write(name, commit_id)
            if self._refs.read(name) != commit_id:
                raise StoreFailed(f"Checkpoint {number} was written but could not be read back.")
        except BaseException:
            # The ref may have its name and not be durable: nobody is told of it, so it must not appear later.
            with contextlib.suppress(OSError):
                self._refs.delete(name)
            raise

    def _finish(self, pack: PackWriter) -> None:
        stem = pack.finish()
        if stem is not None:
            self.objects.added(stem)

    def _remember_highest(self, number: int) -> None:
        pack = self.new_pack()
        try:
            oid = pack.add_blob(b"%d\n" % number)
            self._finish(pack)
        finally:
            pack.abandon()
        self._refs.write(HIGHEST, oid.hex())

    def _deleted_highest(self) -> int:
        oid = self._refs.read(HIGHEST)
        try:
            return 0 if oid is None else int(self.objects.read_blob(bytes.fromhex(oid)))
        except (StoreDamaged, ValueError):  # a lost count is no reason to keep all checkpoints locked in
            return 0

    def _remove_leftovers(self) -> None:
        """Files that a crash left half-written. The caller holds the daemon's lock, so nobody writes them."""
        for folder, _, names in os.walk(self.git_dir):
            for name in names:
                if name.startswith(TEMPORARY_PREFIX) or name.endswith((".tmp", ".lock")):
                    os.unlink(os.path.join(folder, name))


def _damaged_reference(number: int) -> StoreDamaged:
    return StoreDamaged(f"The reference of checkpoint {number} is damaged.", "Run `backtrail verify`.")


def _unknown(_: ObjectId) -> bool:
    return False
