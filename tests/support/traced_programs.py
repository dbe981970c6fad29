"""Small programs for tests of the tracer: each does a known number of things to files."""

import os
import subprocess
import sys
import threading
from pathlib import Path

from support.stage import Cue


def five_writes(cue: Cue, folder: Path) -> None:
    """Opens a file, writes five times, syncs it, renames it, reads it, makes and removes a folder."""
    cue.tell(ready=True)
    cue.wait()
    descriptor = os.open(folder / "new", os.O_WRONLY | os.O_CREAT)
    told = []
    for number in range(5):
        try:
            os.write(descriptor, b"%d" % number * 100)
        except OSError as error:
            told.append([number, error.errno])
    os.fsync(descriptor)
    os.close(descriptor)
    os.rename(folder / "new", folder / "renamed")
    (folder / "renamed").read_bytes()
    os.mkdir(folder / "made")
    os.rmdir(folder / "made")
    Path("/dev/null").write_bytes(b"this is elsewhere")
    cue.tell(failed=told)


def by_descriptor(cue: Cue, folder: Path) -> None:
    """The same file again and again, each time named in another way."""
    cue.tell(ready=True)
    cue.wait()
    opened = os.open(folder, os.O_RDONLY)
    os.mkdir("below", dir_fd=opened)
    os.chdir(folder)
    os.mkdir("below/deeper")
    os.symlink("nowhere", "link", dir_fd=opened)
    os.rename("below/deeper", "up", src_dir_fd=opened)
    cue.tell(done=True)


def in_threads(cue: Cue, folder: Path) -> None:
    """Four threads, a forked process and another program, each with one folder to make."""
    cue.tell(ready=True)
    cue.wait()
    threads = [threading.Thread(target=os.mkdir, args=(folder / f"thread {n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    child = os.fork()
    if child == 0:
        os.mkdir(folder / "child")
        os._exit(0)
    os.waitpid(child, 0)
    make = f"import os; os.mkdir({str(folder / 'program')!r})"
    subprocess.run([sys.executable, "-S", "-E", "-c", make], check=True)
    subprocess.run(["mkdir", str(folder / "other program")], check=True)
    cue.tell(done=True)
