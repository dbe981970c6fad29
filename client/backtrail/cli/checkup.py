"""What `doctor` looks at. Each check yields sentences with a level and what to do; none of them changes anything."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress

from backtrail import __version__
from backtrail.amounts import size
from backtrail.cli.render.health import Check
from backtrail.cli.words import count
from backtrail.client import Client
from backtrail.errors import BacktrailError
from backtrail.paths import Places, places
from backtrail.protocol import STATUS, OfWorkspace
from backtrail.values import Pong, WorkspaceInfo
from backtrail.wire.locating import Locator

_OK, _WARNING, _PROBLEM = "ok", "warning", "problem"
_LITTLE_SPACE, _NO_SPACE = 1_000_000_000, 100_000_000
_NEARLY = 0.95  # of what a store may take
_MANY = 0.8  # of what the kernel allows


def everything(client: Client) -> Iterator[Check]:
    """All checks, the daemon's own environment first."""
    where = places()
    yield from _folders(where)
    yield from _config(where)
    yield from _space(where)
    yield from set_aside(where)
    yield _git()
    yield from _service()
    try:
        pong = client.ping()
        watched = client.workspaces()
    except BacktrailError as error:
        yield Check(_PROBLEM, error.message, error.hint)
        return
    yield _daemon(pong)
    yield from _endpoints()
    yield from _watches(pong)
    for workspace in watched:
        yield from _workspace(client, workspace)
    if not watched:
        yield Check(_WARNING, "No folder is watched.", "`backtrail watch FOLDER` begins with one.")


def _folders(where: Places) -> Iterator[Check]:
    for folder in (where.config, where.data, where.runtime):
        try:
            found = os.stat(folder)
        except FileNotFoundError:
            yield Check(_OK, f"{folder} is not there yet; it is made when it is needed.")
            continue
        except OSError as error:
            yield Check(
                _PROBLEM, f"{folder} can't be looked at: {error.strerror}.", "Look at its permissions."
            )
            continue
        yield _folder(str(folder), found)


def _folder(folder: str, found: os.stat_result) -> Check:
    mode = stat.S_IMODE(found.st_mode)
    if not stat.S_ISDIR(found.st_mode):
        return Check(_PROBLEM, f"{folder} is not a folder.", "Move it away; Backtrail makes the folder.")
    if found.st_uid != os.getuid():
        owner = f"{folder} belongs to the user with the number {found.st_uid}."
        return Check(_PROBLEM, owner, "Move it away, or set BACKTRAIL_HOME to a folder of your own.")
    if mode & 0o077:
        return Check(_WARNING, f"Others can look into {folder} (mode {mode:04o}).", f"`chmod 700 {folder}`")
    if mode & 0o700 != 0o700:
        return Check(_PROBLEM, f"{folder} has the mode {mode:04o}.", f"`chmod 700 {folder}`")
    return Check(_OK, f"{folder} is there, for nobody but its owner.")


