"""Stores that no honest program wrote: each is refused with a sentence or bounded, and nothing leaves its place."""

import os
from collections.abc import Callable, Iterator
from time import thread_time

from backtrail.errors import BacktrailError
from backtraild.branching import branch
from backtraild.mirroring import mirror
from backtraild.model import Checkpoint
from backtraild.restore import Population
from backtraild.state import Query
from backtraild.store import StoreReader, trees, verify_repository
from backtraild.workspace import Workspace
from support.forging import EXECUTABLE_MODE, FILE_MODE, SYMLINK_MODE, TREE_MODE, Forger, Row
from support.git import git
from support.project import Project, full_stat
from torture.campaign import Campaign, Counts, Finished, Round

FORGED = 3
# Processor time of one question, far above what any of these takes and far below what walking them all would.
SECONDS = 20.0

Make = Callable[[Forger], bytes]


def _names(*names: bytes, mode: int = FILE_MODE) -> Make:
    return lambda forger: forger.tree(*((mode, name, forger.blob()) for name in names))


def _below(*names: bytes) -> Make:
    """A file behind folders of these names."""

    def make(forger: Forger) -> bytes:
        tree = forger.tree((FILE_MODE, b"config", forger.blob(b"[core]\n\tfsmonitor = ./evil\n")))
        for name in reversed(names):
            tree = forger.tree((TREE_MODE, name, tree))
        return tree

    return make


def _rows(rows: Callable[[Forger], list[Row]]) -> Make:
    return lambda forger: forger.tree(*rows(forger))


def _link_with_children(forger: Forger) -> list[Row]:
    """A symlink and a folder of one name: written in this order, the file would land where the link points."""
    folder = forger.tree((FILE_MODE, b"one", forger.blob()))
    return [(SYMLINK_MODE, b"d", forger.blob(b"../outside")), (TREE_MODE, b"d", folder)]


TREES: dict[str, Make] = {
    "dot dot": _names(b".."),
    "dot": _names(b"."),
    "dot dot in between": _below(b"..", b"outside"),
    "slash": _names(b"../outside/one"),
    "absolute": _names(b"/tmp/backtrail-hostile"),
    "no name": _names(b""),
    "git": _below(b".git"),
    "GIT": _below(b".GIT"),
    "git with a joiner": _below(".g\u200cit".encode()),
    "git of eight letters": _below(b"git~1"),
    "git further down": _below(b"d", b".git"),
    "git as a stream": _below(b".git::$INDEX_ALLOCATION"),
    "control characters": _names(b"\x1b[2J\x07", b"\r\n", b"\x7f"),
    "long name": _names(b"n" * 256),
    "very long name": _names(b"n" * 1_000_000),
    "twice": _names(b"one", b"one"),
    "unsorted": _names(b"z", b"a", b"m"),
    "file and folder": _rows(
        lambda forger: [(FILE_MODE, b"d", forger.blob()), (TREE_MODE, b"d", _below(b"e")(forger))]
    ),
    "link with children": _rows(_link_with_children),
    "children under a link's name": _rows(lambda forger: list(reversed(_link_with_children(forger)))),
    "link that is absolute": _rows(lambda forger: [(SYMLINK_MODE, b"l", forger.blob(b"/etc/passwd"))]),
    "link that leaves": _rows(lambda forger: [(SYMLINK_MODE, b"l", forger.blob(b"../outside"))]),
    "link with a NUL": _rows(lambda forger: [(SYMLINK_MODE, b"l", forger.blob(b"a\0b"))]),
    "gitlink": _names(b"module", mode=0o160000),
    "set user id": _names(b"su", mode=0o104755),
    "device": _names(b"null", mode=0o020666),
    "no mode": _names(b"x", mode=0),
    "odd modes": _rows(
        lambda forger: [
            (mode, b"m%d" % number, forger.blob())
            for number, mode in enumerate((b"-1", b"+644", b"0o100644", b"1_0", b"777777777777777"[:6]))
        ]
    ),
    "tree that is a file": _rows(lambda forger: [(TREE_MODE, b"d", forger.blob())]),
    "file that is a tree": _rows(lambda forger: [(FILE_MODE, b"d", _below(b"e")(forger))]),
    "missing content": _rows(lambda _: [(FILE_MODE, b"x", b"\x01" * 20)]),
    "missing folder": _rows(lambda _: [(TREE_MODE, b"x", b"\x01" * 20)]),
    "restore's own name": _below(b".backtrail-restore-0"),
    "a million million files": lambda forger: forger.doubled(40),
    "a million million folders": lambda forger: forger.doubled(40, leaf=False),
    "nested five thousand times": lambda forger: forger.nested(5000),
    "nested under long names": lambda forger: forger.nested(500, b"n" * 250),
    "a program": _names(b"run", mode=EXECUTABLE_MODE),
}


