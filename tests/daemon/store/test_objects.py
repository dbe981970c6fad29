"""Objects as bytes: the same ids as git, in the same order, for every name that a file can have."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backtrail.errors import StoreDamaged
from backtraild.model import EXECUTABLE_MODE, FILE_MODE, SYMLINK_MODE, TREE_MODE, Entry
from backtraild.store.objects import (
    EMPTY_TREE,
    ObjectType,
    decode_differing,
    decode_tree,
    encode_tree,
    object_id,
)

Git = Callable[..., bytes]

# Where folders sort behind files whose names go on with a byte below `/`.
TRAPS = [b"a", b"a.b", b"a-b", b"a0", b"a b", b"ab", b"a\xff", b"\xff", b"A", b"-", b"a\nb", b"a\x01"]
MODES = [FILE_MODE, EXECUTABLE_MODE, SYMLINK_MODE, TREE_MODE]

names = st.sampled_from(TRAPS) | st.binary(min_size=1, max_size=20).filter(
    lambda name: not {0, ord("/")} & set(name)
)
entries = st.builds(Entry, st.sampled_from(MODES), st.binary(min_size=20, max_size=20))
folders = st.dictionaries(names, entries, max_size=12)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory, git: Git) -> Path:
    path = tmp_path_factory.mktemp("objects") / "bare.git"
    git("init", "-q", "--bare", path)
    return path


@settings(max_examples=60)
@given(folders)
@example({name: Entry(TREE_MODE, bytes(20)) for name in TRAPS})
@example({name: Entry(MODES[at % 4], bytes(20)) for at, name in enumerate(TRAPS)})
def test_a_tree_is_the_one_git_would_make(repository: Path, git: Git, folder: dict[bytes, Entry]) -> None:
    """An id that differs from git's for one odd name would make the whole store unreadable to git."""
    rows = [
        b"%06o %s %s\t%s\0" % (mode, b"tree" if mode == TREE_MODE else b"blob", oid.hex().encode(), name)
        for name, (mode, oid) in folder.items()
    ]
    made = git("mktree", "-z", "--missing", git_dir=repository, input=b"".join(rows)).strip().decode()
    content = encode_tree(folder)
    assert object_id(ObjectType.TREE, content).hex() == made
    assert content == git("cat-file", "tree", made, git_dir=repository)


@given(folders)
def test_a_tree_is_read_as_it_was_written(folder: dict[bytes, Entry]) -> None:
    """What a checkpoint holds is what a restore writes."""
    assert decode_tree(encode_tree(folder)) == folder


@settings(max_examples=20)
@given(st.sampled_from([ObjectType.BLOB]), st.binary(max_size=200))
def test_content_has_the_id_that_git_gives_it(git: Git, kind: ObjectType, content: bytes) -> None:
    """Ids are how content is found again, by us and by git."""
    assert object_id(kind, content).hex() == git("hash-object", "--stdin", input=content).strip().decode()


def test_the_empty_tree_is_gits_empty_tree() -> None:
    """Every git knows this id without looking."""
    assert EMPTY_TREE.hex() == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


@given(st.binary(max_size=80))
@example(b"100644 a\0" + bytes(19))
@example(b"100644 a\0" + bytes(21))
@example(b"100644 a")
@example(b"100644")
@example(b"89 a\0" + bytes(20))
@example(b"\xff a\0" + bytes(20))
def test_a_damaged_tree_is_named_as_such(content: bytes) -> None:
    """Whatever the bytes are, the daemon gets an answer or an error that it knows how to report."""
    try:
        decode_tree(content)
    except StoreDamaged:
        return


@settings(max_examples=200)
@given(folders.filter(bool), st.data())
def test_a_tree_cut_anywhere_is_never_taken_for_a_smaller_one(
    folder: dict[bytes, Entry], data: st.DataObject
) -> None:
    """Files missing from a tree would be deleted by a restore. Only a cut between entries goes unseen here;
    that one changes the id, which the reader checks."""
    content = encode_tree(folder)
    ends = {
        len(encode_tree(dict(list(decode_tree(content).items())[:count]))) for count in range(len(folder) + 1)
    }
    cut = data.draw(st.integers(0, len(content) - 1).filter(lambda at: at not in ends))
    with pytest.raises(StoreDamaged):
        decode_tree(content[:cut])


@given(folders, folders, folders)
def test_of_two_trees_only_what_differs_is_told(
    shared: dict[bytes, Entry], one: dict[bytes, Entry], other: dict[bytes, Entry]
) -> None:
    """Two states of a large folder, one file apart, are compared at the cost of the one file."""
    before, after = shared | one, shared | other
    only_before, only_after = decode_differing(encode_tree(before), encode_tree(after))
    assert only_before == {name: entry for name, entry in before.items() if after.get(name) != entry}
    assert only_after == {name: entry for name, entry in after.items() if before.get(name) != entry}


@given(folders, st.binary(min_size=1, max_size=19))
def test_what_two_damaged_trees_have_in_common_is_damage_still(
    folder: dict[bytes, Entry], rest: bytes
) -> None:
    """That both sides are broken in the same way makes neither of them whole."""
    broken = encode_tree(folder) + rest
    with pytest.raises(StoreDamaged):
        decode_differing(broken, broken)


@pytest.mark.parametrize("decode", [decode_tree, lambda content: decode_differing(content, b"")])
def test_a_tree_without_a_single_entry_is_refused_at_once(decode: Callable[[bytes], object]) -> None:
    """A search for where the next entry begins would look at every byte up to the end, from every byte."""
    with pytest.raises(StoreDamaged):
        decode(b"0 " * 4_000_000)
