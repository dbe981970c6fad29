"""What a save is about to read is asked for ahead: the disk looks for it while something else is done."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtraild.model import ObjectId
from backtraild.store import expecting
from support.project import Project

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="which has no such call")

DEEP = "part/unit/file"


class Calls:
    """Every place that the kernel was told of, and every place that was read, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made: list[tuple[str, str, int]] = []
        advise, read = os.posix_fadvise, os.pread

        def noted_advise(descriptor: int, offset: int, length: int, advice: int) -> None:
            assert (length, advice) == (max(length, 4096), os.POSIX_FADV_WILLNEED)
            self.made.append(("expected", _name(descriptor), offset))
            advise(descriptor, offset, length, advice)

        def noted_read(descriptor: int, length: int, offset: int) -> bytes:
            self.made.append(("read", _name(descriptor), offset))
            return read(descriptor, length, offset)

        monkeypatch.setattr(os, "posix_fadvise", noted_advise)
        monkeypatch.setattr(os, "pread", noted_read)

    def of(self, what: str) -> list[tuple[str, int]]:
        return [(name, offset) for kind, name, offset in self.made if kind == what]

    def are_ahead(self, place: tuple[str, int]) -> bool:
        """Was a place asked for before it was read?"""
        return self.made.index(("expected", *place)) < self.made.index(("read", *place))


def _name(descriptor: int) -> str:
    return os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")).removesuffix(".pack")


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """Two checkpoints, and a workspace that has just been opened and remembers neither."""
    with Project(tmp_path) as opened:
        opened.write(DEEP, "old\n")
        opened.write("top", "old\n")
        opened.workspace.start()
        opened.write("part/beside", "so that the folders around it are known\n")
        opened.save()
        opened.reopen()
        yield opened


def place_of(project: Project, path: str) -> tuple[str, int]:
    """Where an object of the newest checkpoint lies."""
    listed = project.workspace.history.find("@").tree
    oid: ObjectId = bytes.fromhex(listed)
    objects = project.workspace.store.objects
    for name in path.encode().split(b"/"):
        oid = objects.read_tree(oid)[name].oid
    place = objects._packs.place(oid)
    assert place is not None
    return place


def test_the_old_content_is_looked_for_while_the_new_one_is_read(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Line by line they are compared at the end of a save."""
    place = place_of(project, DEEP)
    project.write(DEEP, "new\n")
    calls = Calls(monkeypatch)
    project.check(project.save(dirty=[DEEP.encode()]))
    assert calls.are_ahead(place)


def test_the_tree_of_a_folder_is_looked_for_while_its_files_are(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those around it are in memory, as other folders in them were changed before."""
    place = place_of(project, "part/unit")
    project.reopen()
    objects = project.workspace.store.objects
    objects.tree_content(
        objects.read_tree(bytes.fromhex(project.workspace.history.find("@").tree))[b"part"].oid
    )
    project.write(DEEP, "new\n")
    calls = Calls(monkeypatch)
    project.check(project.save(dirty=[DEEP.encode()]))
    assert calls.are_ahead(place)


def test_what_is_in_memory_is_not_looked_for(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second save in a folder reads nothing of it, so there is nothing to expect."""
    place = place_of(project, "part/unit")
    place_of(project, DEEP)  # which has to read it
    project.write(DEEP, "new\n")
    calls = Calls(monkeypatch)
    project.save(dirty=[DEEP.encode()])
    assert place not in calls.of("expected")


def test_of_many_folders_none_is_looked_for(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk would be asked for all of them before the first is needed."""
    monkeypatch.setattr(expecting, "MOST_PATHS", 1)
    place = place_of(project, "part/unit")
    project.reopen()
    project.write(DEEP, "new\n")
    project.write("top", "new\n")
    calls = Calls(monkeypatch)
    project.check(project.save(dirty=[DEEP.encode(), b"top"]))
    assert place not in calls.of("expected")


def test_an_object_that_is_nowhere_is_no_trouble_yet(project: Project) -> None:
    """Whoever reads it says what is wrong."""
    project.workspace.store.objects.expect(b"\1" * 20)
    expecting.expect_folders(project.workspace.store.objects, "01" * 20, [DEEP.encode()])


def test_a_path_through_what_is_no_folder_leads_nowhere(project: Project) -> None:
    """Folders that are new are in no tree."""
    tree = project.workspace.history.find("@").tree
    objects = project.workspace.store.objects
    objects.tree_content(bytes.fromhex(tree))
    expecting.expect_folders(objects, tree, [b"new/folder/file", b"top/file", b"file"])
