"""What changes while no daemon runs, and while one starts: R6, with scouts in every start."""

import contextlib
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from backtrail import CheckpointConfig, Client, NothingToDo
from support.edits import Editor
from support.scouted import RELIED, scouted, starting
from support.walk import tree_id_by_gitignore
from torture.campaign import Campaign, Counts, Round

STEPS = 5
_EDITS = 60  # before the baseline; later up to a third of that at a time
_PATTERNS = ("a*\n", "/data*\n", "*.SQL\n", "main_dir/\n", "*.py\n!a.b.py\n", "")


def attempt(turn: Round) -> Counts:
    """Daemons end one way or another, much changes, daemons start; each one has what is on the disk."""
    home, root, source = turn.folder / "home", turn.folder / "work", turn.source
    killed = 0
    root.mkdir()
    editor = Editor(root, source)
    _edit(root, editor, source, _EDITS)
    with scouted(home) as daemon:
        with Client(home=home, autostart=False) as client:
            client.watch(root, config=CheckpointConfig(quiet=0.01))
        daemon.end(_ending(source))
    for _ in range(STEPS):
        _edit(root, editor, source, source.randrange(_EDITS // 3))
        with contextlib.ExitStack() as stack:
            with _somebody_at_work(root, source.randrange(2**32)):
                killed += _killed_in_its_start(home, source)
                daemon = stack.enter_context(scouted(home))
            client = stack.enter_context(Client(home=home, autostart=False))
            _check(client, root, turn.folder)
            # Noticed by watches that scouts have added.
            _edit(root, editor, source, source.randrange(_EDITS // 3))
            _check(client, root, turn.folder)
            daemon.end(_ending(source))
    return {"starts": STEPS, "killed in a start": killed, "starts that relied on scouts": _relied(home)}


def _edit(root: Path, editor: Editor, source: random.Random, times: int) -> None:
    for _ in range(times):
        # Somebody else may be at work, too, and take away what was chosen.
        with contextlib.suppress(OSError):
            editor.edit()
    folders = [path for path in sorted(root.rglob("*")) if path.is_dir() and not path.is_symlink()]
    if folders and source.random() < 0.4:
        ignore = source.choice([root, *folders]) / ".gitignore"
        with contextlib.suppress(OSError):
            ignore.write_text(source.choice(_PATTERNS))


def _killed_in_its_start(home: Path, source: random.Random) -> int:
    """Perhaps a daemon is killed while it starts, or one of its scouts; how many that were."""
    if source.random() < 0.4:
        return 0
    with starting(home) as daemon:
        time.sleep(source.uniform(0.05, 0.4))  # anywhere between its first call and being ready
        children = Path(f"/proc/{daemon.pid}/task/{daemon.pid}/children")
        scouts = [int(number) for number in children.read_text().split()]
        if not scouts or source.random() < 0.5:
            return 1
        with contextlib.suppress(ProcessLookupError):
            os.kill(source.choice(scouts), signal.SIGKILL)
        daemon.wait_until_ready()
        daemon.end(_ending(source))
        return 1


@contextlib.contextmanager
def _somebody_at_work(root: Path, seed: int) -> Iterator[None]:
    """In this block, files come and go all the time."""
    source, stop = random.Random(seed), threading.Event()
    editor = Editor(root, source)

    def work() -> None:
        while not stop.is_set():
            _edit(root, editor, source, 1)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _check(client: Client, root: Path, folder: Path) -> None:
    workspace = client.workspace(root)
    with contextlib.suppress(NothingToDo):
        workspace.save()
    newest = workspace.list(limit=1)[0]
    assert newest.tree == tree_id_by_gitignore(root, folder / "peer.git"), f"checkpoint {newest.number}"


def _ending(source: random.Random) -> signal.Signals:
    return source.choice((signal.SIGTERM, signal.SIGKILL))


def _relied(home: Path) -> int:
    return (home / "data" / "daemon.log").read_text().count(RELIED)


CAMPAIGNS = (
    Campaign(
        "start",
        "R6",
        "Whatever changes while no daemon runs, and while one starts, is in its checkpoint after a save.",
        300,
        attempt,
    ),
)
