"""Running the git binary in a user's repository: no hooks, no prompts, no network, no housekeeping."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from backtrail.errors import BranchFailed

# The user's configuration is read (it says who they are, and which folders of others they trust), but
# nothing in it may run a program or change what is written.
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "commit.gpgSign=false",
    "i18n.commitEncoding=UTF-8",
)
_PLACES = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")  # where that configuration lies
_VARIABLES = {
    "LC_ALL": "C",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}

Argument = str | bytes


class Git(Struct, frozen=True):
    """Git, called in one folder."""

    folder: str
    variables: Mapping[str, str] = field(default_factory=dict)

    def run(self, *arguments: Argument, stdin: bytes = b"") -> bytes:
        """What a command writes. Raises BranchFailed, with git's words, where it does not succeed."""
        done = _started(self._command(arguments), self.folder, self._environment(), stdin)
        if done.returncode:
            raise _failed(arguments, done.stderr)
        return done.stdout

    def line(self, *arguments: Argument) -> str:
        """The one line that a command writes."""
        return os.fsdecode(self.run(*arguments).removesuffix(b"\n"))

    def ask(self, *arguments: Argument) -> str | None:
        """The same, or None where the command says no."""
        done = _started(self._command(arguments), self.folder, self._environment(), b"")
        return None if done.returncode else os.fsdecode(done.stdout.removesuffix(b"\n"))

    def pipe(self, *arguments: Argument, stdin: bytes, into: "Git", command: tuple[Argument, ...]) -> bytes:
        """What a second command, perhaps with other variables, makes of what the first one writes."""
        with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as given:
            given.write(stdin)
            given.seek(0)
            first = subprocess.Popen(
                self._command(arguments),
                cwd=self.folder,
                env=self._environment(),
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=said,
            )
            with first:
                second = subprocess.run(
                    into._command(command),
                    cwd=into.folder,
                    env=into._environment(),
                    stdin=first.stdout,
                    capture_output=True,
                )
            if first.returncode not in (0, -signal.SIGPIPE):  # else it is the second that knows more
                said.seek(0)
                raise _failed(arguments, said.read())
        if second.returncode:
            raise _failed(command, second.stderr)
        return second.stdout

    def set(self, **variables: str) -> "Git":
        """The same with more variables in its environment."""
        return replace(self, variables={**self.variables, **variables})

    def _command(self, arguments: tuple[Argument, ...]) -> list[Argument]:
        settings = [word for setting in _SETTINGS for word in ("-c", setting)]
        return ["git", *settings, *arguments]

    def _environment(self) -> dict[str, str]:
        """The daemon's own, without what would lead git elsewhere."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if name in _PLACES or not name.startswith(("GIT_", "LC_"))
        }
        return {**kept, **_VARIABLES, **self.variables}


def _started(
    command: list[Argument], folder: str, environment: dict[str, str], stdin: bytes
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(command, cwd=folder, env=environment, input=stdin, capture_output=True)
    except OSError as error:
        raise BranchFailed(
            f"Git could not be run in {folder}: {error.strerror}.",
            "A branch needs the folder, and the git command on the PATH of the daemon.",
        ) from error


def _failed(arguments: tuple[Argument, ...], said: bytes) -> BranchFailed:
    words = "; ".join(said.decode(errors="replace").split("\n")).strip("; .")
    return BranchFailed(
        f"`git {os.fsdecode(arguments[0])}` failed: {words or 'it did not say why'}.",
        "The repository's branches are as they were before.",
    )
