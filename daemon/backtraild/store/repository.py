"""The bare repository of one workspace: where checkpoints are written, found and let go."""

import contextlib
import os
from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec.structs import replace

from backtrail.errors import StoreDamaged, StoreFailed, UnknownCheckpoint
from backtraild import durable
from backtraild.model import Changes, Checkpoint, ObjectId
from backtraild.spare import Spare
from backtraild.store import leftovers, mending, pledges, record, trees
from backtraild.store.failing import failing
from backtraild.store.kept import Kept
from backtraild.store.lost import newest_unheld
from backtraild.store.making import make_empty
from backtraild.store.named import NamedTrees
from backtraild.store.numbering import Numbering
from backtraild.store.objects import EMPTY_TREE, ObjectType
from backtraild.store.pack import PackWriter
from backtraild.store.packing import Packing, Room
from backtraild.store.pins import Pins
from backtraild.store.reader import Objects
from backtraild.store.refs import CHECKPOINTS, Refs, numbers_among
from backtraild.store.settling import Settling, redeem
from backtraild.store.turnover import Turnover

DECODED_BYTES = 1024 * 1024  # of commits; what is made of them takes about four times as much


class Store:
    """Checkpoints as commits under `refs/checkpoints/<number>`. Used by one thread, the only writer."""

    def __init__(self, git_dir: str) -> None:
        """Open a repository that `create` made."""
        self.git_dir = git_dir
        self._newest_tree: tuple[int, str] | None = None
        self._decoded: Kept[str, Checkpoint] = Kept(DECODED_BYTES)
        self._pack_folder = os.path.join(git_dir, "objects", "pack")
        if not os.path.isdir(self._pack_folder):
            raise StoreFailed(f"There is no checkpoint store at {git_dir}.")
        with failing("opened"):
            pledged = pledges.take_up(self._pack_folder)
            leftovers.remove(git_dir)
            self.mended = mending.mend(git_dir, mending.READ_AT_OPENING)  # what had to be
            self.objects = Objects(git_dir)
            self._spare = Spare(os.path.join(git_dir, "spare"))
            self._packing = Packing(git_dir, self._pack_folder, self.objects)
            self._refs = Refs(git_dir, self._packing.use)
            self._spare.spent_on(lambda: redeem(self._refs, pledged))
            self.named = NamedTrees(git_dir, self.objects, self._refs, self._packing)
            turnover = Turnover(git_dir, self._pack_folder, self._packing, self.objects, self._refs)
            self._settling = Settling(self._packing, self._refs, self.objects, turnover.sweep_soon)
            self.numbers = sorted(numbers_among(self._refs.names(CHECKPOINTS)))
            self._pins = Pins(self._refs)
            self._numbering = Numbering(self._refs, self._packing, self.objects, self.newest or 0)
        self._begin_upkeep, self.end_upkeep = turnover.begin, turnover.end
        self.abandon_upkeep, self.trash = turnover.abandon, turnover.trash
        self.sweep, self.sweep_soon = turnover.sweep, turnover.sweep_soon
        self.settle, self.sweep_when_settled = self._settling.settle, self._settling.sweep_when_settled
        self._keep_spare()
        self.sweep_soon()  # what the last daemon did not come to

    @staticmethod
    def create(git_dir: str) -> "Store":
        """Make an empty repository and open it. Harmless if it exists."""
        with failing("created"):
            make_empty(git_dir)
        return Store(git_dir)

    @property
    def newest(self) -> int | None:
        """The newest checkpoint's number."""
        return self.numbers[-1] if self.numbers else None

    @property
    def pinned(self) -> frozenset[int]:
        """The checkpoints that are protected from retention."""
        return self._pins.numbers

    @property
    def pack_bytes(self) -> int:
        """The size of packs and indexes on disk, with what has been written of those that are not finished."""
        with failing("measured"):
            return self._packing.bytes

    @property
    def packs(self) -> int:
        """How many packs there are, as far as anybody has told this process of them."""
        return self.objects.packs

    @property
    def room(self) -> Room | None:
        """Asked before bytes of new packs are written, how many more than `pack_bytes`; raises if they may not be."""
        return self._packing.room

    @room.setter
    def room(self, room: Room | None) -> None:
        self._packing.room = room

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
        """A checkpoint by number, whose commit is on the disk as it was written: what is listed can be restored."""
        commit_id = self._commit_id(number)
        content = self.objects.read(bytes.fromhex(commit_id), ObjectType.COMMIT)
        return self._of_number(number, self._decoded.get(commit_id) or self._decode(commit_id, content))

    def recall(self, number: int) -> Checkpoint:
        """The same from memory, if it was read before: for questions about content that is remembered, too."""
        checkpoint = self._decoded.get(self._commit_id(number))
        return self.get(number) if checkpoint is None else self._of_number(number, checkpoint)

    def new_pack(self) -> PackWriter:
        """Where the objects of the next checkpoint go."""
        # An empty store knows nothing: a first snapshot need not ask for each of its files.
        return self._packing.begin(afresh=not self.numbers)

    def healing_pack(self) -> PackWriter:
        """Where everything goes that the store needs and can't read any more."""
        return self._packing.begin_healing()

    def mend(self) -> list[mending.Mended]:
        """Read all packs, and mend those that are broken, and their indexes; what was done."""
        self.settle()
        self.abandon_upkeep()
        with failing("mended"):
            done = mending.mend(self.git_dir)
            self.objects.refresh()
        self._packing.measure_again()
        return done

    def finish(self, pack: PackWriter) -> None:
        """Make durable what a pack holds, with nothing new that leads to it."""
        with failing("written"):
            self._packing.finish(pack)

    def begin_upkeep(self) -> tuple[str, ...]:
        """The packs as they are now, between two saves; from here on, what saves use again is noted."""
        self.settle()
        return self._begin_upkeep()

    def close(self) -> None:
        """Let go of the packs, and leave nothing behind that was made ahead."""
        self._packing.discard_blanks()
        self._refs.discard_blanks()
        self.objects.close()

    def commit_of(self, number: int) -> str | None:
        """The commit that a checkpoint's ref holds; None where it is missing or damaged."""
        with failing("read"):
            return self._refs.read(f"{CHECKPOINTS}/{number}")

    def reinstate(self, number: int, commit_id: str) -> bool:
        """Let a checkpoint's ref hold its commit again; False if there is no such commit of this number."""
        try:
            content = self.objects.read(bytes.fromhex(commit_id), ObjectType.COMMIT)
            if record.decode(commit_id, content, pinned=False).number != number:
                return False
        except (StoreDamaged, ValueError):
            return False
        with failing("mended"):
            self._refs.write(f"{CHECKPOINTS}/{number}", commit_id)
        if not self.has(number):
            insort(self.numbers, number)
        self._numbering.taken(number)
        return True

    def mend_pins(self) -> list[int]:
        """Let pins hold their checkpoints' commits again; those that did not."""
        with failing("mended"):
            self._refs.drop_garbled()  # git reads no ref at all because of them
            return self._pins.mend(self.numbers, self.commit_of)

    def lost_commits(self, numbers: Collection[int]) -> dict[int, str]:
        """The newest commit for each of these checkpoints that no reference holds. Looks at every object."""
        held = {self.commit_of(number) for number in self.numbers}
        return newest_unheld(self.objects.commits(), held, numbers)

    def write_tree(self, pack: PackWriter, base: str | None, changes: Changes) -> ObjectId:
        """Put the changed folders into the pack; the id of the whole tree."""

        def write(content: bytes, changed: Iterable[ObjectId]) -> ObjectId:
            # No tree in the store holds what the store does not have, so one with something new in it is new as well.
            is_new = not pack.ids.isdisjoint(changed)
            oid = pack.add(ObjectType.TREE, content, is_new=is_new)
            self.objects.keep_tree(oid, content)
            return oid

        base_tree = EMPTY_TREE if base is None else bytes.fromhex(base)
        new = (change.new.oid for change in changes.values() if change.new is not None)
        self._packing.want(pack, (base_tree, *new))
        if not changes and base_tree != EMPTY_TREE:
            return base_tree
        with failing("written"):
            objects = self.objects
            tree = trees.rebuild(base_tree, changes, objects.read_tree, write, objects.tree_content)
            if tree == EMPTY_TREE:
                pack.add(ObjectType.TREE, b"")
        return tree

    def reuse_tree(self, pack: PackWriter, tree: str) -> ObjectId:
        """Have the next checkpoint hold a tree that an earlier one holds; its id."""
        oid = bytes.fromhex(tree)
        self._packing.want(pack, (oid,))
        return oid

    def commit(self, pack: PackWriter, tree: ObjectId, draft: record.Draft) -> Checkpoint:
        """Make a checkpoint; when this returns, it survives a power cut."""
        number = self._numbering.next()
        content = record.encode(number, tree, draft)
        with failing("written"):
            if self._packing.has_many_pledges:
                self._settling.make_durable()
            commit_id = pack.add(ObjectType.COMMIT, content, is_new=True).hex()
            ref = self._refs.prepare(f"{CHECKPOINTS}/{number}", commit_id)
            try:
                # A pack that is pledged survives a power cut, and what that takes of the rest is made again from it.
                is_pledged = self._packing.pledge(pack)
                self._publish(number, commit_id, ref, durably=not is_pledged)
            except BaseException:
                ref.abandon()
                self._packing.withdraw(pack)
                raise
        self._numbering.taken(number)
        self._newest_tree = number, tree.hex()
        self.numbers.append(number)
        return self._decode(commit_id, content)

    def delete(self, number: int) -> None:
        """Let go of a checkpoint, damaged or not. Its number is never given out again."""
        self.delete_many([number])

    def delete_many(self, numbers: Sequence[int]) -> None:
        """Let go of checkpoints, at little more than the cost of one. A crash may leave some of them."""
        for number in numbers:
            self._require(number)
        going = set(numbers)
        with failing("changed"):
            self._settling.make_durable(for_good=True)  # no power cut may bring them back
            try:
                self._spare.spent_on(lambda: self._let_go(going))
            except BaseException:  # it may have failed half-way
                going -= numbers_among(self._refs.names(CHECKPOINTS))
                raise
            finally:
                self.numbers = [number for number in self.numbers if number not in going]
        self._keep_spare()

    def pin(self, number: int) -> None:
        """Protect a checkpoint from retention."""
        commit_id = self._commit_id(number)
        with failing("changed"):
            self._pins.add(number, commit_id)

    def unpin(self, number: int) -> None:
        """Take the protection back; harmless if there was none."""
        self._require(number)
        with failing("changed"):
            self._pins.remove(number)

    def _decode(self, commit_id: str, content: bytes) -> Checkpoint:
        checkpoint = record.decode(commit_id, content, pinned=False)
        self._decoded.keep(commit_id, checkpoint, len(content))
        return checkpoint

    def _of_number(self, number: int, checkpoint: Checkpoint) -> Checkpoint:
        if checkpoint.number != number:
            raise _damaged_reference(number)
        return replace(checkpoint, pinned=True) if self._pins.hold(number) else checkpoint

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

    def _publish(self, number: int, commit_id: str, ref: durable.Replacement, *, durably: bool) -> None:
        """Point the checkpoint's ref at its commit, or leave no ref at all."""
        name = f"{CHECKPOINTS}/{number}"
        try:
            if durably:
                ref.place()
            else:
                self._refs.show(name, ref, commit_id)
            if self._refs.read(name) != commit_id:
                raise StoreFailed(f"Checkpoint {number} was written but could not be read back.")
        except BaseException:
            # The ref may have its name and not be durable: nobody is told of it, so it must not appear later.
            with contextlib.suppress(OSError):
                self._refs.delete(name)
            raise

    @contextlib.contextmanager
    def in_spare_room(self) -> Iterator[None]:
        """In this block, little is written that must be: into the room that was kept back for it."""
        self._spare.release()
        try:
            yield
        finally:
            self._keep_spare()

    def _let_go(self, going: set[int]) -> None:
        self._numbering.outlive(going)
        # Pins go first: without its checkpoint, one would keep what it holds for ever.
        self._pins.remove_many(going)
        self._refs.delete_many([f"{CHECKPOINTS}/{number}" for number in sorted(going)])

    def _keep_spare(self) -> None:
        """Deleting writes, too: a small pack, and what is left of the packed refs."""
        self._spare.keep(self._refs.packed_size)


def _damaged_reference(number: int) -> StoreDamaged:
    return StoreDamaged(f"The reference of checkpoint {number} is damaged.", "Run `backtrail verify`.")
