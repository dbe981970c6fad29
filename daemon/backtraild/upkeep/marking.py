"""Which objects are still needed: all that refs lead to. Each is looked at once, and nothing here recurses."""

import re
from collections.abc import Callable

from backtrail.errors import StoreDamaged
from backtraild.model import TREE_MODE, ObjectId
from backtraild.store.objects import EMPTY_TREE, ObjectType, decode_tree
from backtraild.store.reader import Objects
from backtraild.upkeep.catalogue import NOWHERE, Catalogue
from backtraild.upkeep.kinship import Kinship, folder_number

_HEX_ID = re.compile(rb"[0-9a-f]{40}")


class Marker:
    """Marks objects in a catalogue. Commits and trees are read and checked; files are only marked."""

    def __init__(
        self,
        objects: Objects,
        catalogue: Catalogue,
        weigh: Callable[[int], int] | None = None,
        kinship: Kinship | None = None,
    ) -> None:
        """`weigh` tells how many bytes an object, by its position, adds. `kinship` is told what each object is."""
        self._objects = objects
        self._catalogue = catalogue
        self._weigh = weigh
        self._kinship = kinship
        self._elsewhere: set[ObjectId] = set()  # seen, and in none of the catalogue's packs
        self._folder = 0  # the number of what the ref at hand leads to
        self.bytes = 0  # what the marked ones weigh
        self.flaw: str | None = None  # the first reason why what is marked is not all that is needed

    def ref(self, name: str, hex_id: str | None) -> None:
        """Mark all that a ref leads to. Those whose names differ in a number at the end hold versions of the same."""
        self._folder = folder_number(name.rstrip("0123456789").encode(errors="surrogateescape"), 0)
        if hex_id is None:
            self._incomplete(f"The reference {name} is damaged.")
            return
        try:
            self._anything(bytes.fromhex(hex_id))
        except StoreDamaged as error:
            self._incomplete(f"{error.message} The reference {name} leads to it.")

    def _anything(self, oid: ObjectId) -> None:
        """Nearly all refs lead to a commit; the highest number is a file, and what git commands make may be a tree."""
        try:
            self._commits(oid)
        except StoreDamaged:
            for kind in (ObjectType.TREE, ObjectType.BLOB):
                if self._is(oid, kind):
                    break
            else:
                raise
            self._note(oid, kind, b"", self._folder)
            if kind == ObjectType.TREE:
                self._trees(oid)

    def _is(self, oid: ObjectId, kind: ObjectType) -> bool:
        try:
            self._objects.read(oid, kind)
        except StoreDamaged:
            return False
        return True

    def _commits(self, oid: ObjectId) -> None:
        pending = [oid]
        while pending:
            oid = pending.pop()
            if not self._is_new(oid):
                continue
            self._note(oid, ObjectType.COMMIT, b"", self._folder)
            header = self._objects.read(oid, ObjectType.COMMIT).partition(b"\n\n")[0]
            for line in header.split(b"\n"):
                word, _, hex_id = line.partition(b" ")
                if word == b"tree" and self._is_new(tree := _id(hex_id)):
                    self._note(tree, ObjectType.TREE, b"", self._folder)
                    self._trees(tree)
                elif word == b"parent":
                    pending.append(_id(hex_id))

    def _trees(self, root: ObjectId) -> None:
        pending = [(root, self._folder)]
        while pending:
            oid, folder = pending.pop()
            if oid == EMPTY_TREE:  # known to everybody, and often stored nowhere
                continue
            try:
                entries = decode_tree(self._objects.read(oid, ObjectType.TREE))
            except StoreDamaged as error:  # the rest is marked all the same, for what is weighed
                self._incomplete(error.message)
                continue
            for name, (mode, inner) in entries.items():
                if not self._is_new(inner):
                    continue
                self._note(inner, ObjectType.TREE if mode == TREE_MODE else ObjectType.BLOB, name, folder)
                if mode == TREE_MODE:
                    pending.append((inner, folder_number(name, folder)))

    def _is_new(self, oid: ObjectId) -> bool:
        position = self._catalogue.position(oid)
        if position == NOWHERE:
            if oid in self._elsewhere:
                return False
            self._elsewhere.add(oid)
            return True
        marks = self._catalogue.marks
        if marks[position]:
            return False
        marks[position] = 1
        if self._weigh is not None:
            self.bytes += self._weigh(position)
        return True

    def _note(self, oid: ObjectId, kind: ObjectType, name: bytes, folder: int) -> None:
        if self._kinship is not None and (position := self._catalogue.position(oid)) != NOWHERE:
            self._kinship.note(position, kind, name, folder)

    def _incomplete(self, reason: str) -> None:
        self.flaw = self.flaw or reason


def _id(hex_id: bytes) -> ObjectId:
    if not _HEX_ID.fullmatch(hex_id):
        raise StoreDamaged("A commit in the store names something that is no object.")
    return bytes.fromhex(hex_id.decode())
