"""One scene with one thing wrong at one system call: run, watched, and judged by what is left."""

import contextlib
import errno
import functools
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from support import judging, scenes
from support.disk import snapshot
from support.judging import Known
from support.project import Files
from support.scenes import SCENES, Scene
from support.stage import Actor, the_stage
from support.tracing import Call, Fail, Kill, Tracer

_PROGRAM = "support.scenes:perform"
# Which calls give which error, on disks and in processes that are in such a state.
ERRORS: dict[int, frozenset[str]] = {
    errno.EIO: frozenset({"write", "sync", "open", "look", "rename", "make", "remove", "mode"}),
    errno.ENOSPC: frozenset({"write", "sync", "open", "rename", "make"}),
    errno.EROFS: frozenset({"open", "rename", "make", "remove", "mode"}),
    errno.EACCES: frozenset({"open", "look", "rename", "make", "remove", "mode"}),
    errno.EMFILE: frozenset({"open", "look"}),
}
_LIKE = 3  # so many of a row of like calls stand for all of them


@dataclass(frozen=True)
class Recording:
    """A scene in which nothing went wrong."""

    calls: tuple[Call, ...]
    before: Files
    after: Files


@functools.cache
def recorded(name: str, *, reads: bool = False) -> Recording:
    """What a scene does, found out by doing it once."""
    with tempfile.TemporaryDirectory(prefix="backtrail-") as made:
        folder = Path(made)
        with _playing(SCENES[name], folder, reads=reads) as play:
            heard = play.act(None)
            assert "answer" in (heard or {}), heard
            calls, after = tuple(play.tracer.calls), snapshot(play.root)
            play.tracer.disarm()
            play.actor.say(go_on=False)
            play.actor.await_end()
    short = [replace(call, path=call.path.removeprefix(made)) for call in calls]
    return Recording(tuple(short), play.before, after)


def kills(name: str) -> list[Kill]:
    """Every moment at which a scene can be killed: before each call, in the middle of each write, and at the end."""
    calls = recorded(name).calls
    before = [Kill(call.number) for call in calls]
    return (
        before
        + [Kill(call.number, after=True) for call in calls if call.kind == "write"]
        + [Kill(calls[-1].number, after=True)]
    )


def failures(name: str) -> list[Fail]:
    """Everything that can fail in a scene, once and lasting."""
    calls = recorded(name, reads=True).calls
    return [
        Fail(call.number, error, lasting, kinds)
        for call in _spread(calls)
        for error, kinds in ERRORS.items()
        for lasting in (False, True)
        if call.kind in kinds and not _is_told(call, error)
    ]


def _is_told(call: Call, error: int) -> bool:
    """Is it a refusal of which the watcher would see the end? A real one ends with a change of permissions."""
    return error == errno.EACCES and call.kind == "look" and call.path.startswith(f"/{scenes.WORK}/")


