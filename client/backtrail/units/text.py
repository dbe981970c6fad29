"""The text of the unit files: those that come with Backtrail, with this machine's program and folders in them."""

import os
import plistlib
from collections.abc import Mapping
from pathlib import Path

from backtrail.units.answers import ServiceFailed

SYSTEMD_UNIT = "backtraild.service"
LAUNCHD_LABEL = "io.github.backtrail.backtraild"
LAUNCHD_PLIST = f"{LAUNCHD_LABEL}.plist"

_PACKAGE = Path(__file__).parents[1]
# A wheel carries the files in the package; a checkout has them in a folder beside the client's.
_FOLDERS = (_PACKAGE / "systemd", _PACKAGE.parents[1] / "systemd")

# In double quotes systemd undoes these, and a line break in a name can't begin a setting of its own.
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "%": "%%", "\n": "\\n"})


def shipped(name: str) -> bytes:
    """A unit file as it comes with Backtrail."""
    for folder in _FOLDERS:
        if (folder / name).exists():
            return (folder / name).read_bytes()
    raise ServiceFailed(
        f"The file {name} is missing from this installation of Backtrail.", "Install Backtrail again."
    )


def systemd_unit(template: bytes, program: Path, environment: Mapping[str, str]) -> bytes:
    """The unit that starts this program in this environment."""
    lines = []
    for line in template.decode().splitlines():
        if line.startswith("ExecStart="):
            lines.append(f"ExecStart={_quoted(str(program))}")
            lines += [f"Environment={_quoted(f'{name}={value}')}" for name, value in environment.items()]
        else:
            lines.append(line)
    return os.fsencode("\n".join(lines) + "\n")


def launchd_plist(template: bytes, program: Path, environment: Mapping[str, str], log: Path) -> bytes:
    """The agent that starts this program in this environment."""
    agent = plistlib.loads(template)
    agent["ProgramArguments"] = [str(program)]
    agent["StandardOutPath"] = agent["StandardErrorPath"] = str(log)
    if environment:
        agent["EnvironmentVariables"] = dict(environment)
    return plistlib.dumps(agent)


def _quoted(word: str) -> str:
    return f'"{word.translate(_ESCAPES)}"'
