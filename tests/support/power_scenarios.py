"""What happens in a world in which the power is cut; run by `mounts.apart`."""

import contextlib
import os
import random
import signal
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from backtrail import BacktrailError, Client, Workspace
from backtrail.paths import places
from support.booting import boot
from support.busy import Busy
from support.disk import fsck
from support.judging import leftovers
from support.mounts import DROP, FLUSH, Disk
from support.notes import Notes, Promised
from support.process import Process
from support.project import files_of
from support.scripted import Scripted, at_sync
from support.watching import eventually

_CUT, _CAME_TO_ITS_END = 9, 8


def cut_while_busy(number: int, where: str) -> dict[str, float]:
    """The power of a disk with everything on it is cut while a client does what it likes."""
    folder, source = Path(where), random.Random(number)
    disk = Disk(folder / "image", folder / "disk")
    home = _home_on(disk, folder)
    root = disk.at / "work"
    root.mkdir()
    if number % 2:
        _use_for_a_while(home, folder)
    os.sync()  # the machine has been running for a while
    notes = Notes(folder / "notes")
    with Process(home) as daemon:
        daemon.wait_until_ready()
        with _another_process(Busy(home, root, notes, number, prunes=number % 3 == 0).work):
            eventually(lambda: len(list(notes)) > 3)
            time.sleep(source.uniform(0.0, 1.5))  # the moment is left to chance, it waits for nothing
            disk.cut(source.choice([DROP, DROP, FLUSH]))
            time.sleep(0.05)  # what is acknowledged after the cut has to hold as well
    disk.come_back()
    boot(folder)
    promised = Promised(notes)
    seconds = _check(home, root, promised)
    disk.check()
    return {
        "cuts": 1,
        "acknowledged": promised.acknowledged,
        "checkpoints acknowledged": len(promised.checkpoints),
        "events told": len(promised.events),
        "most seconds until ready": seconds,
    }


def cut_at_sync(nth: int, how: int, after: bool, where: str) -> dict[str, float] | None:
    """The power is cut right before or right after the n-th sync of a fixed piece of work; None if it has fewer."""
    folder = Path(where)
    disk = Disk(folder / "image", folder / "disk")
    home = _home_on(disk, folder)
    root = disk.at / "work"
    root.mkdir()
    os.sync()
    notes = Notes(folder / "notes")
    child = os.fork()
    if child == 0:
        _work_until_cut(disk, home, root, notes, nth, how, after)
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) == _CAME_TO_ITS_END:
        return None
    assert os.waitstatus_to_exitcode(status) == _CUT, status
    disk.come_back()
    boot(folder)
    promised = Promised(notes)
    seconds = _check(home, root, promised)
    disk.check()
    return {"cuts": 1, "acknowledged": promised.acknowledged, "most seconds until ready": seconds}


def _work_until_cut(
    disk: Disk, home: Path, root: Path, notes: Notes, nth: int, how: int, after: bool
) -> NoReturn:
    is_cut = threading.Event()

    def act() -> None:
        is_cut.set()
        disk.cut(how)
        os._exit(_CUT)

    try:
        at_sync(nth, act, after=after)
        Scripted(home, root, notes).work()
        os._exit(_CUT if is_cut.is_set() else _CAME_TO_ITS_END)
    except BaseException:
        # By the daemon's thread, which syncs after it has answered, while this one went on.
        if is_cut.is_set():
            os._exit(_CUT)
        traceback.print_exc()
        os._exit(1)


def _home_on(disk: Disk, folder: Path) -> Path:
    (disk.at / "home").mkdir()
    home = folder / "home"  # by another name, so that what the daemon says outlives the disk
    home.symlink_to(disk.at / "home")
    return home


def _use_for_a_while(home: Path, folder: Path) -> None:
    """An earlier run of the daemon has left something behind, and ended as it should."""
    (folder / "earlier").mkdir()
    with Process(home) as daemon, Client(home=home, autostart=False) as client:
        daemon.wait_until_ready()
        client.watch(folder / "earlier")
        assert daemon.end() == 0, daemon.said()


