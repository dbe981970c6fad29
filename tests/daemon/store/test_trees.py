"""Rebuilding and comparing trees, checked against the git binary on random edits."""

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backtrail.errors import StoreDamaged
from backtraild.model import EXECUTABLE_MODE, FILE_MODE, SYMLINK_MODE, TREE_MODE, Change, Changes, Entry
from backtraild.store import trees
from backtraild.store.objects import (
    EMPTY_TREE,
    ObjectType,
    amend_tree,
    decode_tree,
    encode_tree,
    object_id,
)

Git = Callable[..., bytes]
Files = dict[bytes, Entry]


class Memory:
    """Trees in memory, and how often each was asked for."""

    def __init__(self) -> None:
        self.trees = {EMPTY_TREE: b""}
        self.calls: Counter[str] = Counter()

    def read(self, oid: bytes) -> dict[bytes, Entry]:
        self.calls["read"] += 1
        return decode_tree(self.trees[oid])

    def write(self, content: bytes, changed: list[bytes]) -> bytes:
        self.calls["write"] += 1
        assert all(oid in content for oid in changed)
        oid = object_id(ObjectType.TREE, content)
        self.trees[oid] = content
        return oid

    def rebuild(self, base: bytes, changes: Changes) -> bytes:
        tree = trees.rebuild(base, changes, self.read, self.write)
        other = Memory()
        other.trees = self.trees
        assert trees.rebuild(base, changes, other.read, other.write, self.trees.__getitem__) == tree
        return tree

    def of(self, files: Files) -> bytes:
        return self.rebuild(EMPTY_TREE, difference({}, files))


class GitTrees:
    """The git binary as the judge."""

    def __init__(self, folder: Path, git: Git) -> None:
        self.git_dir = folder / "judge.git"
        self._git = git
        git("init", "-q", "--bare", self.git_dir)

    def of(self, files: Files) -> bytes:
        """The tree that git makes of these files."""
        rows = [b"%o %s\t%s\0" % (mode, oid.hex().encode(), path) for path, (mode, oid) in files.items()]
        (self.git_dir / "index").unlink(missing_ok=True)
        self._git("update-index", "-z", "--index-info", git_dir=self.git_dir, input=b"".join(rows))
        return bytes.fromhex(self._git("write-tree", "--missing-ok", git_dir=self.git_dir).decode())

    def compare(self, old: bytes, new: bytes) -> Changes:
        """What git says differs."""
        arguments = ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", old.hex(), new.hex()]
        words = self._git(*arguments, git_dir=self.git_dir).split(b"\0")[:-1]
        changes = {}
        for what, path in zip(words[::2], words[1::2], strict=True):
            old_mode, new_mode, old_id, new_id, _ = what[1:].split()
            changes[path] = Change(side(old_mode, old_id), side(new_mode, new_id))
        return changes


def side(mode: bytes, oid: bytes) -> Entry | None:
    return Entry(int(mode, 8), bytes.fromhex(oid.decode())) if int(mode, 8) else None


def difference(old: Files, new: Files) -> Changes:
    changes = {path: Change(old.get(path), new.get(path)) for path in old | new}
    return {path: change for path, change in changes.items() if change.old != change.new}


def consistent(files: Files) -> Files:
    """Without the files that lie where a folder must be."""
    parents = {
        b"/".join(parts[:at]) for parts in (p.split(b"/") for p in files) for at in range(1, len(parts))
    }
    return {path: entry for path, entry in files.items() if path not in parents}


# Few names, so that files become folders and back; names around `/` in the order of bytes.
names = st.sampled_from([b"a", b"a.b", b"a-b", b"a0", b"ab", b"b", b"\xff\xfe", b"n\nl", b"caf\xc3\xa9"])
paths = st.lists(names, min_size=1, max_size=4).map(b"/".join)
entries = st.builds(
    Entry,
    st.sampled_from([FILE_MODE, EXECUTABLE_MODE, SYMLINK_MODE]),
    st.integers(1, 5).map(lambda number: bytes([number]) * 20),
)
states = st.dictionaries(paths, entries, max_size=12).map(consistent)
F = Entry(FILE_MODE, b"\1" * 20)
G = Entry(FILE_MODE, b"\2" * 20)


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory, git: Git) -> GitTrees:
    return GitTrees(tmp_path_factory.mktemp("trees"), git)