def _spread(calls: tuple[Call, ...]) -> list[Call]:
    """Of a row of like calls, such as many writes to one file, the first, the last and one between them."""
    found = []
    for _, group in groupby(calls, lambda call: (call.kind, call.path)):
        row = list(group)
        found += row if len(row) <= _LIKE else [row[0], row[len(row) // 2], row[-1]]
    return found


def killed(name: str, folder: Path, plan: Kill) -> dict[str, float]:
    """Run a scene, kill it there, and judge what the next start makes of it."""
    scene = SCENES[name]
    with _playing(scene, folder) as play:
        answer = _answer(play.act(plan))
        if answer is not None:
            play.actor.say(go_on=False)
        play.actor.await_end()
        known = play.known(recorded(name), answer)
    where = f"{name} killed {'after' if plan.after else 'before'} {play.tracer.hit}"
    with _explained(where, folder):
        counts = _judge(scene, folder, known, answer)
    return {"kills": play.tracer.hit is not None, "acknowledged": answer is not None, **counts}


def failed(name: str, folder: Path, plan: Fail) -> dict[str, float]:
    """Run a scene in which calls fail, see what it says, that it goes on afterwards, and what is left."""
    scene = SCENES[name]
    lasting = "from there on" if plan.lasting else "once"
    with _playing(scene, folder, reads=True) as play, _explained("", folder):
        heard = play.act(plan)
        where = f"{name} with {errno.errorcode[plan.error]} {lasting} at {play.tracer.hit}"
        with _explained(where, folder):
            answer = _answer(heard)
            _judge_troubles(play.actor.hear())
            known = play.known(recorded(name), answer)
            is_half_way = (heard or {}).get("error") == "restore-interrupted"
            if _hides_files(play.tracer.hit, play.root):
                known.disks = [] if is_half_way else [play.mixture(recorded(name))]
            elif not is_half_way:
                judging.judge_disk(snapshot(play.root), known)
            play.tracer.disarm()
            _judge_going_on(play, known)
            play.actor.await_end()
    with _explained(where, folder):
        counts = _judge(scene, folder, known, answer)
    return {"failures": play.tracer.hit is not None, "acknowledged": answer is not None, **counts}


def _hides_files(hit: Call | None, root: Path) -> bool:
    """Could files of the workspace not be read? They are left alone then, and told as skipped or in conflict."""
    return hit is not None and hit.kind == "look" and hit.path.startswith(f"{root}/")


def _answer(heard: dict[str, Any] | None) -> dict[str, Any] | None:
    """What a caller was told; a failure has a name and a sentence, and is no bug."""
    if heard is None:
        return None
    assert "crashed" not in heard, heard["crashed"]
    if "error" in heard:
        assert heard["error"] not in ("bug", "internal", "failed"), heard
        assert heard["message"].endswith("."), heard
        return None
    found: dict[str, Any] = heard["answer"]
    return found


def _judge_troubles(heard: dict[str, Any] | None) -> None:
    """Whatever is wrong is told in words; the name of an exception says that nobody thought of it."""
    assert heard is not None, "the daemon ended"
    for reason in heard["troubles"]:
        assert not re.match(r"\w+(Error|Exception)\b", reason), reason


def _judge_going_on(play: "_Play", known: Known) -> None:
    """The fault is gone: the next save holds everything, and all is well again."""
    play.actor.say(go_on=True)
    saved, state, stopped = (play.actor.hear() for _ in range(3))
    assert saved is not None, "the daemon ended"
    assert "saved" in saved, saved.get("crashed", saved)
    known.told(saved["saved"])
    judging.assert_captured(play.git_dir, saved["saved"][0]["tree"], play.root)
    assert state is not None
    assert (state.get("state"), state.get("reasons")) in (("watching", []), ("paused", [])), state
    assert stopped == {"stopped": True}, stopped
    disk = snapshot(play.root)
    judging.judge_disk({path: what for path, what in disk.items() if path != b"after"}, known)
    known.disks = [disk]


def _judge(scene: Scene, folder: Path, known: Known, answer: dict[str, Any] | None) -> dict[str, float]:
    return judging.judge(
        folder,
        folder / scenes.WORK,
        known,
        lambda service, workspace: scene.check(service, workspace, answer),
    )


@dataclass
class _Play:
    """A scene that is prepared, with a traced program that waits for its beginning."""

    scene: Scene
    folder: Path
    actor: Actor
    tracer: Tracer
    before: Files
    kept: dict[int, tuple[str, str]]

    @property
    def root(self) -> Path:
        return self.folder / scenes.WORK

    @property
    def git_dir(self) -> Path:
        return _git_dir(self.folder)

    def act(self, plan: Kill | Fail | None) -> dict[str, Any] | None:
        """Begin, with this going wrong; what the program says in the end, if it lives."""
        self.tracer.arm(plan)
        self.actor.say()
        return self.actor.hear()

    def mixture(self, recording: Recording) -> Files:
        """The disk as it is, if each file is old or new."""
        disk = snapshot(self.root)
        for path in {*disk, *self.before, *recording.after}:
            allowed = self.before.get(path), recording.after.get(path)
            assert disk.get(path) in allowed, f"{path!r} is neither old nor new"
        return disk

    def known(self, recording: Recording, answer: dict[str, Any] | None) -> Known:
        """What must hold now."""
        known = Known(dict(self.kept), disks=[self.before, recording.after], lets_go=self.scene.lets_go)
        if answer is not None:
            known.disks = [_partly(self.before, recording.after, answer.get("conflicts", ()))]
            known.lets_go = answer.get("lets_go", False)
            known.told(answer.get("made", ()))
            known.let_go(answer.get("gone", ()))
        return known


def _partly(before: Files, after: Files, conflicts: Iterable[str]) -> Files:
    """What is on the disk if these paths were left alone, because they could not be read."""
    left = {os.fsencode(path) for path in conflicts}
    kept = {path: what for path, what in before.items() if path in left}
    return {path: what for path, what in after.items() if path not in left} | kept


@contextlib.contextmanager
def _playing(scene: Scene, folder: Path, *, reads: bool = False) -> Iterator[_Play]:
    scenes.prepare(scene, folder)
    kept, before = judging.learn(_git_dir(folder)), snapshot(folder / scenes.WORK)
    tracer = Tracer(str(folder), reads=reads, others=scene.runs_git)
    with the_stage().enter(_PROGRAM, folder, scene.name, tracer=tracer) as actor:
        ready = actor.hear()
        assert ready == {"ready": True}, ready
        yield _Play(scene, folder, actor, tracer, before, kept)


def _git_dir(folder: Path) -> Path:
    from backtraild.registry import workspace_id

    root = str(folder / scenes.WORK)
    return folder / "home" / "data" / "workspaces" / workspace_id(root) / "repo.git"


@contextlib.contextmanager
def _explained(where: str, folder: Path) -> Iterator[None]:
    """A promise that broke is told with the moment at which it did."""
    try:
        yield
    except Exception as error:
        told = f"{where}: {type(error).__name__}: {error}" if where else str(error)
        raise AssertionError(told.replace(str(folder), "…")) from error
