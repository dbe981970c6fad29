"""What HEAD has and a checkpoint can't have, because Backtrail does not capture it: not there is not deleted."""

from collections.abc import Sequence

from backtrail.errors import UsageError
from backtrail.pathtext import to_text
from backtraild.ignore import IGNORE_FILES, FolderRules, TooManyWildcards
from backtraild.model import (
    BLOB_MODES,
    SYMLINK_MODE,
    TREE_MODE,
    Checkpoint,
    Path,
    is_below,
    join_path,
    split_path,
)
from backtraild.scan.folders import MAX_IGNORE_FILE
from backtraild.store import Objects, trees

GITLINK_MODE = 0o160000


class Uncaptured:
    """The exclude rules that held for a checkpoint: the owner's patterns, and the ignore files it holds."""

    def __init__(self, checkpoint: Checkpoint, patterns: Sequence[str], objects: Objects) -> None:
        self._tree = bytes.fromhex(checkpoint.tree)
        self._skipped = [left.path for left in checkpoint.skipped]
        self._objects = objects
        # None where the folder, or one above it, is excluded.
        self._rules: dict[Path, FolderRules | None] = {b"": self._entered(FolderRules.for_root(patterns))}

    def has(self, path: Path, mode: int) -> bool:
        """Shall the branch keep what HEAD has at a path that the checkpoint does not have?

        A submodule is kept as well: its files were captured as files, its commit never is.
        """
        return self._has_room(path, mode) and (
            mode == GITLINK_MODE or self._excludes(path) or self._was_skipped(path)
        )

    def _has_room(self, path: Path, mode: int) -> bool:
        """A file of the checkpoint that took a folder's place, or a folder a file's, goes before HEAD's."""
        folder = split_path(path)[0]
        while folder:
            above = trees.find(self._tree, folder, self._objects.read_tree)
            if above is not None:
                return above.mode == TREE_MODE and self._is_free(path, mode)
            folder = split_path(folder)[0]
        return self._is_free(path, mode)

    def _is_free(self, path: Path, mode: int) -> bool:
        there = trees.find(self._tree, path, self._objects.read_tree)
        return there is None or (there.mode == TREE_MODE and mode == GITLINK_MODE)

    def _excludes(self, path: Path) -> bool:
        folder, name = split_path(path)
        rules = self._rules_in(folder)
        return rules is None or rules.excludes(name, False)

    def _was_skipped(self, path: Path) -> bool:
        return any(path == left or is_below(path, left) for left in self._skipped)

    def _rules_in(self, folder: Path) -> FolderRules | None:
        unknown = []
        while folder not in self._rules:
            unknown.append(folder)
            folder = split_path(folder)[0]
        for below in reversed(unknown):
            parent, name = split_path(below)
            above = self._rules[parent]
            excluded = above is None or above.excludes(name, True)
            self._rules[below] = None if above is None or excluded else self._entered(above.child(name))
            folder = below
        return self._rules[folder]

    def _entered(self, rules: FolderRules) -> FolderRules:
        contents = [self._content(join_path(rules.folder, name)) for name in IGNORE_FILES]
        try:
            return rules.with_files(*contents)
        except TooManyWildcards as error:  # on the disk, such a folder is not captured either
            raise UsageError(
                f"The ignore files of {to_text(rules.folder) or 'the workspace'} have {error}.",
                "Shorten them, save, and try again.",
            ) from error

    def _content(self, path: Path) -> bytes | None:
        """An ignore file as the checkpoint holds it; a symlink counts for nothing, as on the disk."""
        entry = trees.find(self._tree, path, self._objects.read_tree)
        if entry is None or entry.mode not in BLOB_MODES - {SYMLINK_MODE}:
            return None
        content = self._objects.read_blob(entry.oid)[:MAX_IGNORE_FILE]
        return content if len(content) < MAX_IGNORE_FILE else content[: content.rfind(b"\n") + 1]