def question_a_hostile_tree(attempt: Round) -> Counts:
    """One tree of the table as a checkpoint, and everything that can be asked about a checkpoint asked of it."""
    if attempt.number >= len(TREES):
        raise Finished
    title = sorted(TREES)[attempt.number]
    with _beside_outside(attempt) as project:
        forger = Forger(project.git_dir)
        forger.checkpoint(FORGED, TREES[title](forger))
        before = _surroundings(project)
        refused = sum(_refuses(title, call) for call in _questions(project))
        assert _surroundings(project) == before, f"{title}: something was written elsewhere"
        assert not (attempt.folder / "work" / ".git" / "config").read_bytes().count(b"evil"), title
    return {"trees": 1, "refusals": refused}


def _beside_outside(attempt: Round) -> Project:
    """A workspace in a repository, with two checkpoints of its own, and a folder beside it."""
    (attempt.folder / "outside").mkdir()
    (attempt.folder / "outside" / "one").write_text("outside\n")
    project = Project(attempt.folder)
    git("init", "-q", cwd=project.root)
    git("init", "-q", "--bare", str(attempt.folder / "mirror.git"))
    for content in ("first", "second"):
        project.write("kept", content)
        project.save(content)
    return project


def _surroundings(project: Project) -> object:
    """What nothing may change: the folder outside, and in the repository all but a branch and its objects."""
    repository = project.root / ".git"
    own = {
        path: found
        for path, found in full_stat(repository).items()
        if not os.path.relpath(path, repository).startswith(("objects", "refs", "logs", "."))
    }
    return full_stat(project.folder / "outside"), own


def _questions(project: Project) -> Iterator[Callable[[], object]]:
    """Everything that may be asked; the workspace is opened anew, as after a copy from elsewhere."""
    opened: list[Workspace] = []
    yield lambda: opened.append(project.reopen())
    if opened:  # it may be refused as a whole
        yield from _of_workspace(opened[0])
        yield from _elsewhere(project, opened[0].history.find(str(FORGED)))
    git_dir = str(project.git_dir)
    yield lambda: verify_repository(git_dir, lambda: (), lambda: False, lambda _: None)
    yield lambda: mirror(git_dir, str(project.folder / "mirror.git"))


def _of_workspace(workspace: Workspace) -> Iterator[Callable[[], object]]:
    history, name = workspace.history, str(FORGED)
    yield lambda: history.get(name)
    yield lambda: history.list(Query(limit=10))
    yield lambda: history.diff("1", name)
    yield lambda: history.diff(name)
    yield lambda: b"".join(history.read(name, b"d/one"))
    yield lambda: b"".join(history.read(name, b"../outside/one"))
    yield lambda: workspace.preview(name)
    yield lambda: workspace.restore(name)
    yield lambda: workspace.restore("1")


def _elsewhere(project: Project, forged: Checkpoint) -> Iterator[Callable[[], object]]:
    """The files in a new folder, and as a branch."""
    new, git_dir = project.folder / "new", str(project.git_dir)
    new.mkdir()
    objects = StoreReader(git_dir).objects
    files = trees.walk(bytes.fromhex(forged.tree), objects.read_tree)
    yield lambda: Population(str(new)).write(dict(files), objects)
    yield lambda: branch(str(project.root), git_dir, forged, "from-forged")


def _refuses(title: str, call: Callable[[], object]) -> bool:
    begun = thread_time()
    try:
        call()
    except BacktrailError:
        return True
    finally:
        spent = thread_time() - begun
        assert spent < SECONDS, f"{title} kept the daemon busy for {spent:.0f} s"
    return False


CAMPAIGNS = (
    Campaign(
        "hostile-trees",
        "R4",
        "A tree that no honest program wrote is refused or bounded, and nothing is written elsewhere.",
        1000,
        question_a_hostile_tree,
    ),
)
