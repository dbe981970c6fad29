"""Forks: a new folder that begins where another one was, with a conversation that goes on in it."""

import os
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backtrail.errors import (
    BacktrailError,
    DaemonStopping,
    RefusedWorkspace,
    RestoreFailed,
    UnknownCheckpoint,
    UnknownSession,
    UnknownTurn,
    UsageError,
)
from backtraild import meter, stores
from backtraild.branching import BranchRefused
from backtraild.conversing import Talk
from backtraild.forking import Forked
from backtraild.model import Checkpoint, Intent, Kind
from backtraild.registry import workspace_id
from backtraild.sessions import Sessions
from backtraild.timeline import HistoryType, TimelineQuery
from backtraild.workspace import Rewind
from support.conversing import all_objects, said
from support.disk import fsck, snapshot
from support.git import git
from support.serving import Desk, Site, desk
from support.watching import eventually

SESSION = "talk"
TURNS = 2


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Desk]:
    with desk(tmp_path, auto_checkpoint=False) as found:
        yield found


@pytest.fixture
def site(at: Desk) -> Site:
    return told(at)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """For tests that leave it as it was, apart from forks that are in folders of their own."""
    with desk(tmp_path_factory.mktemp("shared"), auto_checkpoint=False) as found:
        yield told(found)


def told(at: Desk) -> Site:
    """A folder in which a session took turns: each added a file, and two messages to the conversation."""
    site = at.watch()
    site.write(".gitignore", "*.log\n")
    site.write("bin/run", "#!/bin/sh\n").chmod(0o755)
    (site.root / "link").symlink_to("bin/run")
    at.service.start_session(site.id, SESSION, agent="claude", title="A refactoring", phase="build")
    for number in range(1, TURNS + 1):
        take_turn(site, number)
    return site


def take_turn(site: Site, number: int, *, talk: bool = True) -> Checkpoint:
    """One turn, with a checkpoint and what was said."""
    site.write(f"src/{number}.py", f"turn {number}\n")
    texts = [f"message {at}" for at in range(2 * number)]
    intent = Intent(Kind.AGENT, session=SESSION, turn=number)
    return site.desk.service.save(site.id, intent, talk=Talk(said(*texts) if talk else None))


def sessions_of(at: Desk, workspace: str, call: Any) -> Any:
    """Something about the sessions of a folder, in its worker."""
    return at.service.ask(workspace, lambda keeper: call(keeper.workspace.sessions))


def messages(at: Desk, forked: Forked) -> int:
    """How many messages the session of a fork begins with; all of them can be read."""

    def count(sessions: Sessions) -> int:
        return len(list(sessions.conversation(forked.session or "")))

    return int(sessions_of(at, forked.workspace, count))


def only(files: dict[bytes, Any], turns: int) -> dict[bytes, Any]:
    """What there was after so many turns."""
    later = {b"src/%d.py" % number for number in range(turns + 1, 10)}
    return {path: content for path, content in files.items() if path not in later}


def test_a_fork_at_a_turn_has_its_files_its_conversation_and_its_lineage(shared: Site, tmp_path: Path):
    """Try something else after the first message, without losing what came of the second."""
    at, site = shared.desk, shared
    site.write("debug.log", "excluded\n")
    forked = at.service.fork(site.id, str(tmp_path / "forks/new"), session=SESSION, turn=1)
    root = tmp_path / "forks/new"
    files = snapshot(root)
    assert files == only(site.captured(), 1)
    assert files[b"bin/run"] == ("executable", b"#!/bin/sh\n")
    assert files[b"link"] == ("symlink", b"bin/run")
    assert b"debug.log" not in files
    number = site.checkpoints()[1].number
    assert (forked.root, forked.workspace) == (str(root), workspace_id(str(root)))
    assert re.fullmatch(r"talk-fork-\d", forked.session or "")
    assert (forked.forked_from, forked.files) == (SESSION, len(files))
    assert forked.forked_at == (f"turn 1, checkpoint {number}")
    session = sessions_of(at, forked.workspace, lambda sessions: sessions.get(forked.session))
    assert (session.agent, session.title, session.phase) == ("claude", "A refactoring", "build")
    assert (session.forked_from, session.forked_at) == (SESSION, forked.forked_at)
    assert messages(at, forked) == 2
    assert messages_of_the_original(at, site) == 4


