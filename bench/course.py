"""What a run has at hand: its trees, made when first needed, the peers that could be found, and what has grown."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from bench.effort import Effort
from bench.ground import Ground
from bench.growth import Growth
from bench.peers import GIT, Absent, Kind, Opener
from bench.trees import make_tree


class Course:
    """One run. Everything is below one folder, and gone with it."""

    def __init__(
        self, folder: Path, files: int, sizes: Sequence[int], others: Sequence[Kind], effort: Effort
    ) -> None:
        self.folder = folder
        self.files = files
        self.sizes = sorted({*sizes, files})
        self.effort = effort
        self.growth = Growth()
        self.absent: dict[str, str] = {}
        self.versions: dict[str, str] = {}
        self._grounds: dict[str, Ground] = {}
        folder.mkdir(exist_ok=True)
        self._git = GIT.find(folder)
        self.versions[GIT.name] = self._git.version
        self._others = others

    @property
    def main(self) -> Ground:
        """The tree of the bars, with all peers on it."""
        return self.ground(self.files)

    @cached_property
    def openers(self) -> Mapping[str, Opener]:
        """All peers that can be had, looked for when they are first needed."""
        return {GIT.name: self._git, **dict(self._found())}

    def ground(self, files: int, purpose: str = "tree") -> Ground:
        """A synthetic tree of so many files; on others than the main one, git is the only peer."""
        name = f"{purpose}{files}"
        if name not in self._grounds:
            root = self.folder / name / "tree"
            root.mkdir(parents=True)
            is_main = name == f"tree{self.files}"
            self.put(name, root, make_tree(root, files), self.openers if is_main else {GIT.name: self._git})
        return self._grounds[name]

    def put(self, name: str, root: Path, paths: list[bytes], openers: Mapping[str, Opener]) -> Ground:
        """Let everybody begin on a tree."""
        rounds = self.effort.first_rounds if len(paths) <= self.effort.first_rounds_up_to else 1
        ground = self._grounds[name] = Ground(root.parent, root, paths, openers, rounds)
        return ground

    def lost(self) -> dict[str, str]:
        """What could not be had, and what failed, with the reason."""
        failed = {
            f"{name}, with {ground.files:,} files": reason
            for ground in self._grounds.values()
            for name, reason in ground.lost.items()
        }
        return {**self.absent, **failed}

    def close(self) -> None:
        """End all that was started."""
        for ground in self._grounds.values():
            ground.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _found(self) -> Iterator[tuple[str, Opener]]:
        for kind in self._others:
            try:
                opener = kind.find(self.folder)
            except Absent as reason:
                self.absent[kind.name] = str(reason)
                continue
            self.versions[kind.name] = opener.version
            yield kind.name, opener
