"""One file of a store, or of a whole home, is damaged: it is found, told, survived, and healed from the folder."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from backtrail import CheckpointConfig, Client
from backtrail.errors import StoreDamaged, StoreTooNew
from backtraild.model import Intent
from backtraild.state import Query
from backtraild.store import Verification
from backtraild.workspace import Workspace, verify
from support.disk import fsck, snapshot
from support.git import git
from support.harming import files_below, harm
from support.project import Files, Project
from support.watching import eventually
from torture.campaign import Campaign, Counts, Round, added

EVERYTHING = Query(limit=1000)
READY_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Template:
    """A folder with some history, and what each checkpoint in it holds."""

    folder: Path
    holds: dict[int, Files]


@cache
def template() -> Template:
    """Made once in a process; rounds work on copies."""
    folder = Path(tempfile.mkdtemp(prefix="backtrail-damage-"))
    holds: dict[int, Files] = {}
    with Project(folder) as project:
        for number in range(1, 8):
            project.write("same", "the same\n" * 200)
            project.write("folder/deep/er/file", f"content {number}\n" * 50)
            project.write(f"folder/{number}", os.urandom(300))
            project.write("changing", "".join(f"{number * line}\n" for line in range(200)))
            if number == 4:
                (project.root / "folder" / "2").unlink()
            made = project.save(f"save {number}", session="talk", turn=number)
            project.workspace.sessions.begin_turn("talk", number, prompt=f"do {number}")
            holds[made.number] = snapshot(project.root)
            if number == 3:
                git("pack-refs", "--all", git_dir=project.git_dir)
            if number == 5:
                git("gc", "-q", "--prune=now", git_dir=project.git_dir)
                project.reopen()
        project.workspace.pin("2")
    return Template(folder, holds)


def damage_library(attempt: Round) -> Counts:
    """One file of one store; no daemon."""
    found, source = template(), attempt.source
    shutil.copytree(found.folder, attempt.folder, symlinks=True, dirs_exist_ok=True)
    root, store = attempt.folder / "work", attempt.folder / "store"
    # What git derives from packs to be quicker, Backtrail never reads.
    path = source.choice([file for file in files_below(store) if "info" not in file.parts])
    way = harm(path, source)
    told = f"round {attempt.number}: {path.relative_to(store)}, {way}"
    before = verify(str(store))
    try:
        workspace = Workspace(str(root), str(store))
    except StoreTooNew:
        assert path.name == "format", told
        return {"refused with a sentence": 1}
    try:
        return _lived(workspace, root, store, before, found.holds, told)
    finally:
        workspace.close()


def _lived(
    workspace: Workspace, root: Path, store: Path, before: Verification, holds: dict[int, Files], told: str
) -> Counts:
    (root / "new").write_text("new\n")
    made = workspace.save(Intent(message="after the damage"))
    first = verify(str(store))
    assert made.number in first.whole, (told, first)
    workspace.heal("a round of a campaign")
    after = verify(str(store))
    assert set(before.whole) <= set(after.whole), (told, before, after)
    listed = [checkpoint.number for checkpoint in workspace.history.list(EVERYTHING).checkpoints]
    assert set(after.whole) <= set(listed), (told, after, listed)
    newest = max(holds)
    if newest in listed:  # its files are all still in the folder
        assert newest in after.whole, (told, after)
    restored = _restored(
        workspace, root, [number for number in listed if number in holds], holds, after, told
    )
    assert [turn.number for turn in workspace.sessions.turns("talk")], told
    if not after.problems:
        _check_git(store / "repo.git", told)
    found = {
        "damages": 1,
        "found damaged before": len(before.damaged),
        "damaged in the end": len(after.damaged),
    }
    return {**found, "restored byte for byte": restored, "refused": len(listed) - 1 - restored}


def _restored(
    workspace: Workspace,
    root: Path,
    numbers: list[int],
    holds: dict[int, Files],
    after: Verification,
    told: str,
) -> int:
    """Every listed checkpoint is restored exactly, or refused before a byte is written."""
    exact = 0
    for number in numbers:
        seen = snapshot(root)
        try:
            workspace.restore(str(number))
        except StoreDamaged:
            assert snapshot(root) == seen, f"{told}: checkpoint {number} was refused too late"
            assert number not in after.whole, f"{told}: checkpoint {number} is whole and was refused"
            continue
        assert snapshot(root) == holds[number], f"{told}: checkpoint {number} was not restored exactly"
        exact += 1
    return exact


def _check_git(git_dir: Path, told: str) -> None:
    try:
        fsck(git_dir)
    except AssertionError as error:
        raise AssertionError(f"{told}: verify finds nothing, and git says {error}") from error


def damage_store(attempt: Round) -> Counts:
    """One file anywhere in the home of a daemon that watches three folders."""
    home, source = attempt.folder / "home", attempt.source
    (home / "config").mkdir(parents=True)
    (home / "config" / "config.toml").write_text("quiet = 0.5\nmax_checkpoints = 100\n")
    with _started(attempt.folder, end=source.choice((signal.SIGKILL, signal.SIGTERM))) as client:
        folders = [_with_history(client, attempt.folder / name, source) for name in ("one", "two", "three")]
    path = source.choice([file for file in files_below(home) if _matters(file)])
    way = harm(path, source)
    told = f"round {attempt.number}: {path.relative_to(home)}, {way}"
    try:
        with _started(attempt.folder) as client:
            counts = [_still_there(client, root, holds, told) for root, holds in folders]
    except Refused as refused:
        if str(path) in str(refused):
            return {"refused with a sentence": 1}
        raise AssertionError(f"{told}: {refused}") from refused
    total: Counts = {"damages": 1}
    for each in counts:
        total = added(total, each)
    return total


def _matters(file: Path) -> bool:
    """Sockets' keys are no business of a store, and what has been logged is read by people."""
    return file.suffix != ".log" and "keys" not in file.parts and "info" not in file.parts


