"""Comparisons are made once, and are the same as those that are made afresh."""

import random

from backtraild.model import FILE_MODE, Entry
from backtraild.store import comparisons
from backtraild.store.comparisons import Comparisons
from backtraild.store.objects import ObjectType, object_id
from backtraild.store.patch import MAX_COMPARED_BYTES, Comparison, compare, comparing


class Contents:
    """Contents by their ids, which counts how often they are asked for."""

    def __init__(self) -> None:
        self._contents: dict[bytes, bytes] = {}
        self.asked = 0

    def add(self, content: bytes) -> Entry:
        oid = object_id(ObjectType.BLOB, content)
        self._contents[oid] = content
        return Entry(FILE_MODE, oid)

    def size(self, oid: bytes) -> int:
        self.asked += 1
        return len(self._contents[oid])

    def read(self, oid: bytes) -> bytes:
        self.asked += 1
        return self._contents[oid]

    def read_up_to(self, most: int, oid: bytes) -> bytes | None:
        self.asked += 1
        content = self._contents[oid]
        return content if len(content) <= most else None

    def lines(self, oid: bytes) -> int | None:
        raise AssertionError(f"a patch counts the lines of {oid.hex()} itself")


def test_two_contents_are_read_and_compared_once() -> None:
    """Whoever asks again after each edit how the folder differs from this morning waits for one file, not for all."""
    contents = Contents()
    old, new = contents.add(b"one\ntwo\n"), contents.add(b"one\nthree\nfour\n")
    remembered = Comparisons()
    first = remembered.of(contents)(old, new)
    asked = contents.asked

    assert remembered.of(contents)(old, new) == first == comparing(contents)(old, new)
    assert first[:3] == (15, 2, 1)
    contents.asked = 0
    remembered.of(contents)(old, new)
    assert (asked, contents.asked) == (2, 0)


def test_each_side_of_a_change_is_told_by_what_the_other_one_is() -> None:
    """A file that came, one that went, and one that is no text have their own answers, also from memory."""
    contents = Contents()
    text, binary = contents.add(b"a\nb\n"), contents.add(b"\0" * 5)
    large = contents.add(b"x" * (MAX_COMPARED_BYTES + 1))
    compared = Comparisons().of(contents)
    for _ in range(2):
        assert compared(None, text)[:3] == (4, 2, 0)
        assert compared(text, None)[:3] == (0, 0, 2)
        assert compared(text, binary) == Comparison(5, is_binary=True)
        assert compared(text, large) == Comparison(MAX_COMPARED_BYTES + 1)


def test_only_so_much_is_remembered(monkeypatch) -> None:
    """A thousand different questions must not make the daemon grow."""
    monkeypatch.setattr(comparisons, "KEPT_BYTES", 2000)
    contents = Contents()
    entries = [contents.add(b"%d\n" % number) for number in range(20)]
    remembered = Comparisons().of(contents)
    for entry in entries:
        remembered(None, entry)
    contents.asked = 0
    remembered(None, entries[-1])
    assert contents.asked == 0
    remembered(None, entries[0])
    assert contents.asked > 0


def test_lines_around_a_hunk_change_no_count() -> None:
    """What `diff` counts, with context, is what a checkpoint has counted without it."""
    chooser = random.Random(7)
    for _ in range(300):
        old, new = (
            b"".join(
                chooser.choice([b"a\n", b"b\n", b"\n", b" c\n", b"}\n"]) for _ in range(chooser.randrange(40))
            )
            for _ in range(2)
        )
        bare, told = compare(old, new, 0), compare(old, new, 3)
        assert bare is not None
        assert told is not None
        assert bare.line_stats[1:] == told.line_stats[1:]
