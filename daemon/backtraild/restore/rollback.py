"""Undoing one step. Each function looks at what is really there, so it is right whether or not, or how far,
the step was carried out, and right again when it is called a second time."""

import errno
from collections.abc import Iterable
from contextlib import suppress

from backtraild.model import Path
from backtraild.restore.calls import OPEN_FILE
from backtraild.restore.journal import Step
from backtraild.restore.moves import Site

_STAYS = frozenset({errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY, errno.ENOENT})


def undo_delete(site: Site, step: Step) -> None:
    """Put the old file back. Where somebody created a new one meanwhile, theirs stays."""
    _put_back(site, step, site.staging.old_name(step))


def undo_write(site: Site, step: Step) -> None:
    """Take our file out and put the old one back."""
    staging = site.staging
    name = staging.new_name(step)
    in_staging = site.is_staged(step, name)
    ours_in_staging = in_staging and site.is_ours(step, staging.fd(step), name)
    if _is_in_place(site, step):
        if in_staging and not ours_in_staging:
            _exchange_back(site, step, name)
        elif ours_in_staging:
            # Hard-linked into its place and not yet unlinked here: the same file under two names.
            site.calls.unlink(step.name, dir_fd=site.folders.open(step.folder).fd)
        else:
            site.take(step, name)
    elif in_staging and not ours_in_staging:
        _put_back(site, step, name)
    _put_back(site, step, staging.old_name(step))


def undo_mode(site: Site, step: Step, ino: int, mode: int) -> None:
    """Give the file its old permissions, if it is still there."""
    folder = site.folders.open(step.folder)
    try:
        descriptor = site.calls.open(step.name, OPEN_FILE, dir_fd=folder.fd)
    except FileNotFoundError:
        return
    try:
        if site.calls.fstat(descriptor).st_ino == ino:
            site.calls.fchmod(descriptor, mode)
    finally:
        site.calls.close(descriptor)


def undo_create_folder(site: Site, path: Path) -> None:
    """Remove a folder that the restore made, unless somebody put something into it."""
    try:
        site.folders.remove(path)
    except OSError as error:
        if error.errno not in _STAYS:
            raise


def undo_remove_folder(site: Site, path: Path, mode: int) -> None:
    """Make a folder again that the restore removed."""
    try:
        site.folders.create(path)
    except FileExistsError:
        return  # it was never removed, or somebody made it again
    site.folders.set_mode(path, mode)


def discard_staged(site: Site, steps: Iterable[Step]) -> None:
    """Empty staging after a roll-back; what somebody wrote meanwhile is kept beside its path."""
    for step in steps:
        site.discard(step, site.staging.new_name(step))
        site.discard(step, site.staging.old_name(step))


def unlink_staged(site: Site, steps: Iterable[Step]) -> None:
    """Empty staging when nothing has left it yet: all of it is ours, also what is half written."""
    for step in steps:
        # Missing: the failure came before this one was staged, or before its staging folder was there.
        with suppress(FileNotFoundError, KeyError):
            site.calls.unlink(site.staging.new_name(step), dir_fd=site.staging.fd(step))


def _is_in_place(site: Site, step: Step) -> bool:
    try:
        return site.is_ours(step, site.folders.open(step.folder).fd, step.name)
    except FileNotFoundError:
        return False


def _exchange_back(site: Site, step: Step, name: bytes) -> None:
    try:
        site.exchange(step, name)
    except FileNotFoundError:
        _put_back(site, step, name)
        return
    if not site.is_ours(step, site.staging.fd(step), name):
        # Somebody replaced our file in this very moment: theirs goes back, the old one is in the store.
        site.exchange(step, name)


def _put_back(site: Site, step: Step, name: bytes) -> None:
    if not site.is_staged(step, name):
        return
    try:
        site.put(step, name)
    except FileExistsError:
        pass  # somebody's new file stays; the old one is in the safety checkpoint and is discarded
    except FileNotFoundError:
        pass  # somebody removed the whole folder; so it is with this file
