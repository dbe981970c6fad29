"""What scouts have found, put together."""

from backtraild.scouts.looking import Found
from backtraild.scouts.report import Report


def test_what_has_no_row_is_a_hint_unless_it_is_a_folder_that_was_visited() -> None:
    """By whomever: the folders in a folder may lie in stretches of several scouts."""
    one = Found([b"", b"a"], [1, 2], [], [], [b"a", b"b", b"new.txt", b"a/empty"], [(b"/", b"1")])
    other = Found([b"", b"b"], [1, 3], [b"b"], [b"b/changed", b"gone"], [b"a"], [(b"/b/", b"2")])
    report = Report([one, other])
    assert report.numbers == {b"": 1, b"a": 2, b"b": 3}
    assert report.hints == {b"new.txt", b"a/empty", b"b/changed", b"gone"}
    assert report.ruling == {b"b"}
    assert report.listings == {b"/": b"1", b"/b/": b"2"}


def test_a_folder_that_was_exchanged_between_two_visits_is_looked_at_with_all_in_it() -> None:
    """Folders in it were compared in the old one, perhaps, and the new one has no event that tells of it."""
    report = Report([Found([b"", b"a"], [1, 2], [], [], [], []), Found([b"", b"a"], [1, 7], [], [], [], [])])
    assert report.hints == {b"a"}
