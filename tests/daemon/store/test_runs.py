"""Hunks that are written without libgit2 are those that it writes, which `test_patch` compares with git's own."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backtraild.store import patch, runs
from backtraild.store.runs import only_hunk

FEW_LINES = [
    b"a",
    b"b",
    b" c",
    b"def f():",
    b"",
    b"}\r",
    b"\tx  ",
    b"_\xff ",
    b"$\v",
    b"e\0",
    b"9",
    b"x" * 90,
]


def texts(most: int) -> st.SearchStrategy[bytes]:
    """From so few lines that they often stand where they could as well stand elsewhere."""
    lines = st.lists(st.sampled_from(FEW_LINES), max_size=most)
    return st.builds(lambda body, end: b"\n".join(body) + end, lines, st.sampled_from([b"", b"\n"]))


def told_by_libgit2(old: bytes, new: bytes, context: int) -> tuple[int, int, bytes]:
    found = patch.compare(old, new, context)
    assert found is not None
    _, insertions, deletions = found.line_stats
    return insertions, deletions, patch._hunks(found)


def same(old: bytes, new: bytes, context: int) -> bool:
    """Was it told, and just as libgit2 tells it?"""
    found = only_hunk(old, new, context)
    assert found is None or tuple(found) == told_by_libgit2(old, new, context)
    return found is not None


@settings(max_examples=600, deadline=None)
@given(
    head=texts(12), gone=texts(3), come=texts(3), tail=texts(8), context=st.sampled_from([3, 3, 3, 0, 1, 5])
)
@example(head=b"a\n", gone=b"", come=b"", tail=b"", context=3)
@example(head=b"", gone=b"", come=b"a\n", tail=b"a\n", context=3)
@example(head=b"a\n", gone=b"b\n", come=b"b", tail=b"", context=3)
def test_one_run_of_lines_is_told_byte_for_byte_as_libgit2_tells_it(
    head: bytes, gone: bytes, come: bytes, tail: bytes, context: int
) -> None:
    """A patch must not look different, or apply differently, because it was found in a quicker way."""
    same(head + gone + tail, head + come + tail, context)


@settings(max_examples=300, deadline=None)
@given(old=texts(8), new=texts(8), context=st.integers(0, 4))
def test_whatever_two_texts_are_it_is_told_like_that_or_not_at_all(
    old: bytes, new: bytes, context: int
) -> None:
    """Several hunks in one, or lines that moved, are not what a single run can tell."""
    same(old, new, context)


@pytest.mark.parametrize("end", [b"\n", b""])
def test_the_usual_edits_need_no_libgit2(end: bytes) -> None:
    """A log that grows, a line changed, one deleted, a file that came or went: most of what is ever compared."""
    log = b"".join(b"def entry_%d():\n    return %d\n\n" % (i, i) for i in range(200))
    edits = {
        "appended": (log, log + b"more\nand more" + end),
        "cut off": (log + b"more" + end, log),
        "put before": (log, b"first\n" + log),
        "changed": (log + b"x" + end, log.replace(b"return 77\n", b"return -77\n    # why\n") + b"x" + end),
        "deleted": (log, log.replace(b"    return 100\n", b"")),
        "come": (b"", b"one\ntwo" + end),
        "gone": (b"one\ntwo" + end, b""),
    }
    assert {name: same(old, new, 3) for name, (old, new) in edits.items()} == dict.fromkeys(edits, True)


def test_where_a_run_could_stand_elsewhere_it_is_left_to_libgit2() -> None:
    """Which of two equal functions is the new one, git decides by their indentation."""
    function = b"def f():\n    pass\n\n"
    assert only_hunk(function * 2, function * 3, 3) is None
    assert only_hunk(b"a\nb\nc\n", b"a\nc\nb\n", 3) is None


def test_a_hunk_far_below_the_line_that_names_it_is_left_to_libgit2() -> None:
    """Data of a million lines, of which none begins like a definition, must not be searched by Python."""
    data = b"".join(b" %d\n" % i for i in range(runs.FURTHEST + 3))
    assert not same(b"name\n" + data, b"name\n" + data + b"end\n", 3)
    assert same(data[data.index(b"\n", 20) + 1 :], data[data.index(b"\n", 20) + 1 :] + b"end\n", 3)
