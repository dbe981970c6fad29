"""Somebody works, at random, and is killed at random: again and again on the same home."""

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from backtrail.errors import NothingToDo, UnknownCheckpoint
from backtraild.registry import workspace_id
from backtraild.service import Service
from support import judging, scenes
from support.judging import Known
from support.live import places_in
from support.stage import Cue, the_stage
from support.tracing import Kill, Tracer

_NAMES = ["a", "b", "src/c", "src/deep/d", "src/deep/e", "caf\udce9", "lib/f"]
_LATEST_CALL = 150  # a restore makes about so many
ACTS = ("save", "save", "save", "restore", "restore", "undo", "delete")


def scribble(root: Path, source: random.Random) -> None:
    """Change a few files."""
    for name in source.sample(_NAMES, source.randrange(1, 4)):
        target = root / name
        if target.exists() and source.random() < 0.3:
            target.unlink()
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.randbytes(8).hex().encode() * source.randrange(1, 2000))


def work(cue: Cue, folder: Path, seed: str) -> None:
    """The program: everything that changes a store, in any order, until it is killed."""
    source = random.Random(int(seed))
    service = Service(places_in(folder))
    service.start()
    service.wait_until_caught_up()
    workspace = workspace_id(str(folder / scenes.WORK))
    cue.tell(ready=True)
    cue.wait()
    while True:
        scribble(folder / scenes.WORK, source)
        try:
            _act(cue, service, workspace, source)
        except (NothingToDo, UnknownCheckpoint):
            continue


def _act(cue: Cue, service: Service, workspace: str, source: random.Random) -> None:
    act = source.choice(ACTS)
    numbers = [made.number for made in service.list(workspace).checkpoints]
    if act == "save":
        cue.tell(made=scenes.facts([service.save(workspace)]))
    elif act == "undo":
        result = service.undo(workspace)
        cue.tell(made=scenes.facts([result.safety_checkpoint, result.result]))
    elif act == "restore":
        number = source.choice(numbers)
        result = service.restore(workspace, str(number))
        cue.tell(made=scenes.facts([result.safety_checkpoint, result.result]))
    elif len(numbers) > 3:
        number = source.choice(numbers)
        cue.tell(going=[number])
        service.delete(workspace, [str(number)])
        cue.tell(gone=[number])


class Ordeal:
    """One home, on which programs work and die."""

    def __init__(self, folder: Path) -> None:
        scenes.prepare(scenes.SCENES["save"], folder)
        self.folder, self.root = folder, folder / scenes.WORK
        identity = workspace_id(str(self.root))
        self.git_dir = folder / "home" / "data" / "workspaces" / identity / "repo.git"
        self.known = Known(judging.learn(self.git_dir))
        self.doubtful: set[int] = set()  # nobody answered whether these were deleted

    def kill_once(self, seed: int) -> dict[str, float]:
        """Let a program work, and kill it at some system call."""
        tracer = Tracer(str(self.folder))
        source = random.Random(seed)
        plan = Kill(source.randrange(1, _LATEST_CALL), after=source.random() < 0.3)
        stage, begun = the_stage(), time.monotonic()
        with stage.enter("support.killing:work", self.folder, str(seed), tracer=tracer) as actor:
            ready = actor.hear()
            assert ready == {"ready": True}, ready
            seconds = time.monotonic() - begun
            self._check_start()
            tracer.arm(plan)
            actor.say()
            answers = self._listen(actor.hear)
            actor.await_end()
        return {"kills": 1, "answers": answers, "most seconds to ready": seconds}

    def _listen(self, hear: Callable[[], dict[str, Any] | None]) -> int:
        answers = 0
        while (heard := hear()) is not None:
            assert "crashed" not in heard, heard.get("crashed")
            self.doubtful |= set(heard.get("going", ()))
            self.known.told(heard.get("made", ()))
            self.known.let_go(heard.get("gone", ()))
            self.doubtful -= self.known.gone
            answers += "made" in heard or "gone" in heard
        return answers

    def _check_start(self) -> None:
        """What was acknowledged is there, and nothing is left of what was interrupted."""
        self._check_checkpoints()
        left = judging.leftovers(self.folder, in_use=True)
        assert not left, f"left behind: {left}"

    def _check_checkpoints(self) -> None:
        found = judging.learn(self.git_dir)
        self.known.let_go(self.doubtful - set(found))
        self.doubtful.clear()
        for number, made in self.known.kept.items():
            assert found.get(number) == made, (
                f"checkpoint {number} was acknowledged and is lost or another one"
            )
        assert not self.known.gone & set(found), "a deleted checkpoint is back"

    def judge(self) -> dict[str, float]:
        """The whole judgement, at the end."""
        self._check_checkpoints()
        return judging.judge(self.folder, self.root, self.known, lambda *_: None)
