"""Real daemons with real clients, killed: at a chosen system call, or at random moments of random work."""

import contextlib
import os
import random
import signal
import threading
import time
from pathlib import Path
from typing import Any

from backtrail import Client
from backtrail.errors import DaemonUnreachable, NothingToDo
from backtrail.paths import STARTED_BY_CLIENT
from backtrail.workspace import Workspace
from backtraild.__main__ import main
from support import judging
from support.disk import snapshot
from support.git import git
from support.judging import assert_captured
from support.killing import ACTS, Ordeal, scribble
from support.live import places_in
from support.process import Process
from support.project import Files, files_of
from support.stage import Cue, the_stage
from support.tracing import Kill, Tracer
from support.watching import eventually

_SUBJECTS = {"save": "asked once", "restore": "Restored checkpoint 1"}


def serve(_: Cue, folder: Path) -> None:
    """The program: the daemon itself, with its sockets."""
    os.environ.update({"BACKTRAIL_HOME": str(folder / "home"), STARTED_BY_CLIENT: "1"})
    main([])


def killed_while_serving(folder: Path, act: str, number: int) -> dict[str, float] | None:
    """A client asks once; the daemon is killed at its so many-th call, and the next one has the answer.

    None if it makes fewer calls than that.
    """
    ordeal, tracer = Ordeal(folder), Tracer(str(folder))
    places, stage = places_in(folder), the_stage()
    answers: list[dict[str, Any]] = []
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(stage.enter("support.killed_daemons:serve", folder, tracer=tracer))
        eventually(places.connection_file.exists)
        client = stack.enter_context(Client(home=folder / "home", autostart=False))
        workspace = client.workspace(ordeal.root)
        tracer.arm(Kill(number))
        asking = threading.Thread(target=lambda: answers.extend(_asked_once(workspace, act)))
        asking.start()
        eventually(lambda: tracer.hit is not None or not asking.is_alive())
        if tracer.hit is None:
            return None
        first.await_end()
        second = stack.enter_context(stage.enter("support.killed_daemons:serve", folder))
        asking.join()
        os.kill(second.pid, signal.SIGTERM)
        second.await_end()
    assert answers, f"{act} was not answered after {tracer.hit}"
    ordeal.known.told(answers)
    said = git("log", "--all", "--format=%s", git_dir=ordeal.git_dir).decode().splitlines()
    assert said.count(_SUBJECTS[act]) == 1, (
        f"{act} was done {said.count(_SUBJECTS[act])} times after {tracer.hit}"
    )
    return {"kills": 1, **ordeal.judge()}


def _asked_once(workspace: Workspace, act: str) -> list[dict[str, Any]]:
    if act == "save":
        made = [workspace.save(_SUBJECTS[act])]
    else:
        result = workspace.restore(1)
        made = [workspace.get(found) for found in (result.safety_checkpoint, "@")]
    return [{"number": each.number, "id": each.id, "tree": each.tree} for each in made]


class Fate(threading.Thread):
    """Kills the daemon of a home at random moments, and starts the next one at once."""

    def __init__(self, home: Path, seed: int, kills: int) -> None:
        super().__init__(name="fate")
        self._home, self._source, self._kills = home, random.Random(seed), kills
        self.slowest = 0.0
        self.over = threading.Event()
        self.daemon_process = self._next()

    def run(self) -> None:
        try:
            for _ in range(self._kills):
                time.sleep(self._source.uniform(0.0, 0.5))
                self.daemon_process.kill()
                self.daemon_process = self._next()
        finally:
            self.over.set()

    def _next(self) -> Process:
        begun = time.monotonic()
        process = Process(self._home)
        try:
            process.wait_until_ready()
        except BaseException:
            process.kill()
            raise
        self.slowest = max(self.slowest, time.monotonic() - begun)
        return process


def killed_daemons(folder: Path, seed: int, kills: int) -> dict[str, float]:
    """A client goes on working while one daemon after another is killed under it."""
    ordeal = Ordeal(folder)
    fate = Fate(folder / "home", seed, kills)
    try:
        with Client(home=folder / "home", autostart=False) as client:
            workspace = client.workspace(ordeal.root)  # before the first kill, which may come at once
            fate.start()
            answers = _worked(workspace, ordeal, random.Random(seed), fate.over)
    finally:
        fate.join()
        fate.daemon_process.kill()
    counts = {**ordeal.judge(), "most seconds to ready": fate.slowest}
    return {"kills": kills + 1, "answers": answers, **counts}


def _worked(workspace: Workspace, ordeal: Ordeal, source: random.Random, over: threading.Event) -> int:
    answers = 0
    while not over.is_set():
        scribble(ordeal.root, source)
        disk = snapshot(ordeal.root)
        try:
            answers += _ask(workspace, ordeal, source, disk)
        except NothingToDo:
            continue
        except DaemonUnreachable as error:
            # Nothing was sent while there was no daemon; and of a deletion the client says that it does not know.
            if error.message != "No daemon is running." and "not known whether “delete”" not in error.message:
                raise
    return answers


def _ask(workspace: Workspace, ordeal: Ordeal, source: random.Random, disk: Files) -> int:
    """One request, which the client repeats by itself where the daemon is lost; how it ends is how it is."""
    act = source.choice(ACTS)
    number = source.choice(sorted(set(ordeal.known.kept) - ordeal.doubtful))
    if act == "save":
        made = workspace.save()
        ordeal.known.told([{"number": made.number, "id": made.id, "tree": made.tree}])
        assert files_of(ordeal.git_dir, made.tree) == judging.without_ignored(disk), (
            "a save is not what was there"
        )
    elif act == "undo":
        workspace.undo()
    elif act == "restore":
        wanted = ordeal.known.kept[number][1]
        workspace.restore(number)
        assert_captured(ordeal.git_dir, wanted, ordeal.root)
    elif len(ordeal.known.kept) > len(ordeal.doubtful) + 3:
        ordeal.doubtful.add(number)  # a deletion is not repeated where the answer to it is lost
        workspace.delete(number)
        ordeal.doubtful.remove(number)
        ordeal.known.let_go([number])
    return 1
