"""Where conversations are cut: by their content, within bounds."""

import hashlib
from itertools import pairwise

from backtraild.transcripts.chunks import LARGEST, NO_LINES_HASH, SMALLEST, chained, cut, joined
from support.conversations import messages


def test_chunks_stay_within_their_bounds_whatever_the_lines_are_like() -> None:
    """Neither thousands of crumbs nor a chunk that has to be read for one message of many."""
    for size in (30, 1_000, 20_000, 200_000):
        lines = messages(size, 2_500_000 // size, size)
        groups = list(cut(lines))
        assert [line for group in groups for line in group] == lines
        sizes = [len(joined(group)) for group in groups]
        assert max(sizes) <= LARGEST
        assert all(left >= SMALLEST or left + right > LARGEST for left, right in pairwise(sizes))
        assert sum(sizes) / len(sizes) > LARGEST / 4


def test_the_same_line_over_and_over_does_not_make_a_chunk_of_each() -> None:
    """A line at which content would cut may well be the commonest one."""
    for number in range(200):
        groups = list(cut([b'{"ping": %d}' % number * 20] * 1000))
        assert len(groups) <= 1 + 1000 * 300 // SMALLEST


def test_a_line_over_the_largest_size_is_alone() -> None:
    """Whoever reads its neighbours must not have to read it."""
    long = b"x" * (LARGEST + 1)
    assert list(cut([b"a", long, b"b", long, long, b"c"])) == [[b"a"], [long], [b"b"], [long], [long], [b"c"]]


def test_cuts_behind_a_change_fall_where_they_fell_before() -> None:
    """A conversation that was compacted at its beginning shares the rest with the one before."""
    lines = messages(1, 20_000)
    before = {joined(group) for group in cut(lines)}
    after = [joined(group) for group in cut([b'{"summary": 1}', *lines[500:]])]
    assert sum(chunk not in before for chunk in after) <= 5 < len(after)


def test_the_content_hash_is_what_the_documentation_says() -> None:
    """Others may want to check a conversation without Backtrail."""
    expected = hashlib.sha256(b"backtrail conversation 1\n").digest()
    for line in (b'{"a":1}', b"", b'"b"'):
        expected = hashlib.sha256(expected + line).digest()
    found = NO_LINES_HASH
    for line in (b'{"a":1}', b"", b'"b"'):
        found = chained(found, line)
    assert found == expected