class Refused(Exception):
    """The daemon did not start; the text is what it said."""


@contextlib.contextmanager
def _started(folder: Path, end: signal.Signals = signal.SIGTERM) -> Iterator[Client]:
    """A daemon as a process of its own for the time of a block."""
    home = folder / "home"
    environment = {**os.environ, "BACKTRAIL_HOME": str(home)}
    with open(folder / "said", "wb") as said:
        daemon = subprocess.Popen(
            [sys.executable, "-m", "backtraild"], env=environment, stdout=said, stderr=said
        )
    try:
        eventually(lambda: daemon.poll() is not None or _is_ready(folder), READY_SECONDS, "the daemon hangs")
        if daemon.poll() is not None:
            raise Refused((folder / "said").read_text())
        with Client(home=home, autostart=False) as client:
            yield client
    finally:
        daemon.send_signal(end)
        daemon.wait(30)


def _is_ready(folder: Path) -> bool:
    return "ready: watching" in (folder / "said").read_text(errors="replace")


def _with_history(client: Client, root: Path, source: random.Random) -> tuple[Path, dict[int, Files]]:
    root.mkdir()
    (root / "same").write_text("the same\n" * 50)
    (root / "folder").mkdir()
    config = CheckpointConfig(auto_checkpoint=False)
    holds: dict[int, Files] = {}
    watched = client.watch(root, config)
    for number in range(1, 4):
        (root / "folder" / "file").write_bytes(source.randbytes(200))
        (root / f"file{number}").write_text(f"{number}\n" * 40)
        made = watched.save(f"save {number}", session="talk", turn=number)
        holds[made.number] = snapshot(root)
    return root, holds


def _still_there(client: Client, root: Path, holds: dict[int, Files], told: str) -> Counts:
    told = f"{told}, seen from {root.name}"
    try:
        watched = client.watch(root)  # also where nothing could tell any more that it was
    except StoreTooNew:
        assert "format" in told, told
        return {"refused with a sentence": 1}
    (root / "new").write_text("new\n")
    made = watched.save("after the damage")
    found = watched.verify()
    assert made.number in found.whole, (told, found)
    listed = {checkpoint.number for checkpoint in watched.list(limit=1000)}
    newest = max(holds)
    assert newest not in listed or newest in found.whole, (
        told,
        found,
    )  # its files are all still in the folder
    exact = 0
    for number in sorted(listed & holds.keys()):
        seen = snapshot(root)
        try:
            watched.restore(str(number))
        except StoreDamaged:
            assert snapshot(root) == seen, f"{told}: checkpoint {number} was refused too late"
            assert number not in found.whole, f"{told}: checkpoint {number} is whole and was refused"
            continue
        assert snapshot(root) == holds[number], f"{told}: checkpoint {number} was not restored exactly"
        exact += 1
    return {"restored byte for byte": exact, "found damaged": len(found.damage), "healed": len(found.healed)}


CAMPAIGNS = (
    Campaign(
        "damage-store",
        "R3",
        "With one damaged file anywhere in its home, a daemon starts or names it, and everything else goes on.",
        5_000,
        damage_store,
    ),
    Campaign(
        "damage-library",
        "R3",
        "One damaged file in a store is found before a restore writes, survived, and healed from the folder.",
        20_000,
        damage_library,
    ),
)
