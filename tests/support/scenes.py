"""What the daemon does, one thing at a time, each to be tried at its worst moments: prepared, then done.

Preparing runs in the process of the test, doing in one that may be killed or whose system calls fail.
"""

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backtrail.errors import BacktrailError, StoreFailed
from backtraild import worker
from backtraild.conversing import RewindResult, Talk
from backtraild.keeper import Keeper
from backtraild.model import Checkpoint, Intent, Kind
from backtraild.registry import workspace_id
from backtraild.restore.staging import SYNCED_ONE_BY_ONE
from backtraild.service import Service
from backtraild.store import Tidied
from backtraild.transcripts import Messages
from backtraild.workspace import RestoreResult, Rewind
from support import scene_checks
from support.agents import Agent
from support.git import git
from support.live import places_in
from support.serving import RETRY, Desk, Site
from support.stage import Cue
from support.upkeep import PLENTY, Process

WORK, OTHER, FORKED, REMOTE = "work", "other", "forked", scene_checks.REMOTE
FIRST = {"kept": "the same all along\n", "src/changed": "one\n" * 50, "src/gone": "1", "turned": "a file"}
SECOND = {"src/changed": "two\n" * 4000, "src/deep/er/new": "2", "src/gone": None, "caf\udce9": "not UTF-8"}
PENDING = {"src/changed": "three\n" * 60, "fresh/one": "not yet in any checkpoint", "src/deep/er/new": None}
WHILE_AWAY = {"src/changed": "four\n", "away": "written while nobody watched", "turned": None}


@dataclass(frozen=True)
class Scene:
    """`act` gets the service and the id of the workspace, and returns what its caller was told.

    `check` looks, after the next start, at what is special about this scene; without an answer, either may be.
    """

    name: str
    act: Callable[[Service, str], dict[str, Any]]
    prepare: Callable[[Desk, Site], None] = lambda *_: None
    is_start: bool = False  # what is tried is the start of the service itself, before anything else is done
    lets_go: bool = False  # may checkpoints be gone afterwards?
    runs_git: bool = False  # do the system calls of git count as its own?
    check: Callable[[Service, str, dict[str, Any] | None], None] = lambda *_: None


def prepare(scene: Scene, folder: Path) -> None:
    """A folder with a few checkpoints, two turns of a session, a file that is ignored, and changes not yet saved."""
    desk = Desk(folder, auto_checkpoint=False)
    try:
        root = folder / WORK
        root.mkdir()
        edit(root, {**FIRST, ".gitignore": "ignored\n", "ignored": "held by no checkpoint"})
        (root / "link").symlink_to("kept")
        site = desk.watch(WORK)
        agent = Agent(site)
        agent.turn("first", {})
        edit(root, SECOND)
        (root / "kept").chmod(0o755)
        agent.turn("second", {})
        edit(root, PENDING)
        scene.prepare(desk, site)
    finally:
        desk.service.stop()
    if scene.is_start:
        edit(root, WHILE_AWAY)


def edit(root: Path, files: dict[str, str | None]) -> None:
    """Write files; without content they are deleted."""
    for path, content in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            target.unlink()
        else:
            target.write_text(content)


def perform(cue: Cue, folder: Path, name: str) -> None:
    """The program: do what the scene is about once told to, tell how it ended, and then show that all is well."""
    worker.RETRY_SECONDS = RETRY
    scene, workspace = SCENES[name], workspace_id(str(folder / WORK))
    service = None if scene.is_start else _begun(folder)
    cue.tell(ready=True)
    cue.wait()
    try:
        if service is None:
            service = _begun(folder)
        answer = scene.act(service, workspace)
        cue.tell(answer=answer)
    except BacktrailError as error:
        cue.tell(error=error.code, message=error.message, hint=error.hint)
    cue.tell(troubles=[] if service is None else _troubles(service))
    heard = cue.wait()
    service = service or _begun(folder)  # as whoever starts the daemon again
    if heard.get("go_on", True):
        _go_on(cue, service, workspace, folder)
    service.stop()
    cue.tell(stopped=True)


