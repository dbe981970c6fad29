"""Restore when things break: every system call fails once, every moment is a crash once."""

import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from backtrail.errors import BacktrailError, RestoreFailed, RestoreInterrupted, WorkspaceUnavailable
from backtraild import restore
from backtraild.restore import Calls, Conflict, Outcome, Reason, staging
from backtraild.restore.calls import RENAME_EXCHANGE
from backtraild.restore.journal import Journal
from daemon.test_restore_world import (
    CHANGING,
    LOOKING,
    Link,
    Program,
    World,
    blob_id,
    counting,
    expected,
    identities,
    nothing,
    put,
    without_renameat2,
)

OLD = {
    b"same": b"untouched",
    b"changed": b"old content",
    b"tool": b"a script",
    b"gone/deep/x": b"1",
    b"gone/y": Program(b"2"),
    b"partly/z": b"3",
    b"turned": b"a file",
    b"was/a/folder": b"4",
    b"link": Link(b"old target"),
    b"caf\xe9": b"5",
}
NEW = {
    b"same": b"untouched",
    b"changed": b"new content",
    b"tool": Program(b"a script"),
    b"turned/into/folder": b"6",
    b"turned/too": Link(b"into"),
    b"was": b"a file now",
    b"link": b"a file instead of a link",
    b"caf\xe9": Link(b"same"),
    b"fresh/one": Program(b"7"),
}
EXCLUDED = {b"partly/ignored": b"in no checkpoint"}
BEFORE = expected({**OLD, **EXCLUDED})
AFTER = expected({**NEW, **EXCLUDED})


