"""Restore as its user sees it: what is written, deleted and left alone, and with which permissions."""

import errno
import itertools
import os
import stat
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtrail.errors import RestoreFailed, RestoreInterrupted, StoreDamaged, WorkspaceUnavailable
from backtraild import restore
from backtraild.restore import OS, Calls, Conflict, Reason
from backtraild.restore.access import refuse_barred
from backtraild.restore.folders import Folder, Folders
from daemon.test_restore_world import (
    Link,
    Program,
    World,
    blob_id,
    everything,
    expected,
    identities,
    put,
    without_renameat2,
)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def _mode(world: World, path: str) -> int:
    return stat.S_IMODE((world.root / path).lstat().st_mode)


STATES = {
    "missing": {},
    "file": {b"a/p": b"content"},
    "other file": {b"a/p": b"other content"},
    "program": {b"a/p": Program(b"content")},
    "symlink": {b"a/p": Link(b"../target")},
    "other symlink": {b"a/p": Link(b"/elsewhere")},
    "folder": {b"a/p/x": b"1", b"a/p/deep/er/y": b"2"},
    "other folder": {b"a/p/x": b"3", b"a/p/z": Link(b"x")},
}


@pytest.mark.parametrize("exchange", [True, False], ids=["exchange", "no exchange"])
@pytest.mark.parametrize(("old", "new"), list(itertools.permutations(STATES, 2)))
def test_anything_can_become_anything_else(world: World, old: str, new: str, exchange: bool) -> None:
    """Whatever an agent turned a path into, the state before can be had back."""
    world.put(STATES[old])
    world.go(STATES[old], STATES[new], OS if exchange else without_renameat2())
    assert world.on_disk() == expected(STATES[new])
    world.assert_tidy()


def test_the_outcome_names_what_was_done(world: World) -> None:
    """The reply to the user lists files written and deleted, and counts the rest."""
    old = {b"changed": b"1", b"gone": b"2", b"tool": b"3"}
    new = {b"changed": b"one", b"came": b"4", b"tool": Program(b"3")}
    world.put(old)
    plan = world.plan(old, new, unchanged=40)
    assert [write.path for write in plan.writes] == [b"came", b"changed"]
    assert [delete.path for delete in plan.deletes] == [b"gone"]
    outcome = world.apply(plan)
    told = restore.Outcome((b"came", b"changed"), (b"gone",), (b"tool",), 40, (), outcome.placed)
    assert outcome == told


def test_planning_changes_nothing(world: World) -> None:
    """A dry run may be asked for at any time."""
    old, new = {b"a": b"1", b"d/x": b"2"}, {b"a": b"2", b"d": b"3"}
    world.put(old)
    before = identities(world.root)
    world.plan(old, new)
    assert identities(world.root) == before
    assert world.on_disk() == expected(old)


def test_only_differing_files_are_rewritten(world: World) -> None:
    """Everything else keeps its inode and mtime, so that nothing is rebuilt for no reason."""
    same = {b"d/%d" % number: b"same %d" % number for number in range(50)}
    world.put({**same, b"d/x": b"old"})
    before = identities(world.root)
    outcome = world.go({**same, b"d/x": b"old"}, {**same, b"d/x": b"new"})
    after = identities(world.root)
    assert outcome.written == (b"d/x",)
    assert before.pop(b"d/x") != after.pop(b"d/x")
    assert after == before


def test_a_file_that_is_as_wanted_already_is_left_untouched(world: World) -> None:
    """The user may have put it right by hand between the checkpoint and the restore."""
    world.put({b"a": b"wanted", b"b": b"wanted"})
    before = identities(world.root)
    outcome = world.go({b"a": b"old"}, {b"a": b"wanted", b"b": b"wanted"})
    assert outcome == restore.Outcome((), (), (), 2, ())
    assert identities(world.root) == before


def test_what_is_gone_already_need_not_be_deleted(world: World) -> None:
    """Somebody deleted it after the safety checkpoint: as wanted."""
    outcome = world.go({b"a": b"1", b"d/e/f": b"2"}, {})
    assert outcome == restore.Outcome((), (), (), 2, ())


def test_a_file_deleted_after_the_safety_checkpoint_is_written_again(world: World) -> None:
    """Nothing is there, so nothing can be lost by writing."""
    world.go({b"d/a": b"old"}, {b"d/a": b"new"})
    assert world.on_disk() == expected({b"d/a": b"new"})


