"""A prompt in the editor that the person chose. The terminal is the editor's own meanwhile."""

import os
import shutil
import tempfile
from collections.abc import Mapping

from backtrail.cli.pager import interrupts_left_to_the_program
from backtrail.errors import BacktrailError

_USUAL = ("vi", "nano")


class EditingFailed(BacktrailError):
    """There is no editor, or it did not end well; the prompt is as it was."""

    code = "editing-failed"


def chosen(environment: Mapping[str, str]) -> str:
    """The command of the editor."""
    for name in ("VISUAL", "EDITOR"):
        if environment.get(name, "").strip():
            return environment[name]
    path = environment.get("PATH", os.defpath)
    found = next((name for name in _USUAL if shutil.which(name, path=path)), None)
    if found is None:
        raise EditingFailed("There is no editor to change the prompt with.", "Name yours in EDITOR.")
    return found


def edited(prompt: str, editor: str, draft: str | None = None) -> str | None:
    """The prompt as the person left it; None if it is empty, or what it was. `draft` is how far they got before."""
    # Only its owner may read it, as all that is stored.
    descriptor, path = tempfile.mkstemp(prefix="backtrail-prompt-", suffix=".md")
    try:
        with open(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(f"{prompt if draft is None else draft}\n")
        _run(editor, path)
        with open(path, encoding="utf-8", errors="replace", newline="") as file:
            text = file.read().rstrip("\r\n")
    except OSError as error:
        raise EditingFailed(f"The prompt could not be edited in {path}: {error.strerror}.") from error
    finally:
        if os.path.lexists(path):
            os.unlink(path)
    return text if text.strip() and text != prompt.rstrip("\r\n") else None


def _run(editor: str, path: str) -> None:
    """The editor may be a command with options, as in `code --wait`."""
    import subprocess  # takes longer to import than the list takes to show

    with interrupts_left_to_the_program():
        status = subprocess.call(["sh", "-c", f'{editor} "$@"', editor, path])
    if status:
        raise EditingFailed(
            f"The editor `{editor}` ended with status {status}; nothing was changed.",
            "VISUAL or EDITOR names another one.",
        )
