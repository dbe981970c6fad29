"""A look at the paths that may have changed finds what a look at everything would find."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from backtrail.errors import NothingToDo
from backtraild.scan import way
from support.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project(tmp_path) as project:
        project.write("file", b"file")
        project.write("folder/a", b"a")
        project.write("folder/deep/b", b"b")
        project.write("folder-x/c", b"sorts between folder and folder/")
        project.write("empty", b"")
        (project.root / "link").symlink_to("file")
        project.workspace.start()
        yield project


def nothing_was_missed(project: Project) -> None:
    """A look at everything finds no more."""
    with pytest.raises(NothingToDo):
        project.save()
    project.check(project.workspace.history.find("@"))


CHANGES: dict[str, tuple[Callable[[Path], object], list[bytes]]] = {
    "new file": (lambda root: (root / "new").write_bytes(b"new"), [b"new"]),
    "new file in new folders": (
        lambda root: ((root / "x/y").mkdir(parents=True), (root / "x/y/z").write_bytes(b"z")),
        [b"x"],
    ),
    "changed file": (lambda root: (root / "folder/a").write_bytes(b"changed"), [b"folder/a"]),
    "deleted file": (lambda root: (root / "file").unlink(), [b"file"]),
    "deleted folder": (lambda root: shutil.rmtree(root / "folder"), [b"folder"]),
    "deleted folder, hint below it": (lambda root: shutil.rmtree(root / "folder"), [b"folder/deep/b"]),
    "renamed folder": (lambda root: (root / "folder").rename(root / "moved"), [b"folder", b"moved"]),
    "file to folder": (
        lambda root: ((root / "file").unlink(), (root / "file").mkdir(), (root / "file/in").write_bytes(b"")),
        [b"file/in"],
    ),
    "folder to file": (
        lambda root: (shutil.rmtree(root / "folder"), (root / "folder").write_bytes(b"file")),
        [b"folder/deep/b", b"folder/a"],
    ),
    "folder to symlink": (
        lambda root: (shutil.rmtree(root / "folder"), (root / "folder").symlink_to("folder-x")),
        [b"folder/c"],
    ),
    "symlink to another": (
        lambda root: ((root / "link").unlink(), (root / "link").symlink_to("empty")),
        [b"link"],
    ),
    "mode": (lambda root: (root / "file").chmod(0o755), [b"file"]),
    "emptied folder": (lambda root: (root / "folder/deep/b").unlink(), [b"folder/deep/b"]),
    "root named": (lambda root: (root / "folder/a").write_bytes(b"changed"), [b""]),
    "root and more named": (lambda root: (root / "file").write_bytes(b"changed"), [b"", b"folder/a", b"x"]),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_hint_is_enough_for_every_kind_of_change(project: Project, kind: str):
    """Watching gives hints; a kind of change that a hint does not lead to would be missed all day."""
    change, hints = CHANGES[kind]
    change(project.root)

    project.check(project.save(dirty=hints))

    nothing_was_missed(project)


def test_hints_that_lead_nowhere_change_nothing(project: Project):
    """Events are old by the time they are read: paths that never were, are excluded, or end at a file."""
    project.write("node_modules/pkg/index.js")
    hints = [
        b"never/was",
        b"never",
        b"file/below/it",
        b"link/below",
        b"empty/x",
        b"node_modules/pkg/index.js",
    ]
    hints += [b"node_modules", b".git/index", b"folder/.git/HEAD", b"folder/never", b"caf\xe9/\xff"]

    with pytest.raises(NothingToDo):
        project.save(dirty=hints)
    with pytest.raises(NothingToDo):
        project.save(dirty=[])

    nothing = project.workspace.skipped()
    assert nothing == []
    assert b"node_modules/pkg/index.js" not in project.captured()


@pytest.mark.parametrize("name", [".gitignore", ".backtrailignore"])
@pytest.mark.parametrize("place", ["", "folder/"])
@pytest.mark.parametrize("full", [True, False], ids=["everything", "dirty"])
def test_a_changed_ignore_file_decides_again_about_everything_below_it(
    project: Project, name: str, place: str, full: bool
):
    """Whoever adds a line to .gitignore wants those files out now; whoever removes it wants them in."""
    ignore = os.fsencode(place + name)
    dirty = None if full else [ignore]
    project.write("folder/deep/x.log", b"log")
    project.write("folder/deep/deeper/x.log", b"log")
    project.save()
    before = set(project.captured())
    logs = {b"folder/deep/x.log", b"folder/deep/deeper/x.log"}
    assert logs < before

    project.write(ignore, b"*.log\ndeep/deeper/\n")
    project.save(dirty=dirty)
    assert set(project.captured()) == (before - logs) | {ignore}
    with pytest.raises(NothingToDo):
        project.save()

    project.write(ignore, b"# nothing\n")
    project.save(dirty=dirty)
    assert set(project.captured()) == before | {ignore}
    project.write(ignore, b"*.log\n")
    project.save(dirty=dirty)
    (project.root / os.fsdecode(ignore)).unlink()
    checkpoint = project.save(dirty=dirty)
    assert set(project.captured()) == before
    project.check(checkpoint)
    nothing_was_missed(project)


def test_a_folder_becomes_captured_although_only_its_ignore_file_was_named(project: Project):
    """`!` takes a default back: the files under it were never seen and have to be found."""
    project.write("node_modules/pkg/index.js", b"js")
    project.write(".gitignore", b"!node_modules/\n")

    checkpoint = project.save(dirty=[b".gitignore"])

    assert b"node_modules/pkg/index.js" in project.captured()
    project.check(checkpoint)


def test_files_in_an_excluded_folder_are_left_out_when_the_hint_names_one_of_them(project: Project):
    """One matcher decides for the crawl and for hints, also where a parent of the path is what is excluded."""
    project.write(".gitignore", b"/build/\n*.o\n")
    project.save()
    project.write("build/out/result", b"r")
    project.write("folder/x.o", b"o")

    with pytest.raises(NothingToDo):
        project.save(dirty=[b"build/out/result", b"folder/x.o"])


def test_a_moved_folder_brings_its_skipped_files_along(project: Project):
    """The report names what is left out where it is now, not where it was."""
    os.mkfifo(project.root / "folder" / "pipe")
    project.write("file", b"1")
    assert [left.path for left in project.save().skipped] == [b"folder/pipe"]

    (project.root / "folder").rename(project.root / "moved")
    project.save(dirty=[b"folder", b"moved"])

    assert [left.path for left in project.workspace.skipped()] == [b"moved/pipe"]


def test_paths_deeper_than_folders_are_kept_open_are_found(project: Project):
    """A process may have only so many files open, and trees of dependencies go deep."""
    deep = "/".join(["deeper"] * (way.OPEN_AT_ONCE + 20))
    for name in ("one/file", "two/file", "file"):
        project.write(f"{deep}/{name}", b"first")
    project.save()
    paths = [os.fsencode(f"{deep}/{name}") for name in ("one/file", "two/file", "file")]
    for path in paths:
        project.write(path, b"changed")
    project.save(dirty=paths)
    assert not [path for path in open_files() if path.startswith(str(project.root))]
    nothing_was_missed(project)


def open_files() -> list[str]:
    """The paths of all that this process has open."""
    folder = Path("/proc/self/fd")
    return [os.readlink(link) for link in folder.iterdir() if link.is_symlink()]
