"""Trees of folders: rebuild the few that changed, compare two, look into one.

Nothing here recurses: a workspace may be nested deeper than Python's stack.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator

from backtraild.model import TREE_MODE, Change, Changes, Entry, ObjectId, Path, join_path, split_path
from backtraild.store.extent import ReadTree, refuse_boundless
from backtraild.store.objects import EMPTY_TREE, Differing, amend_tree, encode_tree, find_folder

# After so many names, or so many bytes of their paths, both trees are measured before any more are told.
MEASURED_FROM = 50_000
MEASURED_FROM_BYTES = 16 * 1024 * 1024

WriteTree = Callable[[bytes, list[ObjectId]], ObjectId]  # with the ids of the entries that changed
ReadContent = Callable[[ObjectId], bytes]
Edits = dict[bytes, Change]  # by name
ReadDiffering = Callable[[ObjectId, ObjectId], Differing]


def rebuild(
    base: ObjectId, changes: Changes, read: ReadTree, write: WriteTree, content: ReadContent | None = None
) -> ObjectId:
    """The tree `base` with the changes applied. Only folders on the changed paths are read and written.

    `content` gives a tree as it is stored: where a few entries are exchanged, the others need not be decoded.
    """
    edits = _edits_by_folder(changes)
    bases = _base_trees(base, edits, read, content)
    root = base
    # The deepest first: their ids go into their parents.
    for folder in sorted(edits, key=_depth, reverse=True):
        tree = _edited_tree(bases[folder], edits.pop(folder), read, write, content)
        if not folder:
            root = tree
        elif tree != EMPTY_TREE or bases[folder] != EMPTY_TREE:  # else there was no folder and there is none
            parent, name = split_path(folder)
            _put_folder(edits[parent], name, Change(_folder(bases[folder]), _folder(tree)))
    return root


def compare(
    old: ObjectId, new: ObjectId, read: ReadTree, read_differing: ReadDiffering | None = None
) -> Iterator[tuple[Path, Change]]:
    """Every file that differs. Folders with the same id on both sides are not opened.

    `read_differing` may leave out what two folders have in common. Raises StoreDamaged where there would be no end
    to them.
    """
    differing: ReadDiffering = read_differing or (lambda one, other: (read(one), read(other)))
    pending: list[tuple[Path, ObjectId, ObjectId]] = [(b"", old, new)]
    names, path_bytes, is_measured = 0, 0, False
    while pending:
        folder, old_tree, new_tree = pending.pop()
        before, after = differing(old_tree, new_tree)
        names += len(before) + len(after) + 1
        path_bytes += len(folder) * (len(before) + len(after) + 1)
        if not is_measured and (names > MEASURED_FROM or path_bytes > MEASURED_FROM_BYTES):
            is_measured = True
            for tree in (old, new):
                refuse_boundless(tree, read)
        for name in before.keys() | after.keys():
            left, right = before.get(name), after.get(name)
            if left == right:
                continue
            path = join_path(folder, name)
            if _is_tree(left) or _is_tree(right):
                pending.append((path, _tree_of(left), _tree_of(right)))
            left, right = _file_of(left), _file_of(right)
            if left != right:
                yield path, Change(left, right)


def walk(tree: ObjectId, read: ReadTree) -> Iterator[tuple[Path, Entry]]:
    """Every file in a tree, in no particular order."""
    for path, change in compare(EMPTY_TREE, tree, read):
        if change.new is not None:
            yield path, change.new


def find(tree: ObjectId, path: Path, read: ReadTree) -> Entry | None:
    """What a tree holds at a path: a file, a folder (with TREE_MODE) or nothing."""
    entry: Entry | None = Entry(TREE_MODE, tree)
    for name in path.split(b"/") if path else []:
        if entry is None or entry.mode != TREE_MODE:
            return None
        entry = read(entry.oid).get(name)
    return entry


def _edits_by_folder(changes: Changes) -> dict[Path, Edits]:
    """What changes directly in each folder; every ancestor of a changed folder is there too."""
    edits: dict[Path, Edits] = {b"": {}}
    last, inside = b"", edits[b""]
    for path, change in changes.items():
        folder, _, name = path.rpartition(b"/")
        if folder != last:  # those of a folder come in a row, mostly
            if folder not in edits:
                edits[folder] = {}
                _add_ancestors(folder, edits)
            last, inside = folder, edits[folder]
        inside[name] = change
    return edits


def _add_ancestors(folder: Path, edits: dict[Path, Edits]) -> None:
    parent = split_path(folder)[0]
    while parent not in edits:
        edits[parent] = {}
        parent = split_path(parent)[0]


def _base_trees(
    base: ObjectId, folders: Collection[Path], read: ReadTree, content: ReadContent | None
) -> dict[Path, ObjectId]:
    """The tree that each folder has in the base; the empty one where it has none."""
    bases = {b"": base}
    siblings = Counter(split_path(folder)[0] for folder in folders if folder)
    opened, entries = EMPTY_TREE, dict[bytes, Entry]()
    # Siblings in a row: one read for all.
    for folder in sorted(folders, key=lambda path: (_depth(path), path)):
        if folder:
            parent, name = split_path(folder)
            if content is not None and siblings[parent] == 1:
                bases[folder] = find_folder(content(bases[parent]), name) or EMPTY_TREE
                continue
            if bases[parent] != opened:
                opened, entries = bases[parent], read(bases[parent])
            bases[folder] = _tree_of(entries.get(name))
    return bases


def _edited_tree(
    base: ObjectId, edits: Edits, read: ReadTree, write: WriteTree, content: ReadContent | None
) -> ObjectId:
    changed = [change.new.oid for change in edits.values() if change.new is not None]
    amended = amend_tree(content(base), edits) if content is not None and edits else None
    if amended is not None:
        return write(amended, changed)
    entries = {} if base == EMPTY_TREE else read(base)
    for name, change in edits.items():
        if change.new is None:
            entries.pop(name, None)
        else:
            entries[name] = change.new
    return write(encode_tree(entries), changed) if entries else EMPTY_TREE


def _put_folder(edits: Edits, name: bytes, change: Change) -> None:
    """A folder's new tree goes into its parent, unless a file took the folder's place."""
    other = edits.get(name)
    if change.new is not None or other is None or other.new is None:
        edits[name] = change


def _folder(tree: ObjectId) -> Entry | None:
    return None if tree == EMPTY_TREE else Entry(TREE_MODE, tree)


def _depth(folder: Path) -> int:
    return folder.count(b"/") + 1 if folder else 0


def _is_tree(entry: Entry | None) -> bool:
    return entry is not None and entry.mode == TREE_MODE


def _tree_of(entry: Entry | None) -> ObjectId:
    return entry.oid if entry is not None and entry.mode == TREE_MODE else EMPTY_TREE


def _file_of(entry: Entry | None) -> Entry | None:
    return None if entry is None or entry.mode == TREE_MODE else entry
