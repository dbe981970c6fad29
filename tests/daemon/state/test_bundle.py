"""Packed rows: every value comes back, and nothing comes out of bytes that were not written so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backtraild.layout import looks
from backtraild.model import EXECUTABLE_MODE, FILE_MODE, SYMLINK_MODE
from backtraild.state import Row
from backtraild.state.bundle import LARGEST, BundleDamaged, pack, split, unpack
from backtraild.state.connection import is_damage

KEY = b"/a/folder/"
ROW = (FILE_MODE, b"\x01" * 20, 5, 1_700_000_000_123_456_789, 1_700_000_000_123_456_790, 1234)
SIGNED, UNSIGNED = 2**63, 2**64

names = st.binary(min_size=1, max_size=12).filter(lambda name: b"\0" not in name)
small = st.tuples(
    st.sampled_from([FILE_MODE, EXECUTABLE_MODE, SYMLINK_MODE]),
    st.binary(min_size=20, max_size=20),
    st.integers(0, 2**32 - 1),
    st.integers(-SIGNED, SIGNED - 1),
    st.integers(-1, SIGNED - 1),
    st.integers(0, 2**32 - 1),
)
large = st.tuples(
    st.integers(0, 8**7 - 1),  # what a tree object can say
    st.binary(min_size=20, max_size=20),
    st.integers(0, SIGNED - 1),
    st.integers(-SIGNED, SIGNED - 1),
    st.integers(-1, SIGNED - 1),
    st.integers(0, UNSIGNED - 1),
)


@given(st.dictionaries(names, small | large, min_size=1, max_size=8))
def test_every_row_comes_back(rows: dict[bytes, Row]) -> None:
    """Files of any size, dated before 1970 or after 2262, on disks whose inodes have 64 bits."""
    assert list(unpack(KEY, pack(KEY, rows)).items()) == list(rows.items())


@given(st.dictionaries(names, small | large, min_size=1, max_size=8))
def test_scouts_read_of_each_row_how_its_file_looked(rows: dict[bytes, Row]) -> None:
    """They have no use for the rest, and no time for it."""
    found, seen = looks(KEY, pack(KEY, rows))
    assert dict(zip(found, seen, strict=True)) == {name: row[2:] for name, row in rows.items()}


def test_a_common_row_is_small() -> None:
    """100,000 of them are the largest part of a store that is not git's."""
    rows = {b"%08d" % number: ROW for number in range(10)}
    assert len(pack(KEY, rows)) / 10 < 46 + 8 + 2


@pytest.mark.parametrize("at", range(len(pack(KEY, {b"ab": ROW, b"b": ROW}))))
def test_a_flipped_bit_is_damage(at: int) -> None:
    """A row that is believed and wrong would tell a file as unchanged that is not."""
    bundle = bytearray(pack(KEY, {b"ab": ROW, b"b": ROW}))
    bundle[at] ^= 1 << at % 8
    with pytest.raises(BundleDamaged) as caught:
        unpack(KEY, bytes(bundle))
    assert is_damage(caught.value)


@pytest.mark.parametrize(
    ("key", "bundle"),
    [
        (KEY, b""),
        (KEY, pack(KEY, {b"a": ROW})[:-1]),
        (KEY, pack(KEY, {b"a": ROW}) + b"\0"),
        (b"/a/folded/", pack(KEY, {b"a": ROW})),
        (KEY, None),
        (KEY, 5),
        (KEY, "text"),
    ],
)
def test_what_is_no_bundle_of_this_folder_is_damage(key: bytes, bundle: bytes) -> None:
    """SQLite notices a page that is broken, and not one whose values changed places or types."""
    with pytest.raises(BundleDamaged):
        unpack(key, bundle)


@given(st.dictionaries(st.binary(min_size=1, max_size=255), st.just(ROW), max_size=200))
def test_many_rows_are_split_evenly_and_in_order(rows: dict[bytes, Row]) -> None:
    """A change among very many files of one folder then costs one part."""
    parts = list(split(rows))
    assert [item for part in parts for item in part.items()] == sorted(rows.items())
    assert all(parts)
    assert all(len(pack(KEY, part)) <= 2 * LARGEST for part in parts)
    counts = [len(part) for part in parts]
    assert max(counts, default=0) - min(counts, default=0) <= 1


@pytest.mark.parametrize("lengths", [[5000], [4000, 1, 9000], [2000] * 5])
def test_a_name_that_is_longer_than_a_part_has_one_of_its_own(lengths: list[int]) -> None:
    """A forged tree may have names that no file system has; they are refused elsewhere, and must not stop the table."""
    rows = {b"%d" % place + b"n" * length: ROW for place, length in enumerate(lengths)}
    parts = list(split(rows))
    assert all(parts)
    assert [item for part in parts for item in part.items()] == sorted(rows.items())
    assert [unpack(KEY, pack(KEY, part)) for part in parts] == parts