def messages_of_the_original(at: Desk, site: Site) -> int:
    return len(sessions_of(at, site.id, lambda sessions: list(sessions.conversation(SESSION))))


def test_the_new_folder_is_watched_and_begins_with_one_checkpoint(at: Desk, site: Site, tmp_path: Path):
    """Nothing of the old history is copied, and everything that happens from now on is kept."""
    forked = at.service.fork(site.id, str(tmp_path / "new"), session=SESSION)
    new = Site(at, tmp_path / "new", forked.workspace)
    first = new.newest()
    assert [each.kind for each in new.checkpoints()] == [Kind.BASELINE]
    assert (first.number, first.tree) == (forked.checkpoint, site.checkpoints()[-1].tree)
    assert at.service.entry(new.id).config == at.service.entry(site.id).config
    assert b"Before" not in all_objects(new.git_dir)
    new.write("src/6.py", "another 6\n")
    at.service.save(new.id)
    assert new.content("src/6.py") == b"another 6\n"
    assert site.content("src/6.py") is None
    fsck(new.git_dir)
    at.restart()
    assert messages(at, forked) == 4


def test_a_fork_is_told_in_both_folders(shared: Site, tmp_path: Path):
    """Whoever looks at the timeline of either sees where the other is."""
    at, site = shared.desk, shared
    forked = at.service.fork(site.id, str(tmp_path / "new"), session=SESSION, turn=2)
    told = at.service.timeline(site.id, TimelineQuery(HistoryType.TASK)).events[-1]
    assert (told.subtype, told.session, told.turn, told.phase) == ("session_forked", SESSION, 2, "build")
    assert told.data["new_session"] == forked.session
    assert (told.data["new_workspace"], told.data["new_root"]) == (forked.workspace, forked.root)
    begun = at.service.timeline(forked.workspace, TimelineQuery(HistoryType.TASK)).events
    assert [(line.subtype, line.session) for line in begun] == [("session_started", forked.session)]
    assert begun[0].data["forked_from"] == SESSION
    session = sessions_of(at, site.id, lambda sessions: sessions.get(SESSION))
    assert session.moments[-1].kind == "forked"


def test_a_fork_of_a_fork_tells_its_own_parent(at: Desk, site: Site, tmp_path: Path):
    """A chain of attempts can be followed back step by step."""
    first = at.service.fork(site.id, str(tmp_path / "one"), session=SESSION, turn=1)
    second = at.service.fork(first.workspace, str(tmp_path / "two"), session=first.session)
    assert (second.session, second.forked_from) == ("talk-fork-1-fork-1", "talk-fork-1")
    assert second.forked_at == "checkpoint 1"
    assert snapshot(tmp_path / "two") == snapshot(tmp_path / "one")
    assert messages(at, second) == 2
    again = at.service.fork(site.id, str(tmp_path / "three"), session=SESSION, turn=1)
    assert again.session == "talk-fork-2"


def test_a_fork_at_a_checkpoint_carries_what_had_been_said_by_then(at: Desk, site: Site, tmp_path: Path):
    """A checkpoint of a session is a place in its conversation, too."""
    made = site.checkpoints()
    inside = at.service.fork(site.id, str(tmp_path / "inside"), checkpoint=str(made[1].number))
    assert (inside.session, messages(at, inside)) == ("talk-fork-1", 2)
    site.write("by-hand.txt")
    later = at.service.save(site.id)
    named = at.service.fork(
        site.id, str(tmp_path / "named"), session=SESSION, checkpoint=later.id[:8], new_session="mine"
    )
    assert (named.session, messages(at, named)) == ("mine", 4)
    assert (tmp_path / "named/by-hand.txt").exists()


