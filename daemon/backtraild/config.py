"""The configuration file: defaults for every workspace, checked before anything starts."""

import tomllib
from pathlib import Path

import msgspec

from backtrail.errors import UsageError
from backtraild.model import Limits, WorkspaceConfig

WATCHERS = ("auto", "poll")

_LIMITS = Limits()


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
    except FileNotFoundError:
        return WorkspaceConfig()
    try:
        return check(msgspec.convert(tomllib.loads(text), _Settings, strict=True))
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise UsageError(
            f"The configuration file {path} can't be used: {error}.",
            "Correct that line, or move the file away to go on with the defaults.",
        ) from error


def check(settings: _Settings) -> WorkspaceConfig:
    """Refuse values that make no sense."""
    if settings.watcher not in WATCHERS:
        raise UsageError(f"watcher = {settings.watcher!r} is not one of {', '.join(WATCHERS)}.")
    for name in ("quiet", "patience", "max_checkpoints", "max_file_size", "max_files", "max_bytes"):
        if getattr(settings, name) <= 0:
            raise UsageError(f"{name} must be more than nothing, not {getattr(settings, name)}.")
    if settings.patience < settings.quiet:
        raise UsageError(
            f"patience ({settings.patience} s) can't be shorter than quiet ({settings.quiet} s)."
        )
    return WorkspaceConfig(
        auto_checkpoint=settings.auto_checkpoint,
        max_checkpoints=settings.max_checkpoints,
        exclude_patterns=tuple(settings.exclude_patterns),
        quiet=settings.quiet,
        patience=settings.patience,
        limits=Limits(settings.max_file_size, settings.max_files, settings.max_bytes),
        watcher=settings.watcher,
    )
