"""All generations of one conversation, as the tree that its ref leads to."""

import contextlib
import re
from collections.abc import Iterator

from backtrail.errors import StoreDamaged, UnknownConversation
from backtraild.model import TREE_MODE, Entry, ObjectId
from backtraild.store import PackWriter, Store, StoreReader, failing
from backtraild.transcripts.agreement import Agreement
from backtraild.transcripts.chunks import cut
from backtraild.transcripts.intake import Intake
from backtraild.transcripts.layout import Assembly, Layout, checked
from backtraild.transcripts.model import Generation

TRANSCRIPTS = "refs/transcripts"

_NUMBER = rb"[0-9]{6,9}"


class Book:
    """One conversation; opened for each call, so that what is on the disk is what counts."""

    def __init__(self, store: Store | StoreReader, key: str) -> None:
        self._store = store
        self._key = key
        with failing("read"):
            root = store.named.tree(ref(key))
        self._trees = {} if root is None else _numbered(store.objects.read_tree(root))

    @property
    def numbers(self) -> list[int]:
        """The generations there are, the oldest first."""
        return sorted(self._trees)

    def newest(self) -> Layout | None:
        """The generation that was recorded last."""
        return self.layout(max(self._trees)) if self._trees else None

    def layout(self, number: int) -> Layout:
        """A generation by its number."""
        tree = self._trees.get(number)
        if tree is None:
            raise UnknownConversation(f"There is no generation {number} of conversation {self._key}.")
        return Layout(self._store, number, tree)

    def read(
        self, generation: int, start: int = 0, stop: int | None = None, content_hash: str | None = None
    ) -> Iterator[bytes]:
        """Messages of a generation as lines; from the first one on, they are checked by their hash at the end."""
        layout = self.layout(generation)
        facts = layout.facts
        end = facts.message_count if stop is None else stop
        what = f"Generation {generation} of conversation {self._key}"
        if end > facts.message_count:
            raise StoreDamaged(f"{what} holds {facts.message_count} messages, and not {end}.")
        lines = layout.lines(start, end)
        if content_hash is None and end == facts.message_count:
            content_hash = facts.content_hash
        return lines if start or content_hash is None else checked(lines, content_hash, what)

    def write(self, newest: Layout | None, agreement: Agreement, intake: Intake) -> Generation:
        """Add to the newest generation, or begin the next one with what agrees. Durable when this returns."""
        number = 1
        if newest is not None:
            if not agreement.is_new:
                return newest.facts
            extends = agreement.sound and agreement.count == newest.facts.message_count
            number = newest.facts.number + (not extends)
        with self._packing(afresh=not agreement.sound) as pack:
            kept = newest.before(agreement.kept) if newest is not None else ([], [])
            assembly = Assembly(self._store, pack, *kept)
            _fill(assembly, agreement.kept, agreement.rest)
            generation = intake.generation(number)
            self._publish(pack, {**self._trees, number: assembly.finish(generation)})
        return generation

    def compact(self) -> list[int]:
        """Write again, in fewer chunks, the generations that small appends have cut up; which those were."""
        layouts = [self.layout(number) for number in self.numbers]
        fragmented = [layout for layout in layouts if layout.is_fragmented()]
        if not fragmented:
            return []
        trees = dict(self._trees)
        with self._packing() as pack:
            for layout in fragmented:
                assembly = Assembly(self._store, pack, [], [])
                _fill(assembly, 0, self.read(layout.facts.number))
                trees[layout.facts.number] = assembly.finish(layout.facts)
            self._publish(pack, trees)
        return [layout.facts.number for layout in fragmented]

    @contextlib.contextmanager
    def _packing(self, afresh: bool = False) -> Iterator[PackWriter]:
        pack = self._store.named.new_pack(afresh)
        try:
            with failing("written"):
                yield pack
        finally:
            pack.abandon()

    def _publish(self, pack: PackWriter, trees: dict[int, ObjectId]) -> None:
        entries = {b"%06d" % number: Entry(TREE_MODE, tree) for number, tree in trees.items()}
        root = self._store.named.add_tree(pack, entries)
        self._store.named.publish(ref(self._key), pack, root, f"Conversation {self._key}")


def ref(key: str) -> str:
    """Where a conversation hangs."""
    return f"{TRANSCRIPTS}/{key}"


def _fill(assembly: Assembly, first: int, lines: Iterator[bytes]) -> None:
    for group in cut(lines):
        assembly.add(first, group)
        first += len(group)


def _numbered(entries: dict[bytes, Entry]) -> dict[int, ObjectId]:
    if not all(re.fullmatch(_NUMBER, name) for name in entries):
        raise StoreDamaged("A conversation in the store has something else among its generations.")
    return {int(name): entry.oid for name, entry in entries.items()}