@settings(max_examples=40)
@given(st.lists(states, min_size=1, max_size=4))
@example([{b"a": F}, {b"a/b": F}, {b"a/b/c": F}, {b"a": F}])
@example([{b"a/b/c": F, b"a/b/d": F}, {b"a/b": F}, {}])
@example([{b"a/x": F, b"a.b": F, b"a-b": F, b"a0": F, b"a": F, b"a/b": F}])
def test_a_tree_rebuilt_from_changes_is_the_one_git_makes_of_the_files(
    judge: GitTrees, history: list[Files]
) -> None:
    """A checkpoint is made from the changes alone; it must be what a full `git add` would have made."""
    memory, tree, before = Memory(), EMPTY_TREE, Files()
    for files in map(consistent, history):
        tree = memory.rebuild(tree, difference(before, files))
        assert tree.hex() == judge.of(files).hex()
        assert dict(trees.walk(tree, memory.read)) == files
        before = files


@settings(max_examples=40)
@given(states, states)
@example({b"a": F}, {b"a/b/c": F})
@example({b"a/b/c": F, b"a.b": F}, {b"a": F, b"a-b": F})
def test_two_trees_differ_where_git_says_so(judge: GitTrees, old: Files, new: Files) -> None:
    """Diff, list and restore all stand on this comparison."""
    memory = Memory()
    found = list(trees.compare(memory.of(old), memory.of(new), memory.read))
    assert len(found) == len(dict(found))
    assert dict(found) == judge.compare(judge.of(old), judge.of(new)) == difference(old, new)


@given(states, paths)
@example({b"a": F}, b"a")
@example({b"a": F}, b"a/b")
def test_deleting_what_is_not_there_changes_nothing(files: Files, path: bytes) -> None:
    """A path can be reported as gone twice, and below what is now a file: that file must stay."""
    memory = Memory()
    tree = memory.of(files)
    missing = path + b"/missing"
    assert memory.rebuild(tree, {missing: Change(None, None)}) == tree


@given(states, paths)
def test_a_path_is_found_as_file_folder_or_nothing(files: Files, path: bytes) -> None:
    """`show` and `restore` of one path start here."""
    memory = Memory()
    tree = memory.of(files)
    found = trees.find(tree, path, memory.read)
    below = {
        known.removeprefix(path + b"/"): files[known] for known in files if known.startswith(path + b"/")
    }
    if path in files:
        assert found == files[path]
    elif below:
        assert found == Entry(TREE_MODE, memory.of(below))
    else:
        assert found is None
    assert trees.find(tree, b"", memory.read) == Entry(TREE_MODE, tree)


def test_a_folder_without_files_vanishes_with_its_parents() -> None:
    """Git knows no empty folders; one left in a tree would make its id differ from git's for ever."""
    memory = Memory()
    tree = memory.of({b"keep": F, b"a/b/c/d": F})
    assert memory.rebuild(tree, {b"a/b/c/d": Change(F, None)}) == memory.of({b"keep": F})
    assert memory.rebuild(memory.of({b"a/b": F}), {b"a/b": Change(F, None)}) == EMPTY_TREE


def test_folders_nested_deeper_than_the_stack_are_captured(judge: GitTrees) -> None:
    """A runaway script nests folders by the thousand; the daemon must outlive it."""
    deep = b"d/" * 3000 + b"file"
    memory = Memory()
    tree = memory.of({deep: F, b"top": F})
    assert tree == judge.of({deep: F, b"top": F})
    assert dict(trees.walk(tree, memory.read)) == {deep: F, b"top": F}
    assert trees.find(tree, deep, memory.read) == F
    assert memory.rebuild(tree, {deep: Change(F, None)}) == memory.of({b"top": F})


