"""Scenarios in a process that file modes hold for: root becomes nobody in it, everybody else stays who they are."""

import os
import shutil
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

NOBODY = 65534


def as_nobody(scenario: Callable[[Path], None], prepare: Callable[[Path], None] | None = None) -> None:
    """Call `scenario(folder)` in a child without privileges; what it raises there fails here.

    The folder is empty and its own, unless `prepare` puts something into it, as root if the caller is.
    """
    # Not in the test's own folder, whose parents nobody else may enter.
    folder = Path(tempfile.mkdtemp(prefix="bt-"))
    try:
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        if prepare is not None:
            prepare(folder)
        _check(*_in_child(scenario, folder))
    finally:
        os.system(f"chmod -R u+rwx {folder}")  # noqa: S605 - a name that was just made
        shutil.rmtree(folder)


def _in_child(scenario: Callable[[Path], None], folder: Path) -> tuple[int, str]:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        _run(scenario, folder, writing)
    os.close(writing)
    with open(reading, errors="replace") as said:
        text = said.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), text


def _run(scenario: Callable[[Path], None], folder: Path, writing: int) -> None:
    """Never comes back."""
    status = 1
    try:
        os.environ["HOME"] = str(folder)
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        scenario(folder)
        status = 0
    except BaseException:
        os.write(writing, traceback.format_exc().encode(errors="replace")[-60_000:])
    finally:
        os._exit(status)


def _check(status: int, text: str) -> None:
    assert status == 0, text or f"the process ended with {status}"