def test_a_checkpoint_without_a_session_is_forked_without_one(shared: Site, tmp_path: Path):
    """Files alone can be forked; a session is begun where one is named."""
    at, site = shared.desk, shared
    forked = at.service.fork(site.id, str(tmp_path / "new"), checkpoint="1")
    assert (forked.session, forked.forked_from, forked.forked_at) == (None, site.id, "checkpoint 1")
    assert snapshot(tmp_path / "new") == {}
    named = at.service.fork(site.id, str(tmp_path / "named"), checkpoint="1", new_session="fresh")
    assert named.session == "fresh"
    assert sessions_of(at, named.workspace, lambda sessions: sessions.get("fresh")).forked_from is None


def test_a_turn_without_a_conversation_carries_the_last_one_before_it(at: Desk, site: Site, tmp_path: Path):
    """The transcript could not be stored with that turn: what is known is better than nothing."""
    take_turn(site, 3, talk=False)
    forked = at.service.fork(site.id, str(tmp_path / "new"), session=SESSION)
    assert (messages(at, forked), (tmp_path / "new/src/3.py").exists()) == (4, True)


def test_a_rewound_turn_is_not_gone_on_from_unless_its_checkpoint_is_named(
    at: Desk, site: Site, tmp_path: Path
):
    """Whoever went back does not want what came after; but it is kept, and can be forked all the same."""
    ended = site.newest()
    rewound = at.service.rewind(site.id, Rewind(SESSION, 1), confirm=True)
    assert rewound.turns_rewound == (2,)
    last = at.service.fork(site.id, str(tmp_path / "last"), session=SESSION)
    assert (messages(at, last), b"src/2.py" in snapshot(tmp_path / "last")) == (2, False)
    restored = at.service.fork(site.id, str(tmp_path / "restored"), session=SESSION, checkpoint="@")
    assert (messages(at, restored), snapshot(tmp_path / "restored")) == (2, snapshot(tmp_path / "last"))
    named = at.service.fork(site.id, str(tmp_path / "named"), checkpoint=str(ended.number))
    assert (messages(at, named), b"src/2.py" in snapshot(tmp_path / "named")) == (4, True)
    at.service.rewind(site.id, Rewind(SESSION, 1, before=True), confirm=True)
    with pytest.raises(UnknownTurn, match="has no checkpoint"):
        at.service.fork(site.id, str(tmp_path / "nothing"), session=SESSION)


def test_a_folder_with_anything_in_it_is_refused(shared: Site, tmp_path: Path):
    """Two projects in one folder are one that nobody can take apart."""
    at, site = shared.desk, shared
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine").write_text("mine")
    (tmp_path / "empty").mkdir()
    watched = at.watch(str(tmp_path / "watched"))
    for folder, reason in [
        (str(tmp_path / "full"), "is not empty"),
        (str(watched.root), "is watched already"),
        (str(at.places.data / "inside"), "belongs to Backtrail itself"),
        ("relative", "not an absolute path"),
        (str(tmp_path / "Downloads"), "many programs share"),
    ]:
        with pytest.raises(RefusedWorkspace, match=reason):
            at.service.fork(site.id, folder, session=SESSION)
    assert snapshot(tmp_path / "full") == {b"mine": ("file", b"mine")}
    assert not (at.places.data / "inside").exists()
    assert not (tmp_path / "Downloads").exists()
    assert at.service.fork(site.id, str(tmp_path / "empty"), session=SESSION).files == 5


