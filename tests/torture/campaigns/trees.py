"""Strange trees: every name, type, size, depth and date that a file system takes, saved, changed and restored."""

import random

from backtrail.errors import NothingToDo
from backtraild.model import Checkpoint, Limits, Path
from backtraild.workspace import RestoreResult
from support.disk import fsck
from support.project import Project, files_of
from support.strange import LARGEST, State, StrangeTree, state
from torture.campaign import Campaign, Counts, Round

_ACTS = 30  # changes before the first checkpoint; later ones come after up to as many


def attempt(turn: Round) -> Counts:
    """Grow a tree; save, change and restore it some times; after each step, compare with an independent walk."""
    with Project(turn.folder, Limits(max_file_size=LARGEST)) as project:
        return _Attempt(project, turn.source, turn.number).make()


class _Attempt:
    def __init__(self, project: Project, source: random.Random, seed: int) -> None:
        self._project, self._source, self._seed = project, source, seed
        self._tree = StrangeTree(project.root, source)
        self._known: dict[int, State] = {}
        self._deepest = self._conflicts = self._restores = self._files = 0

    def make(self) -> Counts:
        self._tree.change(_ACTS)
        self._keep(self._project.workspace.start())
        for _ in range(4):
            self._change_and_save()
            self._restore_and_undo()
        fsck(self._project.git_dir)
        return {
            "files": self._files,
            "checkpoints": len(self._known),
            "restores": self._restores,
            "paths left alone": self._conflicts,
            "most folders deep": self._deepest,
        }

    def _change_and_save(self) -> None:
        """Save with hints or without, as after events or after a start."""
        self._tree.touched.clear()
        self._tree.change(self._source.randrange(_ACTS))
        hints = [*self._tree.touched] if self._source.random() < 0.5 else None
        try:
            self._keep(self._project.save(dirty=hints))
        except NothingToDo:
            newest = self._project.workspace.history.find("@")
            self._compare("nothing to save", self._known_at(newest), state(self._tree.root))

    def _keep(self, checkpoint: Checkpoint) -> None:
        now = state(self._tree.root)
        held = files_of(self._project.git_dir, checkpoint.tree)
        self._compare(f"checkpoint {checkpoint.number}", held, now)
        self._known[checkpoint.number] = now
        self._files += len(now)
        self._deepest = max(self._deepest, self._tree.depth())

    def _known_at(self, checkpoint: Checkpoint) -> State:
        known = self._known.get(checkpoint.number)
        return files_of(self._project.git_dir, checkpoint.tree) if known is None else known

    def _restore_and_undo(self) -> None:
        before = state(self._tree.root)
        number = self._source.choice(sorted(self._known))
        result = self._project.workspace.restore(str(number))
        self._check_restore(f"restore {number}", result, self._known[number])
        if result.result is not None and self._source.random() < 0.7:
            result = self._project.workspace.undo()
            self._check_restore(f"undo of restore {number}", result, before)

    def _check_restore(self, what: str, result: RestoreResult, wanted: State) -> None:
        self._restores += 1
        self._conflicts += len(result.conflicts)
        left = [conflict.path for conflict in result.conflicts]
        now = state(self._tree.root)
        outside = {path: held for path, held in now.items() if not _is_touched(path, left)}
        expected = {path: held for path, held in wanted.items() if not _is_touched(path, left)}
        self._compare(what, expected, outside)

    def _compare(self, what: str, wanted: State, found: State) -> None:
        if wanted != found:
            differing = sorted(path for path in {*wanted, *found} if wanted.get(path) != found.get(path))
            shown = [(path, _told(wanted, path), _told(found, path)) for path in differing[:5]]
            raise AssertionError(f"seed {self._seed}, {what}: {len(differing)} paths differ, as {shown}")


def _is_touched(path: Path, left: list[Path]) -> bool:
    """Is this a path that was left alone, or in one, or around one?"""
    return any(
        path == other or path.startswith(other + b"/") or other.startswith(path + b"/") for other in left
    )


def _told(state: State, path: Path) -> tuple[str, bytes] | None:
    held = state.get(path)
    return None if held is None else (held[0], held[1][:40])


CAMPAIGNS: tuple[Campaign, ...] = (
    Campaign(
        "strange-trees",
        "R6",
        "Whatever a folder holds, a checkpoint holds it, a restore brings it back, and what is left alone is named.",
        2_000,
        attempt,
    ),
)
