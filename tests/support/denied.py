"""Files and folders that may not be read, also for root, whom no mode keeps out."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from backtraild.scan import capture, folders, scanner
from support.look import Os


def deny(patch: pytest.MonkeyPatch, path: Path) -> Callable[[], None]:
    """Make a file or folder unreadable; call what is returned to make it readable again."""
    if os.geteuid() != 0:
        mode = path.stat().st_mode
        path.chmod(0)
        return lambda: path.chmod(mode)
    denied = {os.fsencode(path.name)}
    really_open_folder = folders.open_folder

    def open_file(name, *arguments, **options):
        refuse(name)
        return os.open(name, *arguments, **options)

    def open_folder(name: bytes, parent: int) -> int:
        refuse(name)
        return really_open_folder(name, parent)

    def refuse(name: bytes) -> None:
        if name in denied:
            raise PermissionError(13, os.strerror(13), name)

    patch.setattr(capture, "os", Os(open=open_file))
    for module in (folders, scanner):
        patch.setattr(module, "open_folder", open_folder)
    return denied.clear