def _begun(folder: Path) -> Service:
    service = Service(places_in(folder))
    try:
        service.start()
        service.wait_until_caught_up()
    except BaseException:
        service.stop()
        raise
    return service


def _troubles(service: Service) -> list[str]:
    """What the watched folders complain about."""
    return [reason for entry in service.workspaces() for reason in service.status(entry.id).reasons]


def _go_on(cue: Cue, service: Service, workspace: str, folder: Path) -> None:
    """The fault is gone: the very next save works, and the folder is watched as before."""
    if workspace not in [entry.id for entry in service.workspaces()]:
        service.watch(str(folder / WORK))
    (folder / WORK / "after").write_text("the fault is gone")
    # What was interrupted may have been recorded just now, and this with it.
    made = service.save(workspace, Intent(message="after the fault"), allow_empty=True)
    cue.tell(saved=facts([made]))
    deadline = time.monotonic() + 10
    while service.status(workspace).reasons and time.monotonic() < deadline:
        time.sleep(0.01)
    status = service.status(workspace)
    cue.tell(state=status.state, reasons=list(status.reasons))


def facts(checkpoints: Iterable[Checkpoint | None]) -> list[dict[str, Any]]:
    """What a caller was told of checkpoints, as JSON."""
    return [
        {"number": made.number, "id": made.id, "tree": made.tree} for made in checkpoints if made is not None
    ]


def _save(service: Service, workspace: str) -> dict[str, Any]:
    return {"made": facts([service.save(workspace, Intent(message="tried"))])}


def _converse(service: Service, workspace: str) -> dict[str, Any]:
    said = [{"role": "user", "content": f"message {number}"} for number in range(40)]
    intent = Intent(Kind.AGENT, session="s", turn=3)
    made = service.save(workspace, intent, talk=Talk(conversation=Messages(said), prompt="third"))
    return {"made": facts([made]), "conversation_error": made.conversation_error}


def _went_back(result: RestoreResult | RewindResult) -> dict[str, Any]:
    conflicts = [os.fsdecode(conflict.path) for conflict in result.conflicts]
    return {"made": facts([result.safety_checkpoint, result.result]), "conflicts": conflicts}


def _restore(service: Service, workspace: str) -> dict[str, Any]:
    result = service.restore(workspace, "1")
    return _went_back(result)


def _many_edited(_: Desk, site: Site) -> None:
    """More than are synced one by one."""
    names = [f"many/{number}" for number in range(SYNCED_ONE_BY_ONE + 1)]
    edit(site.root, dict.fromkeys(names, "as it was\n"))
    site.desk.service.save(site.id)
    edit(site.root, dict.fromkeys(names, "edited\n"))


def _restore_newest(service: Service, workspace: str) -> dict[str, Any]:
    result = service.restore(workspace, str(service.get(workspace, "@").number))
    return _went_back(result)


def _restore_before(_: Desk, site: Site) -> None:
    site.desk.service.restore(site.id, "1")
    edit(site.root, {"src/changed": "four\n"})


def _undo(service: Service, workspace: str) -> dict[str, Any]:
    result = service.undo(workspace)
    return _went_back(result)


def _rewind(service: Service, workspace: str) -> dict[str, Any]:
    result = service.rewind(workspace, Rewind("s", 1), confirm=True)
    return _went_back(result)


def _more_checkpoints(_: Desk, site: Site) -> None:
    for number in range(3):
        edit(site.root, {"counted": str(number)})
        site.desk.service.save(site.id)
    edit(site.root, PENDING | {"src/deep/er/new": "x"})


def _delete(service: Service, workspace: str) -> dict[str, Any]:
    newest = service.get(workspace, "@").number
    service.delete(workspace, ["2", str(newest)])
    return {"gone": [2, newest]}


def _prune(service: Service, workspace: str) -> dict[str, Any]:
    """With a cap that was just lowered; the worker may be faster, and others go than those that are answered."""
    service.watch(service.entry(workspace).root, {"max_checkpoints": 2})
    return {"gone": [decision.number for decision in service.prune(workspace).dropped], "lets_go": True}


def _pin(service: Service, workspace: str) -> dict[str, Any]:
    service.pin(workspace, "1")
    return {"pinned": [1]}