def _config(where: Places) -> Iterator[Check]:
    import tomllib

    try:
        tomllib.loads(where.config_file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        yield Check(_OK, f"There is no {where.config_file}; the defaults hold.")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        yield Check(
            _PROBLEM,
            f"The configuration file {where.config_file} can't be used: {reason}.",
            "Correct it, or move it away to go on with the defaults.",
        )
    else:
        yield Check(_OK, f"{where.config_file} can be read.")


def _space(where: Places) -> Iterator[Check]:
    folder = str(where.data)
    while not os.path.exists(folder) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    try:
        found = os.statvfs(folder)
    except OSError as error:
        yield Check(_WARNING, f"The free space at {folder} is unknown: {error.strerror}.")
        return
    free = found.f_bavail * found.f_frsize
    level = _PROBLEM if free < _NO_SPACE else _WARNING if free < _LITTLE_SPACE else _OK
    yield Check(
        level,
        f"{size(free)} are free where the checkpoints are kept.",
        "Backtrail stops saving before a disk is full; `backtrail status` says when. Delete what is not needed.",
    )


def _git() -> Check:
    from shutil import which

    found = which("git")
    if found is None:
        return Check(
            _WARNING,
            "There is no git on PATH.",
            "Backtrail does not need it; without Backtrail, git alone can recover every checkpoint.",
        )
    return Check(_OK, f"{found} can recover checkpoints even without Backtrail.")


def _service() -> Iterator[Check]:
    from backtrail import units

    try:
        found = units.status()
    except units.NoServiceManager:
        yield Check(_OK, "There is no service manager here: the daemon is started by the first command.")
        return
    except BacktrailError as error:
        yield Check(_WARNING, error.message, error.hint)
        return
    if not found.installed:
        yield Check(_OK, "No service is installed: the daemon is started by the first command.")
    elif found.active:
        yield Check(_OK, f"The service is installed, and {found.manager} runs it.")
    else:
        hint = f"`backtrail daemon stop` ends a daemon in its way; {found.file} is its unit."
        yield Check(_WARNING, f"The service is installed, but {found.state}.", hint)


def _daemon(pong: Pong) -> Check:
    if pong.version != __version__:
        return Check(
            _WARNING,
            f"The daemon, process {pong.pid}, is version {pong.version}; this command is {__version__}.",
            "`backtrail daemon restart` starts the one that belongs to this command.",
        )
    return Check(_OK, f"The daemon answers: process {pong.pid}, version {pong.version}.")


def _endpoints() -> Iterator[Check]:
    found = Locator(autostart=False, home=None, connection=None).look()
    if found is not None:
        yield Check(_OK, f"It listens at {found.requests} and {found.events}.")


def _watches(pong: Pong) -> Iterator[Check]:
    """How much of what the kernel gives one user is taken by the daemon; it may be on another machine."""
    limit = _number("/proc/sys/fs/inotify/max_user_watches")
    used = _watches_of(pong.pid)
    if limit is None or used is None:
        return
    yield Check(
        _WARNING if used > limit * _MANY else _OK,
        f"The daemon uses {used:,} of the {limit:,} watches that the kernel gives one user.",
        f"`sudo sysctl fs.inotify.max_user_watches={limit * 4}` allows for more.",
    )


def _watches_of(process: int) -> int | None:
    folder = f"/proc/{process}/fdinfo"
    try:
        files = os.listdir(folder)
    except OSError:
        return None
    total = 0
    for name in files:
        # One that was open a moment ago may be closed by now.
        with suppress(OSError), open(os.path.join(folder, name), encoding="ascii", errors="replace") as file:
            total += sum(line.startswith("inotify ") for line in file)
    return total


def _number(path: str) -> int | None:
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def set_aside(where: Places) -> Iterator[Check]:
    """Files that were damaged and have been begun anew."""
    with suppress(OSError):
        for file in sorted(os.listdir(where.data)):
            if ".damaged-" in file and not file.endswith(("-wal", "-shm")):
                told = f"{where.data / file} is a damaged file that Backtrail has begun anew."
                yield Check(_WARNING, told, "Delete it once nothing is missed.")


def _workspace(client: Client, workspace: WorkspaceInfo) -> Iterator[Check]:
    name = workspace.root
    try:
        found = client.call(STATUS, OfWorkspace(workspace=workspace.workspace))
        if not os.access(os.path.join(found.store, "repo.git"), os.R_OK | os.W_OK | os.X_OK):
            yield Check(
                _PROBLEM, f"{name}: its store {found.store} can't be used.", "Look at its permissions."
            )
    except BacktrailError as error:
        yield Check(_PROBLEM, f"{name}: {error.message}", error.hint)
        return
    if found.max_store_bytes and found.store_bytes > found.max_store_bytes * _NEARLY:
        full = f"{name}: its store takes {size(found.store_bytes)} of {size(found.max_store_bytes)}."
        yield Check(_WARNING, full, f"`backtrail watch {name} --max-store SIZE` allows for more.")
    yield from (Check(_WARNING, f"{name}: {notice}") for notice in found.notices)
    if found.state == "degraded":
        for reason in found.reasons or ["it is degraded."]:
            yield Check(_PROBLEM, f"{name}: {reason}", f"`backtrail status -w {name}` tells more.")
    elif found.state == "paused":
        hint = f"`backtrail resume-watching -w {name}` makes them again."
        yield Check(_WARNING, f"{name} is paused: no automatic checkpoints are made.", hint)
    else:
        told = count(found.checkpoints, "checkpoint")
        yield Check(_OK, f"{name} is {found.state}, with {told} of {count(found.files, 'file')}.")
