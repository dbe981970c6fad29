"""Where a store may be mirrored to, decided from the words alone; git decides once more when it goes there."""

import os
import re

from backtrail.errors import UsageError
from backtrail.pathtext import to_text

# Nothing that runs a program of somebody's choice (`ext::`), and nothing that sends files in the clear.
PROTOCOLS = ("file", "https", "ssh")
_URL = re.compile(rf"(?:{'|'.join(PROTOCOLS)})://[^/-].*|file:///.+")
# As in `git@example.org:mirror.git`. Two colons would name a program, `://` a protocol.
_HOST = re.compile(r"(?:[^/:@]+@)?(?:\[[^]/]+\]|[^/:@\[]+):(?!:|//).+")
# A token may stand in the place of the name, so both go.
_SECRET = re.compile(r"(https?://)[^/\s]*@")


def check(remote: str) -> None:
    """Refuse what is no address of a repository, or none that a mirror may have."""
    if remote.startswith("/") and "\0" not in remote:
        return
    is_address = not remote.startswith("-") and remote.isprintable()
    if not is_address or not (_URL.fullmatch(remote) or _HOST.fullmatch(remote)):
        raise UsageError(
            f"{without_secret(remote)[:200]!r} is no place for a mirror.",
            "Give an absolute path, https://…, ssh://… or user@host:path of a repository.",
        )


def shown(remote: str) -> str:
    """The remote as it may be told and logged."""
    return to_text(os.fsencode(remote)) if remote.startswith("/") else without_secret(remote)


def without_secret(text: str) -> str:
    """A text in which no address has a name or a password before its host."""
    return _SECRET.sub(r"\1", text)
