"""Deltas as upkeep makes them: they make exactly what they were made from, and are small where little differs."""

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backtraild.store.delta import apply_delta
from backtraild.upkeep.differing import Material, make_delta

LINES = [b"def function_%d(argument):\n    return argument * %d\n" % (n, n * n) for n in range(400)]


def delta_of(base: bytes, target: bytes, separator: bytes = b"\n") -> bytes | None:
    made = make_delta(Material(base, separator), Material(target, separator))
    if made is not None:
        assert apply_delta(base, made) == target
    return made


pieces = st.lists(
    st.sampled_from(
        [b"a line that is long enough\n", b"another line, as long\n", b"\n", b"x" * 2000, b"short\n", b"\0"]
    )
    | st.binary(max_size=40),
    max_size=12,
).map(b"".join)


@given(pieces, pieces, st.sampled_from([b"\n", b"\0", b""]))
@example(b"", b"", b"\n")
@example(b"", b"new" * 10, b"\n")
@example(b"gone", b"", b"\n")
@example(b"aXa", b"aa", b"\n")
@example(b"aa", b"aXaXa", b"\n")
@example(b"x" * 0xFFFF, b"x" * 0x20001, b"\n")
def test_a_delta_makes_what_it_was_made_from(base: bytes, target: bytes, separator: bytes) -> None:
    """A delta that makes something else would be the end of a checkpoint."""
    delta_of(base, target, separator)


@pytest.mark.parametrize("place", [0, 200, 399])
def test_one_edit_is_told_in_a_few_bytes(place: int) -> None:
    """Nearly all versions of a file differ from the one before in one place."""
    edited = [*LINES[:place], b"changed\n", *LINES[place + 1 :]]
    made = delta_of(b"".join(LINES), b"".join(edited))
    assert made is not None
    assert len(made) < 60


def test_several_edits_are_told_in_a_few_bytes_each() -> None:
    """What lies between them is found by its lines, also where it has moved."""
    edited = [*LINES[300:], *LINES[:100], b"changed\n", *LINES[101:250], b"added\n", *LINES[250:300]]
    made = delta_of(b"".join(LINES), b"".join(edited))
    assert made is not None
    assert len(made) < 120


def test_entries_of_a_tree_are_found_between_two_that_changed() -> None:
    """A folder in which two files changed: all between them is the same."""
    source = random.Random(1)
    entries = [b"100644 name%d\0" % n + source.randbytes(20).replace(b"\0", b"1") for n in range(300)]
    changed = list(entries)
    for at in (3, 290):
        changed[at] = b"100644 name%d\0" % at + b"2" * 20
    made = delta_of(b"".join(entries), b"".join(changed), b"\0")
    assert made is not None
    assert len(made) < 100


def test_a_commit_is_told_with_what_its_line_of_facts_has_in_common() -> None:
    """It has no lines to speak of, and names the tree of the one before in another place."""
    trees = [b"%040x" % (n * 0x123456789ABCDEF) for n in range(3)]
    commits = [
        b'tree %s\nauthor Backtrail <backtrail@localhost> 17948%d +0000\n\n{"format":1,"number":%d,"parent_tree":"%s"}'
        % (trees[n], n, n, trees[n - 1])
        for n in (1, 2)
    ]
    made = delta_of(*commits, b"")
    assert made is not None
    assert trees[1] not in made
    assert len(made) < len(commits[1]) * 0.6


def test_what_has_little_in_common_is_given_up() -> None:
    """A delta that tells nearly everything anew is no gain, and a chain of them is slow to read."""
    source = random.Random(2)
    assert delta_of(source.randbytes(5000), source.randbytes(5000)) is None


@pytest.mark.parametrize(
    "content",
    [b"\n" * 500_000, b"x" * 500_000, b"the very same line\n" * 25_000, b"ab\n" * 150_000],
)
def test_content_that_repeats_itself_takes_no_longer(content: bytes) -> None:
    """One such file must not keep upkeep busy for hours: each byte is compared a few times, as counted here."""
    counted = Counting(content)
    other = content[: len(content) // 3] + b"else" + content[len(content) // 3 :] + b"more"
    made = make_delta(Material(counted), Material(other))
    assert made is None or apply_delta(content, made) == other
    assert counted.sliced < 6 * len(content)


class Counting(bytes):
    """Bytes that count how many were taken out of them."""

    sliced = 0

    def __getitem__(self, key: slice) -> bytes:  # type: ignore[override]
        found = super().__getitem__(key)
        self.sliced += len(found)
        return found