@pytest.fixture(autouse=True, params=["few files", "many files"])
def _unsynced(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a killed process wrote is there without syncing, and syncing is what takes the time here.

    Many files are staged in a folder apart, on this file system or on one that does not care.
    """
    if request.param == "many files":
        monkeypatch.setattr(staging, "SYNCED_ONE_BY_ONE", 0)
        monkeypatch.setattr(Calls, "let_folders_lie_apart", staticmethod(nothing))
    monkeypatch.setattr(os, "fsync", nothing)
    monkeypatch.setattr(Calls, "fsync", staticmethod(nothing))
    monkeypatch.setattr(Calls, "syncfs", staticmethod(nothing))


def _world(tmp_path: Path, name: object) -> World:
    world = World(tmp_path / str(name))
    world.put({**OLD, **EXCLUDED})
    return world


def _failing(number: int, code: int, names: list[str]) -> tuple[Calls, list[str]]:
    """System calls of which the one with this number fails; its name is in the list then."""
    failed: list[str] = []

    def before(count: int, name: str, arguments: tuple[object, ...]) -> None:
        if count == number:
            failed.append(name)
            raise OSError(code, os.strerror(code))

    return counting(before, names), failed


def _without_exchange(calls: Calls) -> Calls:
    calls.renameat2 = without_renameat2().renameat2  # type: ignore[method-assign]
    return calls


@pytest.mark.parametrize("exchange", [True, False], ids=["exchange", "no exchange"])
@pytest.mark.parametrize(
    ("code", "names"),
    [(errno.ENOSPC, CHANGING), (errno.EIO, CHANGING + LOOKING), (errno.EACCES, CHANGING)],
    ids=["ENOSPC", "EIO", "EACCES"],
)
def test_a_call_that_fails_leaves_the_old_tree_or_the_new_one(
    tmp_path: Path, code: int, names: list[str], exchange: bool
) -> None:
    """Whatever fails, and whenever, no half of a restore is left; a reported failure changed nothing."""
    number, failed = 0, ["-"]
    while failed:
        number += 1
        world = _world(tmp_path, number)
        before = identities(world.root)
        plan = world.plan(OLD, NEW)
        calls, failed = _failing(number, code, names)
        try:
            outcome = world.apply(plan, calls if exchange else _without_exchange(calls))
        except (RestoreFailed, WorkspaceUnavailable):
            assert identities(world.root) == before, (number, failed)
            assert world.on_disk() == BEFORE, (number, failed)
        else:
            assert world.on_disk() == AFTER, (number, failed)
            assert outcome.conflicts == ()
        world.assert_tidy()
    assert number > 60


def test_a_failure_names_the_path(tmp_path: Path) -> None:
    """The user must know where the disk said no."""
    world = _world(tmp_path, "w")
    plan = world.plan(OLD, NEW)
    calls, _ = _failing(4, errno.ENOSPC, ["write"])
    with pytest.raises(RestoreFailed, match=r"fresh/one|link|turned|was") as raised:
        world.apply(plan, calls)
    assert "No space left on device" in raised.value.message
    assert "Nothing was changed" in raised.value.message


class Interrupt(BaseException):
    """Like KeyboardInterrupt: not an error, and it comes at any moment."""


def test_an_interrupt_rolls_back(tmp_path: Path) -> None:
    """Stopping the daemon in the middle of a restore leaves the workspace as it was, or finished."""
    number = 0
    while True:
        number += 1
        world = _world(tmp_path, number)
        plan = world.plan(OLD, NEW)

        def before(count: int, name: str, arguments: tuple[object, ...], number: int = number) -> None:
            if count == number:
                raise Interrupt

        try:
            world.apply(plan, counting(before, ["mkdir", "rename", "renameat2", "rmdir", "fchmod"]))
        except Interrupt:
            if os.path.exists(world.journal):  # it came while tidying up: too late to roll back
                world.recover()
            assert world.on_disk() in (BEFORE, AFTER), number
            world.assert_tidy()
        else:
            break
    assert number > 15


def test_a_roll_back_that_fails_keeps_the_journal(tmp_path: Path) -> None:
    """Two failures in a row: the journal is the way out, and recovery takes it."""
    for number in range(20, 80, 3):
        world = _world(tmp_path, number)
        plan = world.plan(OLD, NEW)

        def before(count: int, name: str, arguments: tuple[object, ...], number: int = number) -> None:
            if count >= number:
                raise OSError(errno.EIO, os.strerror(errno.EIO))

        with pytest.raises((RestoreInterrupted, RestoreFailed)):
            world.apply(plan, counting(before))
        assert restore.pending(world.journal) == {"target": 7}
        world.recover()
        assert world.on_disk() in (BEFORE, AFTER), number
        world.assert_tidy()


def _killing(number: int) -> Calls:
    """System calls of which the one with this number is the last: the process dies in it, as by kill -9."""

    def before(count: int, name: str, arguments: tuple[object, ...]) -> None:
        if count == number:
            _do_half(name, arguments)
            os._exit(9)

    return counting(before)


def _do_half(name: str, arguments: tuple[object, ...]) -> None:
    if name == "write":
        descriptor, content = arguments
        assert isinstance(descriptor, int)
        assert isinstance(content, memoryview)
        os.write(descriptor, content[: len(content) // 2])
    elif name == "save_journal":
        Path(f"{arguments[0]}.tmp").write_bytes(b'{"version":')
    elif name == "append_journal":
        with open(str(arguments[0]), "ab") as file:
            file.write(b'\n{"sta')


def _in_child(run: Callable[[], object]) -> int:
    """Run in a process of its own; its exit status: 0 if it came to its end, 9 if it was killed."""
    child = os.fork()
    if child == 0:
        status = 77
        try:
            run()
            status = 0
        except BacktrailError:
            status = 5
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _assert_finished_or_undone(world: World, outcome: Outcome | None, moment: object) -> None:
    disk = world.on_disk()
    assert disk == (BEFORE if outcome is None else AFTER) or (outcome is None and disk == AFTER), moment
    if outcome is not None:
        assert outcome.conflicts == (), moment
        assert set(outcome.written) == {path for path in NEW if path not in (b"same", b"tool")}
    world.assert_tidy()
    before = identities(world.root)
    assert world.recover() is None
    assert identities(world.root) == before


@pytest.mark.parametrize("exchange", [True, False], ids=["exchange", "no exchange"])
def test_a_crash_at_any_moment_is_finished_or_undone(tmp_path: Path, exchange: bool) -> None:
    """Kill -9 at every single system call: after recovery the tree is the old one or the new one, whole."""
    number, status, finished, undone = 0, 9, 0, 0
    while status == 9:
        number += 1
        world = _world(tmp_path, number)
        plan = world.plan(OLD, NEW)
        calls = _killing(number) if exchange else _without_exchange(_killing(number))
        status = _in_child(lambda world=world, plan=plan, calls=calls: world.apply(plan, calls))
        outcome = world.recover(counting(_ignore))
        _assert_finished_or_undone(world, outcome, number)
        finished, undone = finished + (outcome is not None), undone + (outcome is None)
    assert status == 0
    assert finished > 30
    assert undone > 10


def _ignore(count: int, name: str, arguments: tuple[object, ...]) -> None:
    """Nothing happens before a call."""


def _crash(world: World, number: int) -> None:
    plan = world.plan(OLD, NEW)
    assert _in_child(lambda: world.apply(plan, _killing(number))) == 9


MOMENTS = [25, 40, 47, 52, 57, 62, 70, 80]


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_crash_of_the_recovery_is_recovered_from(tmp_path: Path, moment: int) -> None:
    """The machine may go down again while it comes up."""
    number, status = moment % 4 - 3, 9
    while status == 9:
        number += 4
        world = _world(tmp_path, number)
        _crash(world, moment)
        status = _in_child(lambda world=world, number=number: world.recover(_killing(number)))
        outcome = world.recover(counting(_ignore))
        _assert_finished_or_undone(world, outcome, (moment, number))
    assert status == 0


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_recovery_in_which_a_call_fails_loses_nothing(tmp_path: Path, moment: int) -> None:
    """If it can be neither finished nor undone now, the journal stays and the next start tries again."""
    number, failed = moment % 4 - 3, ["-"]
    while failed:
        number += 4
        world = _world(tmp_path, number)
        _crash(world, moment)
        calls, failed = _failing(number, errno.ENOSPC, CHANGING)
        try:
            world.recover(calls)
        except (RestoreInterrupted, WorkspaceUnavailable):
            assert restore.pending(world.journal) == {"target": 7}, (number, failed)
        outcome = world.recover()
        _assert_finished_or_undone(world, outcome, (moment, number, failed))


class CrashAfterRace(Calls):
    """Somebody saves just before a file is moved, and the machine dies just after."""

    def __init__(self, save: Callable[[], object]) -> None:
        def rename(*arguments: object, **options: object) -> None:
            save()
            Calls.rename(*arguments, **options)  # type: ignore[arg-type]
            os._exit(9)

        def renameat2(*arguments: object) -> None:
            if arguments[-1] == RENAME_EXCHANGE:
                save()
            Calls.renameat2(*arguments)  # type: ignore[arg-type]
            if arguments[-1] == RENAME_EXCHANGE:
                os._exit(9)

        self.rename, self.renameat2 = rename, renameat2  # type: ignore[method-assign, assignment]


def _raced_to_death(world: World, new: dict[bytes, bytes], theirs: bytes) -> None:
    world.put({b"d/p": b"old"})
    plan = world.plan({b"d/p": b"old"}, new)

    def save() -> None:
        put(world.folder, b"racer", theirs)
        os.replace(world.folder / "racer", world.root / "d" / "p")

    assert _in_child(lambda: world.apply(plan, CrashAfterRace(save))) == 9
    assert (world.root / "d" / "p").exists() == (b"d/p" in new)


@pytest.mark.parametrize("theirs", [b"theirs", Link(b"theirs"), Program(b"theirs")])
@pytest.mark.parametrize("new", [{b"d/p": b"new"}, {}, {b"d/p/x": b"1"}], ids=["write", "delete", "folder"])
def test_a_file_taken_by_a_race_before_a_crash_goes_back(
    tmp_path: Path, new: dict[bytes, bytes], theirs: bytes
) -> None:
    """It lies in staging and is in no checkpoint: deleting it with the rest would lose it for ever."""
    world = World(tmp_path / "w")
    _raced_to_death(world, new, theirs)
    outcome = world.recover()
    assert outcome is not None
    assert b"d/p" in {conflict.path for conflict in outcome.conflicts}
    assert world.on_disk() == expected({b"d/p": theirs})
    world.assert_tidy()


def test_a_file_taken_by_a_race_is_kept_beside_one_written_since(tmp_path: Path) -> None:
    """After the crash and before the start the user went on working: both versions are theirs."""
    world = World(tmp_path / "w")
    _raced_to_death(world, {b"d/p": b"new"}, b"theirs")
    (world.root / "d" / "p").write_bytes(b"later")
    outcome = world.recover()
    assert outcome is not None
    assert set(outcome.conflicts) == {
        Conflict(b"d/p", Reason.CHANGED),
        Conflict(b"d/p", Reason.KEPT_ASIDE),
    }
    files = {path: what for path, what in world.on_disk().items() if what != b"folder"}
    kept = next(path for path in files if path != b"d/p")
    assert kept.startswith(b"d/p.backtrail-kept-")
    assert files == {b"d/p": b"file later", kept: b"file theirs"}


def test_what_the_user_did_after_the_crash_stays(tmp_path: Path) -> None:
    """Neither old nor new content is somebody's, and is a conflict."""
    world = _world(tmp_path, "w")
    _crash(world, 62)
    (world.root / "changed").write_bytes(b"edited after the crash")
    outcome = world.recover()
    assert outcome is not None
    assert outcome.conflicts == (Conflict(b"changed", Reason.CHANGED),)
    assert world.on_disk() == {**AFTER, b"changed": b"file edited after the crash"}
    world.assert_tidy()


def _fully_staged(tmp_path: Path) -> World:
    """A workspace whose restore died after some, but not all, files were exchanged."""
    world = World(tmp_path / "w")
    world.put({b"a": b"old a", b"b": b"old b"})
    plan = world.plan({b"a": b"old a", b"b": b"old b"}, {b"a": b"new a", b"b": b"new b"})
    exchanges = 0

    def before(count: int, name: str, arguments: tuple[object, ...]) -> None:
        nonlocal exchanges
        exchanges += name == "renameat2"
        if exchanges == 2:
            os._exit(9)

    assert _in_child(lambda: world.apply(plan, counting(before))) == 9
    return world


def _in_staging(world: World) -> list[Path]:
    return [path for path in world.root.glob(".backtrail-restore-*/**/*") if path.is_file()]


def test_recovery_uses_what_was_staged_when_the_store_is_damaged(tmp_path: Path) -> None:
    """The staged copy was checked when it was written; it may be the last one."""
    world = _fully_staged(tmp_path)
    world.shelf.damaged |= {blob_id(b"new a"), blob_id(b"new b")}
    assert world.recover() is not None
    assert world.on_disk() == expected({b"a": b"new a", b"b": b"new b"})
    world.assert_tidy()


def test_recovery_goes_back_when_it_cannot_go_forward(tmp_path: Path) -> None:
    """The new content is nowhere any more, the old one is: a whole old tree beats half a new one."""
    world = _fully_staged(tmp_path)
    world.shelf.damaged |= {blob_id(b"new a"), blob_id(b"new b")}
    for staged in _in_staging(world):
        if staged.read_bytes().startswith(b"new"):
            staged.unlink()
    before = len(os.listdir("/dev/fd"))
    assert world.recover() is None
    assert len(os.listdir("/dev/fd")) == before
    assert world.on_disk() == expected({b"a": b"old a", b"b": b"old b"})
    world.assert_tidy()


def test_recovery_waits_when_it_can_go_neither_way(tmp_path: Path) -> None:
    """Nothing more is changed, the journal stays, and a repaired store ends it."""
    world = _fully_staged(tmp_path)
    contents = [b"new a", b"new b", b"old a", b"old b"]
    for staged in _in_staging(world):
        staged.unlink()
    world.shelf.damaged |= {blob_id(content) for content in contents}
    with pytest.raises(RestoreInterrupted):
        world.recover()
    world.shelf.damaged.clear()
    assert world.recover() is not None
    assert world.on_disk() == expected({b"a": b"new a", b"b": b"new b"})
    world.assert_tidy()


def test_without_a_journal_nothing_is_cleaned_up(tmp_path: Path) -> None:
    """A folder that merely has such a name may be the user's."""
    world = World(tmp_path / "w")
    put(world.root, b".backtrail-restore-0123/0-1", b"whose?")
    assert world.recover() is None
    assert world.on_disk() == expected({b".backtrail-restore-0123/0-1": b"whose?"})


def _staged_and_cut(world: World, keep: Callable[[bytes], bytes]) -> None:
    """The power was cut when everything was staged: the disk has what it pleases of a journal that was not synced."""
    plan = world.plan(OLD, NEW)

    def before(count: int, name: str, arguments: tuple[object, ...]) -> None:
        if name == "append_journal" and b"staged" in bytes(arguments[1]):  # type: ignore[call-overload]
            os._exit(9)

    assert _in_child(lambda: world.apply(plan, counting(before))) == 9
    path = Path(world.journal)
    path.write_bytes(keep(path.read_bytes()))
    assert _in_staging(world)


@pytest.mark.parametrize("eighths", range(9))
def test_whatever_a_power_cut_leaves_of_a_record_nothing_was_moved_and_nothing_stays(
    tmp_path: Path, eighths: int
) -> None:
    """The name of the staging folder was durable before, so what is in it is known to be ours."""
    world = _world(tmp_path, "w")

    def cut(content: bytes) -> bytes:
        announced, _, record = content.partition(b"\n")
        return announced + b"\n" + record[: len(record) * eighths // 8]

    _staged_and_cut(world, cut)
    assert world.recover() is None
    assert world.on_disk() == BEFORE
    world.assert_tidy()
    assert world.go(OLD, NEW).conflicts == ()
    assert world.on_disk() == AFTER


def test_pages_of_a_record_that_came_to_the_disk_as_zeros_are_no_record(tmp_path: Path) -> None:
    """A file may grow on the disk before its content is there."""
    world = _world(tmp_path, "w")
    _staged_and_cut(world, lambda content: content[: content.index(b"\n") + 1].ljust(len(content), b"\0"))
    assert world.recover() is None
    assert world.on_disk() == BEFORE
    world.assert_tidy()


def test_what_a_power_cut_brings_back_of_a_finished_restore_goes_and_what_is_somebodys_stays(
    tmp_path: Path,
) -> None:
    """That a staging folder is gone is made durable when the answer is given; until then the journal names it."""
    world = World(tmp_path / "w")
    world.put({b"a": b"old", b"b": b"old"})
    plan = world.plan({b"a": b"old", b"b": b"old"}, {b"a": b"new", b"b": b"new"})
    restore.apply(str(world.root), plan, world.shelf, world.journal, {"target": 7})
    record = Journal(world.journal).read()
    assert record is not None
    put(world.root, record.staging + b"/0-1", b"old")
    put(world.root, record.staging + b"/0-2", b"of a race")
    (world.root / "a").write_bytes(b"edited since")
    world.conclude()
    assert world.on_disk() == expected({b"a": b"edited since", b"b": b"of a race"})
    world.assert_tidy()


def test_a_damaged_journal_of_moves_is_set_aside_with_its_staging_folder(tmp_path: Path) -> None:
    """Once something was moved, staging may hold what is nowhere else: it is left to a person."""
    world = _fully_staged(tmp_path)
    path = Path(world.journal)
    announced, _, rest = path.read_bytes().partition(b"\n")
    path.write_bytes(announced + b"\n" + rest.replace(b'"root"', b'"rott"', 1))
    assert world.recover() is None
    assert os.listdir(path.parent) == ["restore.journal.damaged"]
    assert _in_staging(world)


def test_an_unreadable_journal_is_set_aside(tmp_path: Path) -> None:
    """It was never complete or is damaged: it must neither be obeyed nor stop the daemon."""
    world = _world(tmp_path, "w")
    Path(world.journal).write_bytes(b'{"version": 1, "root"')
    assert world.recover() is None
    assert not os.path.exists(world.journal)
    assert world.on_disk() == BEFORE


def test_recovery_refuses_another_folder_of_the_same_name(tmp_path: Path) -> None:
    """The workspace was moved away and another one created: the journal is not about that one."""
    world = _world(tmp_path, "w")
    _crash(world, 62)
    world.root.rename(world.folder / "moved")
    world.root.mkdir()
    world.put({b"changed": b"old content"})
    with pytest.raises(WorkspaceUnavailable):
        world.recover()
    assert world.on_disk() == expected({b"changed": b"old content"})
    (world.root / "changed").unlink()
    world.root.rmdir()
    (world.folder / "moved").rename(world.root)
    _assert_finished_or_undone(world, world.recover(), "moved back")


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Callable[[Path, str], None]]:
    """Mount small file systems for a test."""
    points: list[Path] = []

    def mount(point: Path, *options: str) -> None:
        point.mkdir(parents=True, exist_ok=True)
        if os.geteuid() != 0:
            pytest.skip("only root may mount")
        if subprocess.run(["mount", *options, str(point)], capture_output=True).returncode != 0:
            pytest.skip("this machine does not let root mount")
        points.append(point)

    yield mount
    for point in reversed(points):
        subprocess.run(["umount", str(point)], check=True)


def test_a_full_disk_changes_nothing(tmp_path: Path, mounted: Callable[..., None]) -> None:
    """A real file system without room: the old tree stays, and so does the room there was."""
    mounted(tmp_path / "small", "-t", "tmpfs", "-o", "size=1m", "tmpfs")
    world = World(tmp_path / "small")
    old = {b"a": b"1", b"d/x": b"2"}
    world.put(old)
    before, room = identities(world.root), os.statvfs(world.root).f_bavail
    plan = world.plan(old, {b"a": b"2", b"big": b"0" * 2_000_000})
    with pytest.raises(RestoreFailed, match="big: No space left on device"):
        world.apply(plan)
    assert identities(world.root) == before
    assert os.statvfs(world.root).f_bavail == room
    world.assert_tidy()


@pytest.mark.parametrize("bind", [False, True], ids=["another file system", "bind mount"])
def test_a_mounted_folder_in_the_workspace_is_restored(
    tmp_path: Path, mounted: Callable[..., None], bind: bool
) -> None:
    """A rename cannot cross a mount, so each file system has its own staging folder."""
    world = World(tmp_path / "w")
    (tmp_path / "bound").mkdir()
    mounted(world.root / "m", *(["--bind", str(tmp_path / "bound")] if bind else ["-t", "tmpfs", "tmpfs"]))
    old = {b"m/a": b"1", b"m/d/x": b"2", b"b": b"3"}
    new = {b"m/a": b"one", b"m/e/f/y": b"4", b"b": b"three"}
    world.put(old)
    outcome = world.go(old, new)
    assert outcome.conflicts == ()
    assert world.on_disk() == expected(new)
    world.assert_tidy()
    plan = world.plan(new, old)
    assert _in_child(lambda: world.apply(plan, _killing(40))) == 9
    world.recover()
    assert world.on_disk() in (expected(old), expected(new))
    world.assert_tidy()


def test_a_mount_point_is_never_replaced(tmp_path: Path, mounted: Callable[..., None]) -> None:
    """The kernel refuses to move it, and that must not fail the whole restore."""
    world = World(tmp_path / "w")
    mounted(world.root / "m", "-t", "tmpfs", "tmpfs")
    outcome = world.go({}, {b"m": b"file", b"b": b"1"})
    assert outcome.conflicts == (Conflict(b"m", Reason.MOUNT_POINT),)
    assert outcome.written == (b"b",)
