"""Calling the program through which a service manager is asked, never for longer than it may take."""

import os
import subprocess

from backtrail.units.answers import ServiceFailed

SECONDS = 30.0

# Times and messages as they are parsed here, whatever the language and the place of the user.
_PLAIN = {"LC_ALL": "C", "TZ": "UTC", "SYSTEMD_COLORS": "0", "SYSTEMD_PAGER": ""}


def call(*command: str, seconds: float = SECONDS, hint: str = "") -> str:
    """What the program printed. If it fails, the error says which call it was and what the program said."""
    words = " ".join(command)
    try:
        done = _run(command, seconds)
    except subprocess.TimeoutExpired:
        raise ServiceFailed(f"`{words}` did not come back within {seconds:.0f} seconds.", hint) from None
    except OSError as error:
        raise ServiceFailed(f"`{words}` could not be called: {error.strerror}.", hint) from error
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split()) or f"exit status {done.returncode}"
        raise ServiceFailed(f"`{words}` failed: {said}", hint)
    return done.stdout


def attempt(*command: str, seconds: float = SECONDS) -> bool:
    """Call a program whose refusal does no harm; whether it succeeded."""
    try:
        call(*command, seconds=seconds)
    except ServiceFailed:
        return False
    return True


def _run(command: tuple[str, ...], seconds: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env={**os.environ, **_PLAIN},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=seconds,
        check=False,
    )
