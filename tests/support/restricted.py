"""A program that does all that the daemon needs the system for; run by a test under the restrictions of its unit."""

import subprocess
import sys
from pathlib import Path

import zmq

from backtraild.model import Intent, WorkspaceConfig
from backtraild.watch import Dirt
from backtraild.watch.inotify import InotifyHub
from backtraild.workspace import Workspace


def capture_and_restore(root: Path, store: Path) -> None:
    """A save that the watcher led to, a restore with an exchange and a new folder, and its undo."""
    dirt, hub = Dirt(), InotifyHub(str(store / "cookies"))
    hub.watch_cookies()
    watcher = hub.attach(dirt)
    workspace = Workspace(str(root), str(store), WorkspaceConfig(), watcher)
    workspace.start()
    (root / "program").write_text("new")
    (root / "program").chmod(0o644)
    (root / "sub" / "file").unlink()
    (root / "sub").rmdir()
    assert watcher.barrier(10)
    assert b"program" in dirt.take().paths
    workspace.save(Intent())
    workspace.restore("1")
    assert (root / "program").read_text() == "old"
    assert (root / "sub").stat().st_mode & 0o2000, "the folder has lost its group"
    workspace.undo()
    assert not (root / "sub").exists()
    watcher.close()
    workspace.close()
    hub.stop_reading()


def listen(folder: Path) -> None:
    """For this user, and for clients elsewhere."""
    with zmq.Context() as context, context.socket(zmq.ROUTER) as local, context.socket(zmq.ROUTER) as remote:
        local.bind(f"ipc://{folder}/socket")
        remote.curve_server, remote.curve_secretkey = True, zmq.curve_keypair()[1]
        remote.bind("tcp://127.0.0.1:*")


if __name__ == "__main__":
    capture_and_restore(Path(sys.argv[1]), Path(sys.argv[2]))
    listen(Path(sys.argv[2]))
    subprocess.run(["git", "--version"], check=True, capture_output=True)
    print("everything worked")