REFUSED: list[tuple[dict[str, Any], type[BacktrailError], str]] = [
    ({}, UsageError, "neither is named"),
    ({"turn": 1}, UsageError, "A turn is one of a session"),
    ({"session": SESSION, "turn": 1, "checkpoint": "1"}, UsageError, "in the place of a checkpoint"),
    ({"session": "nobody"}, UnknownSession, "no session 'nobody'"),
    ({"session": SESSION, "turn": 9}, UnknownTurn, "has no turn 9"),
    ({"session": SESSION, "turn": 4}, UnknownTurn, "Turn 4 of session 'talk' has no checkpoint"),
    ({"checkpoint": "99"}, UnknownCheckpoint, "99"),
    ({"session": SESSION, "new_session": ""}, UsageError, "1 to 200 printable"),
    ({"session": SESSION, "new_session": SESSION}, UsageError, "can't come from itself"),
    ({"session": "silent"}, UnknownTurn, "Session 'silent' has no checkpoint"),
]


def test_a_point_that_is_not_there_is_refused_and_nothing_is_made(shared: Site, tmp_path: Path):
    """A wrong name must not leave folders behind."""
    at, site = shared.desk, shared
    before = at.service.workspaces()
    at.service.start_session(site.id, "silent")
    at.service.begin_turn(site.id, SESSION, 4)
    for point, error, reason in REFUSED:
        with pytest.raises(error, match=reason):
            at.service.fork(site.id, str(tmp_path / "forks/new"), **point)
        assert not (tmp_path / "forks").exists()
        assert at.service.workspaces() == before


def gone(at: Desk, root: Path) -> bool:
    """Is nothing left of a fork: no folder, nothing watched, no store?"""
    new = workspace_id(str(root))
    watched = new in {entry.id for entry in at.service.workspaces()}
    return not (root.exists() or watched or at.places.store(new).exists())


def test_a_fork_whose_conversation_is_damaged_leaves_nothing_behind(at: Desk, site: Site, tmp_path: Path):
    """A fork that looks complete and has lost what was said would be found out too late."""
    ref = next(path for path in (site.git_dir / "refs/transcripts").iterdir())
    ref.write_text("0" * 40 + "\n")
    with pytest.raises(BacktrailError):
        at.service.fork(site.id, str(tmp_path / "new"), session=SESSION)
    assert gone(at, tmp_path / "new")
    assert not at.events("session_forked")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BacktrailError):
        at.service.fork(site.id, str(tmp_path / "empty"), session=SESSION)
    assert list((tmp_path / "empty").iterdir()) == []


def test_a_fork_whose_files_are_damaged_leaves_nothing_behind(at: Desk, site: Site, tmp_path: Path):
    """Damage in the store is found before the first file is written."""
    for pack in (site.git_dir / "objects/pack").glob("*.pack"):
        content = bytearray(pack.read_bytes())
        content[20:40] = bytes(20)
        pack.chmod(0o600)
        pack.write_bytes(content)
    with pytest.raises(BacktrailError):
        at.service.fork(site.id, str(tmp_path / "new"), session=SESSION, turn=TURNS)
    assert gone(at, tmp_path / "new")