CONFLICTS = {
    "an ignored file": ({}, {b"p": b"ignored"}, {b"p": b"new"}, b"p", Reason.UNCAPTURED),
    "an edit since": ({b"p": b"old"}, {b"p": b"edit"}, {b"p": b"new"}, b"p", Reason.CHANGED),
    "an edit of a file to be deleted": ({b"p": b"old"}, {b"p": b"edit"}, {}, b"p", Reason.CHANGED),
    "a chmod since the safety checkpoint": (
        {b"p": b"old"}, {b"p": Program(b"old")}, {b"p": b"new"}, b"p", Reason.CHANGED,
    ),
    "a symlink in place of the file": (
        {b"p": b"old"}, {b"p": Link(b"old")}, {b"p": b"new"}, b"p", Reason.CHANGED,
    ),
    "a folder with ignored files where a file should go": (
        {b"p/x": b"1"}, {b"p/x": b"1", b"p/ignored": b"2"}, {b"p": b"new"}, b"p", Reason.FOLDER,
    ),
    "a folder in place of a file to be deleted": ({b"p": b"1"}, {b"p/x": b"2"}, {}, b"p", Reason.FOLDER),
    "a symlinked parent": ({}, {b"d": Link(b"/tmp")}, {b"d/p": b"new"}, b"d/p", Reason.PARENT),
    "an ignored file as a parent": ({}, {b"d": b"file"}, {b"d/p": b"new"}, b"d/p", Reason.PARENT),
    "an edited file as a parent": ({b"d": b"old"}, {b"d": b"edit"}, {b"d/p": b"new"}, b"d/p", Reason.PARENT),
    "a symlinked parent of a file to be deleted": (
        {b"d/p": b"1"}, {b"d": Link(b"/tmp")}, {}, b"d/p", Reason.PARENT,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CONFLICTS)
def test_what_no_checkpoint_holds_is_never_touched(world: World, name: str) -> None:
    """Restore in other tools destroyed what had never been captured; here it stays, byte for byte."""
    old, disk, new, path, reason = CONFLICTS[name]
    world.put(disk)
    before = identities(world.root)
    outcome = world.go(old, {**new, b"other": b"written"})
    assert Conflict(path, reason) in outcome.conflicts
    assert outcome.written == (b"other",)
    after = identities(world.root)
    assert all(after[kept] == before[kept] for kept in disk if kept not in outcome.deleted)
    world.assert_tidy()


def test_an_excluded_file_survives_in_a_folder_that_is_deleted(world: World) -> None:
    """Ignored build results lie beside the sources; deleting the sources leaves them, and the folder."""
    world.put({b"d/x": b"1", b"d/e/y": b"2", b"d/e/ignored": b"keep"})
    outcome = world.go({b"d/x": b"1", b"d/e/y": b"2"}, {})
    assert outcome.deleted == (b"d/e/y", b"d/x")
    assert world.on_disk() == expected({b"d/e/ignored": b"keep"})


def test_a_folder_that_was_empty_before_is_not_removed(world: World) -> None:
    """It is in nobody's way, and no checkpoint holds it, so it could not be had back."""
    (world.root / "d" / "empty").mkdir(parents=True)
    world.put({b"d/x": b"1"})
    outcome = world.go({b"d/x": b"1"}, {})
    assert not outcome.conflicts
    assert world.on_disk() == {b"d": b"folder", b"d/empty": b"folder"}


def test_empty_folders_make_room_for_a_file(world: World) -> None:
    """Tools leave empty folders behind; there is nothing in them to lose, and the file is what was asked for."""
    (world.root / "p" / "a" / "b").mkdir(parents=True)
    (world.root / "p" / "c").mkdir()
    outcome = world.go({}, {b"p": b"new"})
    assert not outcome.conflicts
    assert world.on_disk() == expected({b"p": b"new"})


def test_folders_with_something_in_them_do_not_make_room(world: World) -> None:
    """One ignored file deep in otherwise empty folders is enough to stop."""
    (world.root / "p" / "empty").mkdir(parents=True)
    world.put({b"p/a/b/ignored": b"keep"})
    outcome = world.go({}, {b"p": b"new"})
    assert outcome.conflicts == (Conflict(b"p", Reason.FOLDER),)
    assert world.on_disk() == {**expected({b"p/a/b/ignored": b"keep"}), b"p/empty": b"folder"}


def test_a_fifo_in_the_place_of_a_file_neither_hangs_nor_goes(world: World) -> None:
    """Opening a FIFO waits for a writer for ever."""
    os.mkfifo(world.root / "p")
    outcome = world.go({b"p": b"old"}, {b"p": b"new"})
    assert outcome.conflicts == (Conflict(b"p", Reason.CHANGED),)
    assert world.on_disk() == {b"p": b"special"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_cannot_be_read_is_left_alone(world: World) -> None:
    """What cannot be compared is not known to be in a checkpoint."""
    world.put({b"p": b"old"})
    (world.root / "p").chmod(0)
    outcome = world.go({b"p": b"old"}, {b"p": b"new"})
    assert outcome.conflicts == (Conflict(b"p", Reason.UNREADABLE),)


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (0o600, b"1", b"2", 0o600),
        (0o664, b"1", b"2", 0o664),
        (0o640, b"1", Program(b"2"), 0o750),
        (0o640, b"1", Program(b"1"), 0o750),
        (0o750, Program(b"1"), b"1", 0o640),
        (0o711, Program(b"1"), Program(b"2"), 0o711),
        (0o700, Program(b"1"), b"2", 0o600),
    ],
)
def test_a_replaced_file_keeps_its_permissions(
    world: World, before: int, old: bytes, new: bytes, after: int
) -> None:
    """A private file stays private; git's mode only says whether it is executable."""
    world.put({b"p": old})
    (world.root / "p").chmod(before)
    world.go({b"p": old}, {b"p": new})
    assert _mode(world, "p") == after


