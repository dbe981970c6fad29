"""Somebody exchanges folders for symlinks while Backtrail reads and writes: nothing outside is touched or taken in."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from backtrail.errors import BacktrailError
from backtraild.restore import Population
from backtraild.store import StoreReader, trees
from backtraild.transcripts import TranscriptFile
from support.conversations import jsonl, messages, open_room
from support.git import git
from support.project import Project, full_stat
from support.swapping import swapping
from torture.campaign import Campaign, Counts, Round

MARK = b"only-outside"
# None lies in another one: the attacker's own exchanges must not lead outside.
FOLDERS = ("a", "b", "c", "d/sub", "e/sub/deep")
NAMES = ("one", "two", "sub/one", "sub/deep/two")
LOOKS = RESTORES = FORKS = 4
WIDTH = 40  # folders of a fork: each can be exchanged between being made and being opened, and never after


def restore_while_swapped(attempt: Round) -> Counts:
    """Restores to and fro, and one fork, while the folders that they write into are exchanged."""
    with _besieged(attempt) as (project, victims):
        _write(project, b"first")
        project.save("first")
        _write(project, b"second")
        project.save("second")
        project.workspace.close()
        counts = {"done": 0, "refused": 0}
        with swapping(attempt.folder, attempt.number, _places(project.root), victims) as swapper:
            workspace = project._open()
            try:
                for turn in range(RESTORES):
                    counts[_tried(lambda turn=turn: workspace.restore(str(1 + turn % 2)))] += 1
            finally:
                workspace.close()
        counts["swaps"] = swapper.swaps
    return counts


def fork_while_swapped(attempt: Round) -> Counts:
    """A checkpoint written into an empty folder whose folders are exchanged as soon as they are there."""
    with _besieged(attempt) as (project, victims):
        for number in range(WIDTH):
            project.write(f"{number}/one")
        tree = bytes.fromhex(project.save("first").tree)
        objects = StoreReader(str(project.git_dir)).objects
        files = dict(trees.walk(tree, objects.read_tree))
        roots = [attempt.folder / f"new{number}" for number in range(FORKS)]
        places = [root / str(number) for root in roots for number in range(WIDTH)]
        counts = {"done": 0, "refused": 0}
        with swapping(attempt.folder, attempt.number, places, victims) as swapper:
            for root in roots:
                root.mkdir()
                population = Population(str(root))
                counts[_tried(lambda population=population: population.write(files, objects))] += 1
                _tried(population.take_away)
        counts["swaps"] = swapper.swaps
    return counts


def scan_while_swapped(attempt: Round) -> Counts:
    """Looks at folders, and readings of a transcript, that are exchanged for what lies elsewhere."""
    with _besieged(attempt) as (project, victims):
        _write(project, b"first")
        talk = attempt.folder / "talk.jsonl"
        talk.write_bytes(jsonl(messages(attempt.number, 50)))
        room = open_room(attempt.folder / "talks")
        places = [*_places(project.root), talk]
        targets = [*[*victims, *victims][: len(FOLDERS)], victims[0] / "one"]
        counts = {"done": 0, "refused": 0}
        with swapping(attempt.folder, attempt.number, places, targets) as swapper:
            for _ in range(LOOKS):
                counts[_tried(lambda: project.save(allow_empty=True))] += 1
                counts[_tried(lambda: room.transcripts.record("talk", TranscriptFile(str(talk))))] += 1
        room.database.close()
        _assert_nothing_from_outside(room.git_dir, attempt)
        counts["swaps"] = swapper.swaps
    return counts


@contextlib.contextmanager
def _besieged(attempt: Round) -> Iterator[tuple[Project, list[Path]]]:
    """A workspace with a repository in it, and what must come out of the round as it went in."""
    with Project(attempt.folder) as project:
        outside = _filled(attempt.folder / "outside")
        repository = _filled(project.root / ".git")
        before = full_stat(outside), full_stat(repository)
        yield project, [outside, repository, project.git_dir]
        assert (full_stat(outside), full_stat(repository)) == before, f"changed, seed {attempt.number}"
        strangers = {name for _, _, names in os.walk(project.git_dir) for name in names} & {"one", "two"}
        assert not strangers, f"written into the store: {strangers}, seed {attempt.number}"
        _assert_nothing_from_outside(project.git_dir, attempt)


def _assert_nothing_from_outside(git_dir: Path, attempt: Round) -> None:
    held = git("cat-file", "--batch", "--batch-all-objects", git_dir=git_dir)
    assert MARK not in held, f"taken in from outside, seed {attempt.number}"


def _filled(folder: Path) -> Path:
    for name in NAMES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(MARK + b" " + name.encode() + b"\n")
    return folder


def _write(project: Project, content: bytes) -> None:
    for folder in FOLDERS:
        for name in NAMES:
            project.write(f"{folder}/{name}", content + b" " + folder.encode() + b"\n")


def _places(root: Path) -> list[Path]:
    return [root / folder for folder in FOLDERS]


def _tried(call: Callable[[], object]) -> str:
    """Done or refused: both are right, as long as nothing else happens."""
    try:
        call()
    except BacktrailError:
        return "refused"
    return "done"


CAMPAIGNS = (
    Campaign(
        "symlink-restore",
        "R4",
        "No byte is written outside the workspace or into a .git, whatever folders become during a restore.",
        1000,
        restore_while_swapped,
    ),
    Campaign(
        "symlink-fork",
        "R4",
        "No byte is written outside the new folder, whatever its folders become during a fork.",
        1000,
        fork_while_swapped,
    ),
    Campaign(
        "symlink-scan",
        "R4",
        "Nothing outside the workspace is captured, whatever folders become during a look.",
        1000,
        scan_while_swapped,
    ),
)
