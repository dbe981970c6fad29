"""The configuration file: defaults for every workspace, checked before anything starts."""

import math
import tomllib
from pathlib import Path

import msgspec

from backtrail.errors import BacktrailError, UsageError
from backtraild.ignore import FolderRules
from backtraild.model import Limits, WorkspaceConfig

WATCHERS = ("auto", "poll")

_LIMITS = Limits()
_MORE_THAN_NOTHING = ("quiet", "patience", "max_checkpoints", "max_file_size", "max_files", "max_bytes")


class _Settings(msgspec.Struct, forbid_unknown_fields=True):
    """What the file may say; the names are those of CheckpointConfig."""

    auto_checkpoint: bool = True
    max_checkpoints: int = 100
    exclude_patterns: list[str] = []
    quiet: float = 0.5
    patience: float = 10.0
    max_file_size: int = _LIMITS.max_file_size
    max_files: int = _LIMITS.max_files
    max_bytes: int = _LIMITS.max_bytes
    watcher: str = "auto"


def read_config(path: Path) -> WorkspaceConfig:
    """The defaults from a file; the built-in ones where there is none."""
    try:
        text = path.read_text(encoding="utf-8")
        return _checked(msgspec.convert(tomllib.loads(text), _Settings, strict=True))
    except FileNotFoundError:
        return WorkspaceConfig()
    except OSError as error:
        raise _unusable(path, f"{error.strerror}") from error
    except UnicodeDecodeError as error:
        raise _unusable(path, f"byte {error.start} is not UTF-8 text") from error
    except BacktrailError as error:
        raise _unusable(path, error.message.rstrip(".")) from error
    except msgspec.ValidationError as error:
        raise _unusable(
            path, str(error).replace("`$.", "`").replace("Object contains", "there is an")
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise _unusable(path, str(error)) from error


def _unusable(path: Path, reason: str) -> UsageError:
    return UsageError(
        f"The configuration file {path} can't be used: {reason}.",
        "Correct it, or move the file away to go on with the defaults.",
    )


def _checked(settings: _Settings) -> WorkspaceConfig:
    """Refuse values that make no sense."""
    if settings.watcher not in WATCHERS:
        raise UsageError(f"watcher = {settings.watcher!r} is not one of {', '.join(WATCHERS)}.")
    for name in _MORE_THAN_NOTHING:
        value = getattr(settings, name)
        if not (value > 0 and math.isfinite(value)):
            raise UsageError(f"{name} must be more than nothing, and not {value}.")
    if settings.patience < settings.quiet:
        raise UsageError(
            f"patience ({settings.patience} s) can't be shorter than quiet ({settings.quiet} s)."
        )
    try:
        FolderRules.for_root(settings.exclude_patterns)
    except UsageError as error:
        raise UsageError(f"exclude_patterns has one that is of no use: {error.message}") from error
    return WorkspaceConfig(
        auto_checkpoint=settings.auto_checkpoint,
        max_checkpoints=settings.max_checkpoints,
        exclude_patterns=tuple(settings.exclude_patterns),
        quiet=settings.quiet,
        patience=settings.patience,
        limits=Limits(settings.max_file_size, settings.max_files, settings.max_bytes),
        watcher=settings.watcher,
    )