def test_a_baseline_that_can_not_be_taken_leaves_nothing_behind(
    shared: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The store of the new folder can't be made: the disk that holds it is full."""
    at, site = shared.desk, shared
    before, real = at.service.workspaces(), stores.prepare

    def full(entry: Any, folder: Path) -> None:
        real(entry, folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.write_text("a file in the place of the store")

    monkeypatch.setattr(stores, "prepare", full)
    with pytest.raises((BacktrailError, OSError)):
        at.service.fork(site.id, str(tmp_path / "new"), session=SESSION)
    assert not (tmp_path / "new").exists()
    assert at.service.workspaces() == before


def test_an_earlier_store_of_the_same_folder_is_gone_on_with_and_survives_a_failure(
    at: Desk, site: Site, tmp_path: Path
):
    """A folder that was watched before, and is forked into, must not lose its old checkpoints."""
    first = at.service.fork(site.id, str(tmp_path / "new"), session=SESSION)
    at.service.unwatch(first.workspace)
    shutil.rmtree(tmp_path / "new")
    with pytest.raises(UsageError, match="from earlier"):
        at.service.fork(site.id, str(tmp_path / "new"), session=SESSION, turn=1, new_session=first.session)
    assert not (tmp_path / "new").exists()
    assert (at.places.store(first.workspace) / "repo.git").is_dir()
    again = at.service.fork(site.id, str(tmp_path / "new"), session=SESSION, turn=1)
    assert (again.session, again.checkpoint > first.checkpoint) == ("talk-fork-2", True)
    assert snapshot(tmp_path / "new") == only(site.captured(), 1)


def test_a_fork_that_fails_keeps_what_somebody_did_in_the_folder_meanwhile(
    shared: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The folder is visible from the first file on: whoever works in it already must not lose that."""
    at, site = shared.desk, shared

    def interfere(*_: object, **__: object) -> None:
        (tmp_path / "new/mine.txt").write_text("mine")
        (tmp_path / "new/src/1.py").write_text("edited")
        raise RestoreFailed("It failed.")

    before = at.service.workspaces()
    monkeypatch.setattr(Sessions, "start", interfere)
    with pytest.raises(RestoreFailed):
        at.service.fork(site.id, str(tmp_path / "new"), session=SESSION)
    assert snapshot(tmp_path / "new") == {b"mine.txt": ("file", b"mine"), b"src/1.py": ("file", b"edited")}
    assert at.service.workspaces() == before


def test_a_fork_during_which_the_daemon_stops_leaves_nothing_behind(
    at: Desk, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The next daemon must not watch a folder of which nobody was told that it is there."""
    ending = threading.Thread(target=at.service.stop)

    def stop(*_: object, **__: object) -> None:
        ending.start()
        eventually(lambda: at.service._turns._closed)
        raise DaemonStopping("The daemon is stopping.")

    with monkeypatch.context() as patched:
        patched.setattr(Sessions, "start", stop)
        with pytest.raises(DaemonStopping):
            at.service.fork(site.id, str(tmp_path / "new"), session=SESSION)
    ending.join()
    at.restart()
    assert gone(at, tmp_path / "new")


def test_the_source_goes_on_saving_while_its_files_are_copied(
    at: Desk, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The agent does not stop because somebody forks its session."""
    for number in range(300):
        site.write(f"many/{number}", f"{number}\n" * 50)
    made = take_turn(site, 3)
    saved: list[Checkpoint] = []

    def save(progress: Any) -> None:
        if progress.phase == "writing" and not saved:
            site.write("meanwhile.txt")
            saved.append(at.service.save(site.id))

    monkeypatch.setattr(meter, "INTERVAL_SECONDS", 0.0)
    monkeypatch.setattr(at.service, "_progress", save)
    forked = at.service.fork(site.id, str(tmp_path / "new"), session=SESSION)
    assert [each.number > made.number for each in saved] == [True]
    assert snapshot(tmp_path / "new") == {
        path: content for path, content in site.captured().items() if path != b"meanwhile.txt"
    }
    assert forked.files == 306


def test_a_branch_holds_the_checkpoint_and_nothing_else_changes(at: Desk, site: Site):
    """What an attempt came to, as a branch to look at and merge."""
    with pytest.raises(BranchRefused):
        at.service.branch(site.id, "@", "attempt")
    git("init", "-q", "-b", "main", cwd=site.root)
    number = site.checkpoints()[1].number
    found, made = at.service.branch(site.id, str(number), "attempt")
    assert (found.number, made.branch, made.parent) == (number, "attempt", None)
    tree = git("rev-parse", "attempt^{tree}", cwd=site.root).decode().strip()
    assert tree == found.tree
    with pytest.raises(BranchRefused, match="attempt"):
        at.service.branch(site.id, "@", "attempt")
    _, forced = at.service.branch(site.id, "@", "attempt", force=True)
    assert git("rev-parse", "attempt", cwd=site.root).decode().strip() == forced.commit != made.commit
    with pytest.raises(UnknownCheckpoint):
        at.service.branch(site.id, "99", "other")
    assert os.listdir(site.root / ".git/refs/heads") == ["attempt"]