def test_a_mode_change_does_not_rewrite_the_file(world: World) -> None:
    """Only the executable bit differs, so inode and mtime stay."""
    world.put({b"p": b"1"})
    before = (world.root / "p").stat()
    outcome = world.go({b"p": b"1"}, {b"p": Program(b"1")})
    after = (world.root / "p").stat()
    assert outcome.mode_changed == (b"p",)
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize(("folder", "file", "program"), [(0o755, 0o644, 0o755), (0o700, 0o600, 0o700)])
def test_new_files_and_folders_take_after_their_parent(
    world: World, folder: int, file: int, program: int
) -> None:
    """A restored file is as private as the folder it is in, whatever umask the daemon runs with."""
    world.root.chmod(folder)
    world.go({}, {b"d/e/f": b"1", b"d/g": Program(b"2")})
    assert _mode(world, "d") == _mode(world, "d/e") == folder
    assert (_mode(world, "d/e/f"), _mode(world, "d/g")) == (file, program)


def test_names_that_are_not_utf_8_are_restored(world: World) -> None:
    """A file name is bytes, and so is every path here."""
    old = {b"caf\xe9/\xff": b"1", b'"quoted"': b"2", b"new\nline": b"3"}
    new = {b"caf\xe9/\xff": b"one", b"caf\xe9/\xfe": Link(b"\xff"), b"new\nline/x": b"4"}
    world.put(old)
    world.go(old, new)
    assert world.on_disk() == expected(new)


def test_a_path_longer_than_the_kernel_takes_at_once_is_restored(world: World) -> None:
    """Components are walked one by one, so the limit on whole paths does not apply."""
    deep = b"/".join([b"n" * 200] * 40) + b"/file"
    world.go({}, {deep: b"1"})
    plan = world.plan({deep: b"1"}, {deep: b"2"})
    assert [write.seen is not None for write in plan.writes] == [True]
    world.apply(plan)
    world.go({deep: b"2"}, {})
    assert os.listdir(world.root) == []


def test_more_folders_than_may_be_open_are_restored(world: World) -> None:
    """The cache of open folders is bounded; paths beyond it are walked again."""
    old = {b"d%d/e/f" % number: b"old" for number in range(300)}
    new = {b"d%d/e/f" % number: b"new %d" % number for number in range(0, 300, 2)} | {
        b"d%d/e" % number: b"file" for number in range(1, 300, 2)
    }
    world.put(old)
    world.go(old, new)
    assert world.on_disk() == expected(new)
    world.assert_tidy()


def test_descriptors_are_not_leaked(world: World) -> None:
    """The daemon runs for months."""
    before = len(os.listdir("/proc/self/fd"))
    world.put({b"d/a": b"1"})
    world.go({b"d/a": b"1"}, {b"d/a": b"2", b"e/f": b"3"})
    assert len(os.listdir("/proc/self/fd")) == before