@contextlib.contextmanager
def _another_process(work: object) -> Iterator[None]:
    """Somebody is at work in this block, and killed at its end."""
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BacktrailError, OSError):
            work()  # type: ignore[operator]
        os._exit(0)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL), status


def _check(home: Path, root: Path, promised: Promised) -> float:
    """The next daemon keeps what was promised; how long it took until it answered."""
    start = time.monotonic()
    with Process(home) as daemon, Client(home=home, autostart=False) as client:
        daemon.wait_until_ready()
        seconds = time.monotonic() - start
        _check_registry(client, root, promised)
        if promised.watched.get(str(root)):
            workspace = client.workspace(root)
            _check_checkpoints(workspace, promised)
            _check_files(root, promised)
            _check_sessions(workspace, promised)
            _check_next_save(workspace, promised)
        _check_events(client, promised)
        assert daemon.end() == 0, daemon.said()
    for store in places(home).store("").glob("*/repo.git"):
        fsck(store)
    # In a store that nobody opens again, because its folder is gone or watched no more, stays what was made ahead.
    assert not (left := leftovers(root.parent, in_use=True)), left
    return seconds


def _check_registry(client: Client, root: Path, promised: Promised) -> None:
    found = {info.root: info for info in client.workspaces()}
    for folder, watched in promised.watched.items():
        assert (folder in found) == watched, f"{folder} is watched: {folder in found}; promised: {watched}"
    if promised.paused is not None:
        assert found[str(root)].paused == promised.paused


def _check_checkpoints(workspace: Workspace, promised: Promised) -> None:
    listed = {checkpoint.number: checkpoint for checkpoint in workspace.list(limit=1000)}
    assert not promised.gone & listed.keys(), "deleted checkpoints are back"
    git_dir = Path(workspace.status().store) / "repo.git"
    # The next daemon may have made another one already.
    newest = max([*promised.checkpoints, *listed], default=0)
    for number, (commit, files) in promised.checkpoints.items():
        may_be_gone = number in promised.in_doubt or (promised.few_are_kept and number != newest)
        if may_be_gone and number not in listed:
            continue
        assert number in listed, (
            f"checkpoint {number} of {sorted(promised.checkpoints)} is lost: {sorted(listed)}"
        )
        assert listed[number].id == commit, number
        if files is not None and number > newest - 5:
            held = {
                os.fsdecode(path): content.decode()
                for path, (_, content) in files_of(git_dir, commit).items()
            }
            assert held == files, number
    for number, pinned in promised.pins.items():
        assert number not in listed or listed[number].pinned == pinned, number


def _check_files(root: Path, promised: Promised) -> None:
    for path, content in promised.files.items():
        found = (root / path).read_text() if (root / path).is_file() else None
        assert found == content, (
            f"{path} was restored, and holds {str(found)[:80]!r}, not {str(content)[:80]!r}"
        )


def _check_sessions(workspace: Workspace, promised: Promised) -> None:
    for session, count in promised.messages.items():
        said = list(workspace.session(session).conversation())
        assert len(said) >= count, f"{count} messages of {session} were acknowledged, {len(said)} are left"
        assert said == [{"role": "user", "content": f"message {number}"} for number in range(len(said))]


def _check_next_save(workspace: Workspace, promised: Promised) -> None:
    made = workspace.save("after the cut", timeout=10)
    highest = max([0, *promised.checkpoints, *promised.gone])
    assert made.number > highest, f"number {made.number} was given out before"


def _check_events(client: Client, promised: Promised) -> None:
    told = max((seq for _, seq in promised.events), default=0)
    for event in client.events(since=0, follow=False):
        seen = promised.events.get((event.epoch, event.seq))
        assert seen in (None, [event.type, event.workspace, event.checkpoint]), (event, seen)
        known = any(epoch == event.epoch for epoch, _ in promised.events)
        assert known or event.seq > told, (
            f"event number {event.seq} was told already, as that of something else"
        )