def test_the_cost_of_one_changed_file_does_not_follow_the_size_of_the_workspace() -> None:
    """Saving one file among fifty thousand reads and writes the folders above it and no others."""
    costs = []
    for folders in (5, 500):
        memory = Memory()
        files = {
            b"%d/%d/%d" % (at, inner, leaf): F
            for at in range(folders)
            for inner in range(10)
            for leaf in range(10)
        }
        tree = memory.of(files)
        memory.calls.clear()
        changed = memory.rebuild(tree, {b"3/4/5": Change(F, Entry(FILE_MODE, b"\2" * 20))})
        costs.append(dict(memory.calls))
        memory.calls.clear()
        assert len(list(trees.compare(tree, changed, memory.read))) == 1
        costs[-1]["compared"] = memory.calls["read"]
    assert costs[0] == costs[1]
    assert costs[1]["write"] == 3
    assert costs[1]["read"] <= 5
    assert costs[1]["compared"] == 6


def test_changes_in_one_folder_cost_one_rebuild_of_it() -> None:
    """A generated folder of a thousand files is one tree, written once."""
    memory = Memory()
    tree = memory.rebuild(EMPTY_TREE, {b"out/%d" % number: Change(None, F) for number in range(1000)})
    assert memory.calls["write"] == 2
    memory.calls.clear()
    memory.rebuild(tree, {b"out/%d" % number: Change(F, None) for number in range(0, 1000, 2)})
    assert memory.calls["write"] == 2


def test_the_walk_gives_files_and_no_folders() -> None:
    """A restore plans one step a file."""
    memory = Memory()
    tree = memory.write(
        encode_tree({b"s": Entry(SYMLINK_MODE, b"\3" * 20), b"d": Entry(TREE_MODE, memory.of({b"x": F}))}),
        [],
    )
    assert dict(trees.walk(tree, memory.read)) == {
        b"s": Entry(SYMLINK_MODE, b"\3" * 20),
        os.path.join(b"d", b"x"): F,
    }


def test_a_few_edits_decode_no_tree():
    """What a save does most: some files have other content, and the folders above them other ids."""
    memory = Memory()
    files = {b"a/%d/%d" % (folder, file): F for folder in range(30) for file in range(10)}
    tree = memory.of(files)
    changes: Changes = {b"a/7/3": Change(F, Entry(EXECUTABLE_MODE, b"n" * 20)), b"a/7/4": Change(F, G)}
    memory.calls.clear()
    edited = trees.rebuild(tree, changes, memory.read, memory.write, memory.trees.__getitem__)
    assert memory.calls == {"write": 3}
    assert edited == memory.of(
        {**files, **{path: change.new for path, change in changes.items() if change.new}}
    )


def test_a_name_that_ends_like_another_is_not_taken_for_it():
    """Both have the same content, so that one entry's bytes are the end of the other's."""
    memory = Memory()
    files = {b"x100644 name": F, b"name": F}
    tree = memory.of(files)
    assert memory.rebuild(tree, {b"name": Change(F, G)}) == memory.of({**files, b"name": G})


def test_a_row_that_is_behind_its_tree_changes_the_entry_all_the_same():
    """What the tree has under a name need not be what somebody believes that it has."""
    memory = Memory()
    tree = memory.of({b"a/file": F, b"a/other": F})
    assert memory.rebuild(tree, {b"a/file": Change(G, G)}) == memory.of({b"a/file": G, b"a/other": F})


@pytest.mark.parametrize("content", [b"garbage", b"100644 file\0" + b"i" * 20 + b"100644 cut\0short"])
def test_what_is_no_tree_is_not_amended(content: bytes):
    """It would be stored again under an id that says that it is sound."""
    with pytest.raises(StoreDamaged):
        amend_tree(content, {b"file": Change(F, G)})
