"""Very many checkpoints of one folder, with retention and upkeep at work all the time: R11."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from backtrail import CheckpointConfig, Client
from backtrail.workspace import Workspace
from support.clients import Home, home_in
from support.git import fsck_in_use, git
from support.vitals import MEGABYTE, Vitals, descriptors, growth
from support.watching import eventually
from torture.campaign import Campaign, Counts, Round

CHECKPOINTS = 20_000
FILES = 20
# How many are read byte by byte in the end; of the others, commit and tree are compared.
SAMPLE = 200
LOOKS = 40
# As many as are kept at most have come by then, each of which the daemon knows; from then on nothing grows.
WARM_UP = LOOKS // 2 + 1
ANSWER_SECONDS = 2.0
RESTART_SECONDS = 5.0
SLOPE = 3 * MEGABYTE
# Of large packs, each has more than six times what all smaller ones have together, but for those few of a thousand
# small ones each that upkeep has just made.
INDEXES = 12


@dataclass
class _Course:
    """What was acknowledged, and how the daemon was doing meanwhile."""

    made: dict[int, tuple[str, str]] = field(default_factory=dict)  # number: id and tree
    written: dict[int, int] = field(default_factory=dict)  # number: how many writes there were before it
    looks: list[Vitals] = field(default_factory=list)
    slowest: float = 0.0
    indexes: int = 0  # the most that were open at once: one for each pack that is not small


def many_round(turn: Round) -> Counts:
    """As many as the long run is about."""
    return many(turn, CHECKPOINTS, SAMPLE)


def many(turn: Round, count: int, sample: int) -> Counts:
    """So many checkpoints; every one that is listed in the end is whole, and the daemon has not grown."""
    source, root = turn.source, turn.folder / "work"
    root.mkdir()
    with home_in(turn.folder) as home, Client(home=home, timeout=300.0) as client:
        workspace = client.watch(root, CheckpointConfig(auto_checkpoint=False, max_checkpoints=count // 2))
        course = _made(client, workspace, count)
        listed = _listed(workspace)
        assert listed == {number: course.made[number] for number in listed}
        seconds = _restarted(home, client, workspace, len(listed))
        _check_contents(source, workspace, course, sample)
        git_dir = Path(workspace.status().store, "repo.git")
        # Retention may let go of some between the two questions; then they are asked again.
        eventually(lambda: _listed(workspace).items() <= _refs(git_dir).items())
        fsck_in_use(git_dir)
        return {
            "checkpoints": count,
            "listed": len(listed),
            "read byte by byte": sample,
            "most seconds to answer": round(course.slowest, 3),
            "most seconds to restart": round(seconds, 2),
            "most indexes open": course.indexes,
            "most bytes grown": growth(course.looks[WARM_UP:], SLOPE),
        }


def _made(client: Client, workspace: Workspace, count: int) -> _Course:
    course, pid, every = _Course(), client.ping().pid, count // LOOKS
    for number in range(count):
        Path(workspace.root, f"{number % FILES}.txt").write_text(_text(number))
        made = workspace.save()
        course.made[made.number], course.written[made.number] = (made.id, made.tree), number + 1
        if number % every == every - 1:
            workspace.prune()
            course.slowest = max(course.slowest, *map(_seconds, _questions(workspace)))
            course.looks.append(Vitals.of(pid))
            course.indexes = max(course.indexes, sum(name.endswith(".idx") for name in descriptors(pid)))
    assert course.indexes <= INDEXES, f"{course.indexes} large packs"
    assert course.slowest < ANSWER_SECONDS, f"an answer took {course.slowest:.1f} s"
    return course


def _text(number: int) -> str:
    return f"{number}\n" * (1 + number % 50)


def _questions(workspace: Workspace) -> tuple[Callable[[], object], ...]:
    return lambda: workspace.list(limit=50), workspace.status, lambda: workspace.log("0.txt")


def _seconds(question: Callable[[], object]) -> float:
    begun = time.monotonic()
    question()
    return time.monotonic() - begun


def _listed(workspace: Workspace) -> dict[int, tuple[str, str]]:
    """Every checkpoint that there is, but for the baseline."""
    found, cursor = {}, None
    while True:
        page = workspace.page(limit=1000, cursor=cursor)
        found.update({each.number: (each.id, each.tree) for each in page.checkpoints})
        if (cursor := page.next) is None:
            return {number: known for number, known in found.items() if number > 1}


def _restarted(home: Home, client: Client, workspace: Workspace, count: int) -> float:
    home.withdraw(client.stop)
    begun = time.monotonic()
    client.ping()
    assert len(workspace.list(limit=1)) == 1
    seconds = time.monotonic() - begun
    assert seconds < RESTART_SECONDS, f"a daemon with {count} checkpoints took {seconds:.1f} s to start"
    return seconds


def _check_contents(source: random.Random, workspace: Workspace, course: _Course, sample: int) -> None:
    numbers = sorted(_listed(workspace))
    for number in sorted(source.sample(numbers, sample)):
        written = course.written[number]
        for file in range(min(FILES, written)):
            last = written - 1 - (written - 1 - file) % FILES
            assert workspace.read(number, f"{file}.txt").decode() == _text(last), (number, file)
    workspace.restore(numbers[0])
    written = course.written[numbers[0]]
    assert len(list(Path(workspace.root).iterdir())) == min(FILES, written)


def _refs(git_dir: Path) -> dict[int, tuple[str, str]]:
    """Commit and tree of every checkpoint, told by git."""
    said = git(
        "for-each-ref",
        "--format=%(refname:lstrip=2) %(objectname) %(tree)",
        "refs/checkpoints",
        git_dir=git_dir,
    )
    rows = map(str.split, said.decode().splitlines())
    return {int(number): (commit, tree) for number, commit, tree in rows}


CAMPAIGNS = (
    Campaign(
        "many-checkpoints",
        "R11",
        "Of 20,000 checkpoints every listed one is whole, and memory and descriptors stay as they are.",
        1,
        many_round,
        1800.0,
    ),
)