def test_large_content_is_streamed(world: World) -> None:
    """Content beyond the memory budget is read once to check it and once to write it."""
    big = bytes(range(256)) * 4096 * 70
    world.go({}, {b"big": big, b"small": b"1"})
    assert (world.root / "big").read_bytes() == big


def test_damage_is_found_before_the_first_byte_is_written(world: World) -> None:
    """A restore from a damaged store must not leave half a tree."""
    old, new = {b"a": b"1", b"z": b"old"}, {b"a": b"2", b"z": b"damaged content"}
    world.put(old)
    plan = world.plan(old, new)
    world.shelf.damaged.add(blob_id(b"damaged content"))
    before = identities(world.root)
    with pytest.raises(StoreDamaged):
        world.apply(plan)
    assert identities(world.root) == before
    world.assert_tidy()


def test_a_workspace_that_is_gone_is_an_error(world: World) -> None:
    """An unmounted folder must not look like one in which everything was deleted."""
    plan = world.plan({}, {b"a": b"1"})
    world.root.rmdir()
    with pytest.raises(WorkspaceUnavailable):
        world.apply(plan)


def test_a_workspace_that_became_a_symlink_is_refused(world: World, tmp_path: Path) -> None:
    """Its root is the one path that is handed to the kernel as a whole."""
    plan = world.plan({}, {b"a": b"1"})
    (tmp_path / "outside").mkdir()
    world.root.rmdir()
    world.root.symlink_to(tmp_path / "outside")
    with pytest.raises(WorkspaceUnavailable):
        world.apply(plan)
    assert os.listdir(tmp_path / "outside") == []


class Racer(Calls):
    """Another program that does one more thing each time just before a file is moved."""

    def __init__(self, act: "Iterator[object]", exchange: bool = True) -> None:
        def rename(*arguments: object, **options: object) -> None:
            next(act, None)
            OS.rename(*arguments, **options)  # type: ignore[arg-type]

        def renameat2(*arguments: object) -> None:
            next(act, None)
            if not exchange:
                raise OSError(errno.ENOSYS, "Function not implemented")
            OS.renameat2(*arguments)  # type: ignore[arg-type]

        self.rename, self.renameat2 = rename, renameat2  # type: ignore[method-assign, assignment]


def _replace(world: World, path: bytes, content: bytes) -> None:
    put(world.folder, b"racer", content)
    os.replace(world.folder / "racer", os.path.join(os.fsencode(world.root), path))


@pytest.mark.parametrize("exchange", [True, False], ids=["exchange", "no exchange"])
@pytest.mark.parametrize("racing", [b"theirs", Program(b"old"), Link(b"theirs")])
@pytest.mark.parametrize("new", [{b"d/p": b"new"}, {}, {b"d/p/x": b"new"}], ids=["write", "delete", "folder"])
def test_a_file_replaced_just_before_the_move_survives(
    world: World, new: dict[bytes, bytes], racing: bytes, exchange: bool
) -> None:
    """An editor saves between the check and the exchange: what it saved is in no checkpoint yet."""
    world.put({b"d/p": b"old", b"d/q": b"q"})
    plan = world.plan({b"d/p": b"old"}, new)

    def act() -> Iterator[object]:
        yield _replace(world, b"d/p", racing)

    outcome = world.apply(plan, Racer(act(), exchange))
    assert world.on_disk() == expected({b"d/p": racing, b"d/q": b"q"})
    assert Conflict(b"d/p", Reason.CHANGED) in outcome.conflicts
    assert outcome.written == outcome.deleted == ()
    world.assert_tidy()


@pytest.mark.parametrize("exchange", [True, False], ids=["exchange", "no exchange"])
def test_a_write_in_place_just_before_the_move_survives(world: World, exchange: bool) -> None:
    """The same inode and the same length, and so soon that the clock has not moved: content decides."""
    put(world.root, b"p", b"old")
    plan = world.plan({b"p": b"old"}, {b"p": b"new"})

    def act() -> Iterator[object]:
        times = (world.root / "p").stat()
        (world.root / "p").write_bytes(b"hey")
        yield os.utime(world.root / "p", ns=(times.st_atime_ns, times.st_mtime_ns))

    outcome = world.apply(plan, Racer(act(), exchange))
    assert world.on_disk() == expected({b"p": b"hey"})
    assert outcome.conflicts == (Conflict(b"p", Reason.CHANGED),)
    world.assert_tidy()


