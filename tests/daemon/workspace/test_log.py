"""The log of one file or folder: every version that is left, each once, at a cost that follows their number."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from backtrail.errors import UnknownPath, UsageError
from backtraild.model import FILE_MODE, Change, Entry, FileChange, Kind, Status
from backtraild.store import LISTED_CHANGES, Store, record
from backtraild.store.objects import ObjectType
from backtraild.workspace import Version, Workspace
from backtraild.workspace.annals import _after_holes
from support.drafts import draft
from support.git import git
from support.project import Project

TEXT = b"".join(b"line %d\n" % number for number in range(30))


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project(tmp_path) as project:
        yield project


def log(project: Project, path: bytes) -> list[Version]:
    """All versions, which must be the same page by page."""
    page = project.workspace.log(path, 1000)
    assert page.next is None
    for limit in (1, 2):
        found, cursor = [], None
        while True:
            part = project.workspace.log(path, limit, cursor)
            found += part.versions
            if part.next is None:
                break
            assert len(part.versions) == limit
            cursor = part.next
        assert tuple(found) == page.versions
    return list(page.versions)


def outline(project: Project, path: bytes) -> list[tuple[object, ...]]:
    """Number, status, and the lines that came and went."""
    return [
        (each.checkpoint.number, each.status.value, each.insertions, each.deletions)
        for each in log(project, path)
    ]


def change_other(project: Project, count: int = 1) -> None:
    """Checkpoints that leave the file in question alone."""
    for _ in range(count):
        newest = project.workspace.history.newest()
        project.write("other.txt", f"{newest}\n")
        project.save()


def test_a_version_tells_who_changed_the_file_when_and_how_much(project: Project):
    """`log app.py` answers: which prompt broke this file, and what was it before?"""
    project.workspace.start()
    project.write("app.py", b"one\ntwo\n")
    project.save("made", kind=Kind.AGENT, session="s1", turn=3)
    change_other(project, 2)
    project.write("app.py", b"one\n2\nthree\n")
    changed = project.save("changed", session="s2", turn=1)
    (project.root / "app.py").chmod(0o755)
    project.save()
    (project.root / "app.py").unlink()
    project.save()
    change_other(project)

    newest, mode, modified, added = log(project, b"app.py")

    assert outline(project, b"app.py") == [
        (7, "deleted", 0, 3),
        (6, "mode", 0, 0),
        (5, "modified", 2, 1),
        (2, "added", 2, 0),
    ]
    assert modified.checkpoint == changed
    assert (added.checkpoint.session, added.checkpoint.turn, added.checkpoint.kind) == ("s1", 3, Kind.AGENT)
    assert (newest.oid, newest.size) == (None, 0)
    assert mode.oid == modified.oid
    assert git("cat-file", "blob", str(modified.oid), git_dir=project.git_dir) == b"one\n2\nthree\n"
    assert modified.size == 12


def test_a_renamed_file_keeps_its_history(project: Project):
    """A refactoring moves files; what was known about them must not begin anew."""
    project.write("old.txt", TEXT)
    project.write("new.txt", b"another file that had the name before\n")
    project.workspace.start()
    project.write("old.txt", TEXT + b"more\n")
    project.save()
    (project.root / "new.txt").unlink()
    project.save()
    change_other(project)
    (project.root / "old.txt").rename(project.root / "new.txt")
    project.save()
    (project.root / "sub").mkdir()
    (project.root / "new.txt").rename(project.root / "sub/newest.txt")
    project.write("sub/newest.txt", TEXT + b"more\nand more\n")
    project.save()
    project.write("sub/newest.txt", TEXT)
    project.save()

    found = log(project, b"sub/newest.txt")

    assert [(each.checkpoint.number, each.path, each.old_path) for each in found] == [
        (7, b"sub/newest.txt", None),
        (6, b"sub/newest.txt", b"new.txt"),
        (5, b"new.txt", b"old.txt"),
        (2, b"old.txt", None),
        (1, b"old.txt", None),
    ]
    assert outline(project, b"sub/newest.txt")[:3] == [
        (7, "modified", 0, 2),
        (6, "renamed", 1, 0),
        (5, "renamed", 0, 0),
    ]
    assert outline(project, b"old.txt") == [(5, "deleted", 0, 31), (2, "modified", 1, 0), (1, "added", 30, 0)]


def test_deleted_checkpoints_leave_no_hole_in_the_history(project: Project):
    """Retention drops checkpoints; what they changed is then first seen in the next one that is left."""
    project.write("a.txt", b"1\n")
    project.workspace.start()
    for number in range(2, 10):
        if number in (3, 5, 6, 8):
            project.write("a.txt", b"%d\n" % number)
        project.write("other.txt", f"{number}\n")
        project.save()
    before = outline(project, b"a.txt")
    for number in ("3", "6", "8"):
        project.workspace.delete(number)

    assert [row[0] for row in before] == [8, 6, 5, 3, 1]
    assert outline(project, b"a.txt") == [
        (9, "modified", 1, 1),
        (7, "modified", 1, 1),
        (5, "modified", 1, 1),
        (4, "modified", 1, 1),
        (1, "added", 1, 0),
    ]
    project.workspace.delete("5")  # changed twice in a row by checkpoints that are gone
    project.workspace.delete("1")
    assert [row[:2] for row in outline(project, b"a.txt")] == [
        (9, "modified"),
        (7, "modified"),
        (4, "modified"),
        (2, "added"),
    ]
    project.workspace.close()
    (project.store / "state.db").unlink()
    project.reopen()
    assert [row[0] for row in outline(project, b"a.txt")] == [9, 7, 4, 2]


def test_a_change_that_was_taken_back_in_a_deleted_checkpoint_is_seen(project: Project):
    """The same content before and after does not mean that nothing happened in between."""
    project.write("a.txt", b"A\n")
    project.workspace.start()
    for number, content in ((2, b"B\n"), (3, b"B\n"), (4, b"A\n"), (5, b"A\n")):
        project.write("a.txt", content)
        project.write("other.txt", f"{number}\n")
        project.save()
    project.workspace.delete("2")
    project.workspace.delete("4")

    assert [row[:2] for row in outline(project, b"a.txt")] == [
        (5, "modified"),
        (3, "modified"),
        (1, "added"),
    ]


def test_a_rename_in_a_deleted_checkpoint_is_found_from_the_files(project: Project):
    """The checkpoint that recorded the rename is gone; its neighbours still hold both files."""
    project.write("old.txt", TEXT)
    project.workspace.start()
    (project.root / "old.txt").rename(project.root / "new.txt")
    project.save()
    project.write("new.txt", TEXT + b"more\n")
    project.save()
    project.workspace.delete("2")

    found = log(project, b"new.txt")

    assert [(each.checkpoint.number, each.status, each.old_path) for each in found] == [
        (3, Status.RENAMED, b"old.txt"),
        (1, Status.ADDED, None),
    ]
    assert (found[0].insertions, found[0].deletions) == (1, 0)


def test_a_damaged_checkpoint_hands_its_change_on_to_the_next(project: Project):
    """One bad ref must neither end the log nor hide a change."""
    project.write("a.txt", b"A\n")
    project.workspace.start()
    project.write("a.txt", b"B\n")
    project.save()
    change_other(project, 2)
    (project.git_dir / "refs/checkpoints/2").write_text("0" * 40 + "\n")

    expected = [(3, "modified", 1, 1), (1, "added", 1, 0)]
    assert outline(project, b"a.txt") == expected
    project.workspace.close()
    (project.store / "state.db").unlink()  # an index made now does not know of checkpoint 2
    project.reopen()
    assert outline(project, b"a.txt") == expected


def test_checkpoints_with_very_many_changes_are_found_by_their_trees(project: Project):
    """They do not name all of their files, and renames among them are told only by comparing."""
    for number in range(LISTED_CHANGES + 20):
        project.write(f"many/{number}", f"{number}\n")
    project.write("zz/old.txt", TEXT)
    project.workspace.start()
    for number in range(LISTED_CHANGES + 20):
        project.write(f"many/{number}", f"again {number}\n")
    (project.root / "zz/old.txt").rename(project.root / "zz/new.txt")
    project.save()
    change_other(project)

    assert [row[:2] for row in outline(project, b"zz/new.txt")] == [(2, "renamed"), (1, "added")]
    assert outline(project, b"zz") == [(2, "modified", 0, 0), (1, "added", 30, 0)]
    assert outline(project, b"many") == [(2, "modified", None, None), (1, "added", None, None)]


def test_the_log_of_a_folder_has_every_change_in_it(project: Project):
    """`log src` shows when anything in it changed, and not what changed beside it."""
    project.write("src.bak/a", b"x\n")
    project.workspace.start()
    project.write("src/a", b"1\n2\n")
    project.save()
    change_other(project)
    project.write("src/deep/b", TEXT)
    project.write("src.bak/a", b"y\n")
    project.save()
    (project.root / "src/deep/b").rename(project.root / "moved-out")
    project.save()
    (project.root / "src/a").unlink()
    (project.root / "src/deep").rmdir()
    (project.root / "src").rmdir()
    project.save()

    assert outline(project, b"src") == [
        (6, "deleted", 0, 2),
        (5, "modified", 0, 30),
        (4, "modified", 30, 0),
        (2, "added", 2, 0),
    ]
    tree = log(project, b"src")[1].oid
    assert git("ls-tree", "--name-only", str(tree), git_dir=project.git_dir) == b"a\n"
    assert [row[0] for row in outline(project, b"")] == [6, 5, 4, 3, 2, 1]
    assert [row[0] for row in outline(project, b"src.bak")] == [4, 1]


def test_a_file_in_the_place_of_a_folder_is_another_thing(project: Project):
    """A path may lead to a folder today and to a file tomorrow."""
    project.write("thing/a", b"1\n")
    project.workspace.start()
    (project.root / "thing/a").unlink()
    (project.root / "thing").rmdir()
    project.write("thing", b"completely different\n")
    project.save()
    (project.root / "thing").unlink()
    project.write("thing/b", b"1\n")
    project.save()

    assert [row[:2] for row in outline(project, b"thing")] == [(3, "added"), (2, "added"), (1, "added")]


def test_names_that_are_not_text_can_be_followed_over_pages(project: Project):
    """The place where a page ends names a file, and a file name is bytes."""
    project.write(b"caf\xe9:1", TEXT)
    project.workspace.start()
    (project.root / "caf\udce9:1").rename(project.root / "cafe")
    project.save()

    assert [each.path for each in log(project, b"cafe")] == [b"cafe", b"caf\xe9:1"]


def test_what_makes_no_sense_is_refused(project: Project):
    """A typo must not look like a file without a history."""
    project.write("a.txt")
    project.workspace.start()

    for path in (b"b.txt", b"a.txt/b", b"a"):
        with pytest.raises(UnknownPath):
            project.workspace.log(path)
    for limit in (0, -1):
        with pytest.raises(UsageError):
            project.workspace.log(b"a.txt", limit)
    for cursor in ("", "a.txt", "x:a.txt", "-1:a.txt", "²:a.txt"):
        with pytest.raises(UsageError):
            project.workspace.log(b"a.txt", cursor=cursor)


def make_long_history(folder: Path, length: int, every: int) -> None:
    """Checkpoints in one pack: as many as a folder gathers in months, in a moment."""
    store = Store.create(str(folder / "repo.git"))
    pack = store.new_pack()
    tree, refs = None, []
    for number in range(1, length + 1):
        path = b"rare" if number % every == 0 else b"often"
        entry = Entry(FILE_MODE, pack.add_blob(b"%d\n" % number))
        parent = tree
        tree = store.write_tree(pack, parent, {path: Change(None, entry)}).hex()
        made = replace(
            draft(parent=number - 1 or None, parent_tree=parent),
            files_changed=(FileChange(path, Status.MODIFIED, 5, None, 1, 1),),
            files_changed_count=1,
        )
        commit = pack.add(ObjectType.COMMIT, record.encode(number, bytes.fromhex(tree), made)).hex()
        refs.append(f"{commit} refs/checkpoints/{number}\n")
    pack.finish()
    (folder / "repo.git/packed-refs").write_text("".join(sorted(refs, key=lambda line: line.split()[1])))


def test_the_cost_follows_the_versions_and_not_the_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A file that changed twenty times in thousands of checkpoints is answered for at once."""
    (tmp_path / "work").mkdir()
    make_long_history(tmp_path / "store", 2_000, 100)
    workspace = Workspace(str(tmp_path / "work"), str(tmp_path / "store"))
    store, read = workspace._parts.store, []
    get = store.get
    monkeypatch.setattr(store, "get", lambda number: read.append(number) or get(number))
    try:
        versions = workspace.log(b"rare", 50).versions
        assert [each.checkpoint.number for each in versions] == list(range(2_000, 0, -100))
        assert len(read) <= len(versions) + 1  # and the first of all
        read.clear()
        page = workspace.log(b"often", 20)
        assert len(page.versions) == 20
        assert len(read) <= 22
    finally:
        workspace.close()


@given(st.sets(st.integers(1, 60)), st.integers(0, 60))
def test_the_checkpoints_after_holes_are_found_without_looking_at_all_of_them(present: set[int], end: int):
    """A file's history must not skip what a deleted checkpoint had changed; thousands without a hole cost nothing."""
    numbers = sorted(present)
    wanted = [number for number in numbers[:end] if number - 1 not in present]
    assert list(_after_holes(numbers, min(end, len(numbers)))) == wanted[::-1]
