"""The tree of the commit: the checkpoint's files where the workspace lies, HEAD's where Backtrail does not look."""

from collections.abc import Iterator

from msgspec import Struct

from backtraild.branching.git import Git
from backtraild.branching.uncaptured import Uncaptured
from backtraild.model import TREE_MODE, Change, Entry, ObjectId, Path
from backtraild.store import EMPTY_TREE, Objects, ObjectType, decode_tree, object_id, trees


class Composition(Struct, frozen=True):
    """A tree, those of its folders that neither repository has, and how many entries of HEAD were kept."""

    tree: ObjectId
    folders: dict[ObjectId, bytes]
    kept: int


def compose(
    git: Git, head: str | None, prefix: Path, captured: ObjectId, rules: Uncaptured, objects: Objects
) -> Composition:
    """The checkpoint's tree in its place in HEAD's, with what no checkpoint could have as HEAD has it.

    `git` reads the objects of the user's repository and of the store alike.
    """
    folders: dict[ObjectId, bytes] = {EMPTY_TREE: b""}

    def write(content: bytes, _: object) -> ObjectId:
        oid = object_id(ObjectType.TREE, content)
        folders[oid] = content
        return oid

    def read(oid: ObjectId) -> dict[bytes, Entry]:
        return decode_tree(git.run("cat-file", "tree", oid.hex()))

    top = EMPTY_TREE if head is None else bytes.fromhex(git.line("rev-parse", f"{head}^{{tree}}"))
    kept = dict(_kept(git, trees.find(top, prefix, read), captured, rules))
    tree = trees.rebuild(captured, kept, objects.read_tree, write)
    if prefix:
        entry = None if tree == EMPTY_TREE else Entry(TREE_MODE, tree)
        tree = trees.rebuild(top, {prefix: Change(None, entry)}, read, write)
    return Composition(tree, folders, len(kept))


def _kept(
    git: Git, present: Entry | None, captured: ObjectId, rules: Uncaptured
) -> Iterator[tuple[Path, Change]]:
    """What HEAD has in the workspace's folder, the checkpoint has not, and the branch shall have."""
    if present is not None and present.mode == TREE_MODE:
        for path, entry in _missing(git, present.oid, captured):
            if rules.has(path, entry.mode):
                yield path, Change(None, entry)


def _missing(git: Git, old: ObjectId, new: ObjectId) -> Iterator[tuple[Path, Entry]]:
    """Every file of one tree that the other does not have."""
    options = (
        "-r",
        "-z",
        "--raw",
        "--no-abbrev",
        "--no-renames",
        "--ignore-submodules=none",
        "--diff-filter=D",
    )
    fields = git.run("diff-tree", *options, old.hex(), new.hex()).split(b"\0")
    for told, path in zip(fields[:-1:2], fields[1::2], strict=True):
        mode, _, oid = told.removeprefix(b":").split(b" ")[:3]
        yield path, Entry(int(mode, 8), bytes.fromhex(oid.decode()))