def test_what_somebody_puts_into_the_staging_folder_stays(world: World) -> None:
    """A script that runs over the whole folder may leave something there; it is not ours to delete."""
    world.put({b"p": b"old"})
    plan = world.plan({b"p": b"old"}, {b"p": b"new"})

    def act() -> Iterator[object]:
        (staging,) = world.root.glob(".backtrail-restore-*")
        yield (staging / "p.bak").write_bytes(b"theirs")

    world.apply(plan, Racer(act()))
    assert sorted(world.on_disk().values()) == [b"file new", b"file theirs", b"folder"]
    world.assert_store_tidy()


def test_a_daemon_without_descriptors_reports_no_conflicts(world: World) -> None:
    """Running out of descriptors says nothing about the user's files."""
    world.put({b"p": b"old"})
    calls = Calls()

    def exhausted(path: bytes, flags: int, mode: int = 0, *, dir_fd: int | None = None) -> int:
        if dir_fd is not None:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return OS.open(path, flags, mode)

    calls.open = exhausted  # type: ignore[method-assign, assignment]
    with pytest.raises(RestoreFailed, match="Too many open files"):
        restore.make_plan(str(world.root), world.changes({b"p": b"old"}, {b"p": b"new"}), 0, calls=calls)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_put_in_the_place_of_another_survives(world: World) -> None:
    """It cannot be compared once it came out of the exchange, so it goes back."""
    world.put({b"p": b"old", b"q": b"old"})
    plan = world.plan({b"p": b"old", b"q": b"old"}, {b"p": b"new"})

    def act() -> Iterator[object]:
        for name in ("q", "p"):
            (world.root / name).unlink()
            (world.root / name).write_bytes(b"theirs")
            (world.root / name).chmod(0)
            yield

    outcome = world.apply(plan, Racer(act()))
    assert outcome.conflicts == (Conflict(b"p", Reason.CHANGED), Conflict(b"q", Reason.CHANGED))
    for name in ("q", "p"):
        (world.root / name).chmod(0o600)
    assert world.on_disk() == {b"p": b"file theirs", b"q": b"file theirs"}


def test_a_folder_put_in_the_place_of_a_file_survives(world: World) -> None:
    """Exchange takes folders as well; what came out is looked at and goes back."""
    world.put({b"p": b"old"})
    plan = world.plan({b"p": b"old"}, {b"p": b"new"})

    def act() -> Iterator[object]:
        (world.root / "p").unlink()
        yield put(world.root, b"p/theirs", b"1")

    outcome = world.apply(plan, Racer(act()))
    assert world.on_disk() == expected({b"p/theirs": b"1"})
    assert outcome.conflicts == (Conflict(b"p", Reason.CHANGED),)


@pytest.mark.parametrize("exchange", [True, False], ids=["exchange", "no exchange"])
def test_a_file_that_appears_where_one_is_written_is_not_overwritten(world: World, exchange: bool) -> None:
    """Nothing was there when the plan was made; what came since is somebody's."""
    plan = world.plan({}, {b"p": b"new"})

    def act() -> Iterator[object]:
        yield put(world.root, b"p", b"theirs")

    outcome = world.apply(plan, Racer(act(), exchange))
    assert world.on_disk() == expected({b"p": b"theirs"})
    assert outcome.conflicts == (Conflict(b"p", Reason.APPEARED),)
    world.assert_tidy()


def test_two_saves_during_one_exchange_both_survive(world: World) -> None:
    """A second save hits our file while the first is on its way back: one is kept beside the other."""
    world.put({b"p": b"old"})
    plan = world.plan({b"p": b"old"}, {b"p": b"new"})

    def act() -> Iterator[object]:
        yield _replace(world, b"p", b"first")
        yield _replace(world, b"p", b"second")

    outcome = world.apply(plan, Racer(act()))
    disk = world.on_disk()
    assert sorted(disk.values()) == [b"file first", b"file second"]
    assert Conflict(b"p", Reason.KEPT_ASIDE) in outcome.conflicts
    world.assert_store_tidy()


