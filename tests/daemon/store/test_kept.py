"""What is remembered, and what has to go for it."""

from backtraild.store.kept import Kept


def test_what_was_not_used_for_the_longest_time_goes_first() -> None:
    """The same few folders are read again and again; what is read once must not drive them out."""
    kept: Kept[str, bytes] = Kept(30)
    for key in "abc":
        kept.keep(key, key.encode(), 10)
    assert kept.get("a") == b"a"
    kept.keep("d", b"d", 10)

    assert {key for key in "abcd" if key in kept} == {"a", "c", "d"}
    assert kept.get("b") is None


def test_what_is_larger_than_all_the_room_drives_nothing_out() -> None:
    """One huge folder would otherwise cost all the others, and not even be there."""
    kept: Kept[str, bytes] = Kept(30)
    kept.keep("small", b"", 10)
    kept.keep("huge", b"", 31)

    assert "small" in kept
    assert "huge" not in kept


def test_keeping_the_same_twice_takes_its_room_once() -> None:
    """Room that is never given back would be used up one day."""
    kept: Kept[str, bytes] = Kept(30)
    for _ in range(10):
        kept.keep("a", b"", 20)
    kept.keep("b", b"", 10)
    assert "a" in kept

    kept.clear()
    kept.keep("c", b"", 30)
    assert "c" in kept
    assert "a" not in kept
