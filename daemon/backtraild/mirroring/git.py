"""Running git towards another repository: as its user, who is never asked anything, and until it is told to end.

Unlike in the user's own repository (`branching.git`), the network and the user's credentials are wanted here.
"""

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable
from typing import IO

from msgspec import Struct

from backtrail.errors import DaemonStopping, MirrorFailed
from backtraild.mirroring.remote import PROTOCOLS

_LOOK_SECONDS = 0.1  # how often it is asked whether to end
_END_SECONDS = 5.0  # how long git may take to clean up behind itself

_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "credential.interactive=false",
    "push.gpgSign=false",
    "push.followTags=false",
    "push.recurseSubmodules=no",
    "advice.pushUpdateRejected=false",
)
# Of all that git takes from its environment, what says how to reach a remote, and where its configuration lies.
_KEPT = (
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH"),
    *("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT"),
    *("GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSL_CERT", "GIT_SSL_KEY"),
)
_VARIABLES = {
    "LC_ALL": "C",
    "GIT_ALLOW_PROTOCOL": ":".join(PROTOCOLS),  # goes before any configuration, also after a redirection
    "GIT_ASKPASS": "",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "SSH_ASKPASS_REQUIRE": "never",
}
_SSH = "ssh -o BatchMode=yes"


class Ended(Struct, frozen=True):
    """How git ended, and what it said."""

    status: int
    out: str
    err: str


def run(git_dir: str, *arguments: str, stop: Callable[[], bool]) -> Ended:
    """Run git on a repository. Raises DaemonStopping where it had to be ended before it was done."""
    settings = [word for setting in _SETTINGS for word in ("-c", setting)]
    command = ["git", f"--git-dir={git_dir}", *settings, *arguments]
    # Files, not pipes: an ssh that stays in the background for the next time keeps what it was given open.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = _started(command, git_dir, out, err)
        while process.poll() is None:
            if stop():
                _end(process)
                raise DaemonStopping("The Backtrail daemon is stopping.", "Mirror again in a moment.")
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK_SECONDS)
        return Ended(process.returncode, _said(out), _said(err))


def _started(command: list[str], git_dir: str, out: IO[bytes], err: IO[bytes]) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(
            command,
            cwd=git_dir,
            env=_environment(git_dir),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,  # no terminal to ask at, and one name for all that it starts
        )
    except OSError as error:
        raise MirrorFailed(
            f"Git could not be run in {git_dir}: {error.strerror}.",
            "A mirror needs the store, and the git command on the PATH of the daemon.",
        ) from error


def _environment(git_dir: str) -> dict[str, str]:
    """The daemon's own, without what would lead git elsewhere or have it ask."""
    found = {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT or not name.startswith(("GIT_", "LC_"))
    }
    if not found.keys() & {"GIT_SSH", "GIT_SSH_COMMAND"} and not _has_ssh_command(git_dir, found):
        found["GIT_SSH_COMMAND"] = _SSH
    return {**found, **_VARIABLES}


def _has_ssh_command(git_dir: str, environment: dict[str, str]) -> bool:
    """Did the user configure one? The variable would go before it."""
    command = ["git", f"--git-dir={git_dir}", "config", "core.sshCommand"]
    return subprocess.run(command, cwd=git_dir, env=environment, capture_output=True).returncode == 0


def _end(process: "subprocess.Popen[bytes]") -> None:
    for number, seconds in ((signal.SIGTERM, _END_SECONDS), (signal.SIGKILL, None)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
            return


def _said(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