def test_what_is_written_into_the_old_file_after_the_move_is_kept(world: World) -> None:
    """A program that has the file open goes on writing into it while it waits to be deleted."""
    world.put({b"p": b"old", b"q": b"old"})
    plan = world.plan({b"p": b"old", b"q": b"old"}, {b"p": b"new"})
    with open(world.root / "p", "ab") as p, open(world.root / "q", "ab") as q:

        def sync(descriptor: int) -> None:
            # Folders are synced when every file has been moved and none has been deleted.
            for file in (p, q):
                file.write(b" and more")
                file.flush()

        calls = Calls()
        plan = world.plan({b"p": b"old", b"q": b"old"}, {b"p": b"new"})
        real, syncs = calls.fsync, []

        def fsync(descriptor: int) -> None:
            syncs.append(descriptor)
            if len(syncs) == 2:
                sync(descriptor)
            real(descriptor)

        calls.fsync = fsync  # type: ignore[method-assign]
        outcome = world.apply(plan, calls)
    kept = {path: what for path, what in world.on_disk().items() if b".backtrail-kept-" in path}
    assert list(kept.values()) == [b"file old and more"] * 2
    assert {conflict.path for conflict in outcome.conflicts} == {b"p", b"q"}
    assert (world.root / "p").read_bytes() == b"new"


def test_a_folder_swapped_for_a_symlink_never_leads_outside(world: World, tmp_path: Path) -> None:
    """A hostile program swaps a folder for a symlink to somewhere else, all the time, while restores run."""
    outside = tmp_path / "outside"
    first = {b"d/sub/%d" % number: b"first %d" % number for number in range(8)}
    second = {b"d/sub/%d" % number: b"second" for number in range(0, 8, 2)} | {b"d/sub/new/x": b"1"}
    put(outside, b"sub/0", b"first 0")
    put(outside, b"sub/keep", b"keep")
    before, ids = everything(outside), identities(outside)
    world.put(first)
    stop = threading.Event()
    swapper = threading.Thread(target=_swap_until, args=(stop, world.root / "d", outside))
    swapper.start()
    try:
        tried = 0
        for old, new in itertools.islice(itertools.cycle([(first, second), (second, first)]), 150):
            tried += 1
            try:
                world.go(old, new)
            except RestoreFailed:
                pass
            except RestoreInterrupted:
                _recover_until_done(world)
    finally:
        stop.set()
        swapper.join()
    assert everything(outside) == before
    assert identities(outside) == ids
    assert tried == 150


def _swap_until(stop: threading.Event, folder: Path, outside: Path) -> None:
    aside = folder.with_name("aside")
    while not stop.is_set():
        try:
            folder.rename(aside)
            folder.symlink_to(outside)
            folder.unlink()
            aside.rename(folder)
        except OSError:
            if not folder.is_symlink() and not folder.exists() and aside.exists():
                aside.rename(folder)


def _recover_until_done(world: World) -> None:
    for _ in range(200):
        try:
            world.recover()
            return
        except RestoreInterrupted:
            continue


def test_a_file_in_a_folder_of_its_own_costs_few_calls(world: World) -> None:
    """Ten thousand files lie in thousands of folders: none of them is entered more often than it has to be."""
    old = {b"%d/file" % number: b"old %d" % number for number in range(200)}
    new = {path: b"new" + content for path, content in old.items()}
    world.put(old)
    counted: Counter[str] = Counter()

    class Counting(Calls):
        def __getattribute__(self, name: str) -> object:
            counted[name] += 1
            return super().__getattribute__(name)

    plan = world.plan(old, new)
    world.apply(plan, Counting())
    assert world.on_disk() == expected(new)
    # To number the steps, to stage, to move; and the root, the staging folder and the one in it.
    assert counted["open"] <= 3 * len(old) + 7
    assert counted["fsync"] <= 3
    assert counted["syncfs"] == 2


def test_permissions_of_many_folders_are_asked_in_one_walk(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may write everywhere should hardly notice that it was asked."""
    old = {b"a/b/%d/file" % number: b"old" for number in range(300)}
    world.put(old)
    plan = world.plan(old, dict.fromkeys(old, b"new"))
    entered: list[bytes] = []
    enter = Folders._enter

    def count(folders: Folders, parent: Folder, path: bytes, name: bytes) -> Folder:
        entered.append(path)
        return enter(folders, parent, path, name)

    monkeypatch.setattr(Folders, "_enter", count)
    with Folders(OS, str(world.root)) as folders:
        refuse_barred(folders, plan)
    assert len(entered) < 2 * 300 + 20  # once for the folders, once for the files, and the few above them