def _watch_automatically(desk: Desk, site: Site) -> None:
    desk.service.watch(str(site.root), {"auto_checkpoint": True})


def _start(service: Service, workspace: str) -> dict[str, Any]:
    return {"watched": [workspace]}


def _fork(service: Service, workspace: str) -> dict[str, Any]:
    root = Path(service.entry(workspace).root)
    made = service.fork(workspace, str(root.parent / FORKED), session="s", turn=1, new_session="t")
    return {"watched": [workspace, made.workspace]}


def _make_other(desk: Desk, _: Site) -> None:
    edit(desk.folder / OTHER, {"a": "1", "b/c": "2\n" * 3000})


def _watch(service: Service, workspace: str) -> dict[str, Any]:
    other = service.watch(str(Path(service.entry(workspace).root).parent / OTHER))
    return {"watched": [workspace, other.id]}


def _unwatch(service: Service, workspace: str) -> dict[str, Any]:
    service.unwatch(workspace)
    return {"watched": []}


def _watch_other(desk: Desk, site: Site) -> None:
    _make_other(desk, site)
    desk.watch(OTHER)


def _purge(service: Service, workspace: str) -> dict[str, Any]:
    other = workspace_id(str(Path(service.entry(workspace).root).parent / OTHER))
    service.unwatch(other, purge=True)
    return {"watched": [workspace]}


def _pause(service: Service, workspace: str) -> dict[str, Any]:
    service.pause(workspace, paused=True)
    return {"paused": True}


def _leave_old_store(desk: Desk, site: Site) -> None:
    """A store in the format of an earlier version, of a folder that is watched no more."""
    _watch_other(desk, site)
    other = workspace_id(str(desk.folder / OTHER))
    store = desk.service.store(other)
    desk.service.unwatch(other)
    (store / "format").write_text("1\n")


def _migrate(service: Service, _: str) -> dict[str, Any]:
    return {"migrated": [new for _, _, new in service.migrate()]}


def _make_remote(desk: Desk, _: Site) -> None:
    git("init", "-q", "--bare", str(desk.folder / REMOTE))


def _mirror(service: Service, workspace: str) -> dict[str, Any]:
    remote = Path(service.entry(workspace).root).parent / REMOTE
    return {"sent": len(service.mirror(workspace, str(remote)).new)}


def _tidy(service: Service, workspace: str) -> dict[str, Any]:
    """A whole round of upkeep, with the real process."""

    def go_through(keeper: Keeper) -> None:
        store = keeper.workspace._parts.store
        process = Process(store.git_dir)
        process.upkeep.tidy(store.begin_upkeep(), PLENTY, urgent=True)
        try:
            found = process.outcome()
            if not isinstance(found, Tidied):
                raise StoreFailed(found.reason)
            store.end_upkeep(found)
        finally:
            process.upkeep.stop()
            store.abandon_upkeep()

    service.ask(workspace, go_through)
    return {}


SCENES = {
    scene.name: scene
    for scene in (
        Scene("save", _save),
        Scene("converse", _converse, check=scene_checks.conversation),
        Scene("restore", _restore),
        Scene("undo", _undo, _restore_before),
        Scene("rewind", _rewind, check=scene_checks.rewound),
        Scene("delete", _delete, _more_checkpoints, lets_go=True),
        Scene("prune", _prune, _more_checkpoints, lets_go=True),
        Scene("pin", _pin, check=scene_checks.pinned),
        Scene("start", _start, _watch_automatically, is_start=True, check=scene_checks.watched),
        Scene("fork", _fork, check=scene_checks.fork),
        Scene("watch", _watch, _make_other, check=scene_checks.watched),
        Scene("unwatch", _unwatch, check=scene_checks.unwatched),
        Scene("purge", _purge, _watch_other, check=scene_checks.watched),
        Scene("pause", _pause, check=scene_checks.paused),
        Scene("migrate", _migrate, _leave_old_store, check=scene_checks.migrated),
        Scene("upkeep", _tidy, _more_checkpoints),
        Scene("mirror", _mirror, _make_remote, runs_git=True, check=scene_checks.mirrored),
        Scene("restore-many", _restore_newest, _many_edited),
    )
}
