"""The configuration file: defaults for every workspace, checked before anything starts."""

import math
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from backtrail import address
from backtrail.address import Address
from backtrail.errors import BacktrailError, UsageError
from backtrail.regular import read_regular
from backtraild.ignore import FolderRules
from backtraild.model import Limits, WorkspaceConfig
from backtraild.redaction import Redactor

LARGEST = 4 * 1024 * 1024  # bytes of a file that a person wrote
WATCHERS = ("auto", "poll")

_Checked = TypeVar("_Checked")

_DEFAULTS = WorkspaceConfig()
_LIMITS = _DEFAULTS.limits
_MORE_THAN_NOTHING = (
    "quiet",
    "patience",
    "max_checkpoints",
    "max_store_bytes",
    "max_file_size",
    "max_files",
    "max_bytes",
)


class _Settings(msgspec.Struct, forbid_unknown_fields=True):
    """What the file may say; the names are those of CheckpointConfig."""

    auto_checkpoint: bool = True
    max_checkpoints: int = _DEFAULTS.max_checkpoints
    max_store_bytes: int = _DEFAULTS.max_store_bytes
    min_free_bytes: int | None = _DEFAULTS.min_free_bytes
    exclude_patterns: list[str] = []
    quiet: float = 0.5
    patience: float = 10.0
    max_file_size: int = _LIMITS.max_file_size
    max_files: int = _LIMITS.max_files
    max_bytes: int = _LIMITS.max_bytes
    watcher: str = "auto"


class _Server(msgspec.Struct, forbid_unknown_fields=True):
    listen: str
    curve: bool = True


class _Redaction(msgspec.Struct, forbid_unknown_fields=True):
    enabled: bool = True
    patterns: list[str] = []


class _File(_Settings, forbid_unknown_fields=True):
    server: _Server | None = None
    redaction: _Redaction = msgspec.field(default_factory=_Redaction)


class NetworkConfig(Struct, frozen=True):
    """At which address the daemon listens besides its local sockets, and whether it demands keys there."""

    address: Address
    curve: bool


class RedactionConfig(Struct, frozen=True):
    """Whether secrets are taken out of conversations, and what counts as one besides the well-known ones."""

    enabled: bool = True
    patterns: tuple[str, ...] = ()


_NAMES = f"There are {', '.join(_Settings.__struct_fields__)}."


def read_config(path: Path) -> WorkspaceConfig:
    """The defaults from a file; the built-in ones where there is none."""
    return _read(path, _checked)


def read_network(path: Path) -> NetworkConfig | None:
    """Where to listen on a network; None if the file does not ask for it."""
    return _read(path, _checked_network)


def read_redaction(path: Path) -> RedactionConfig:
    """What to take out of conversations; patterns that can't be used are refused here."""
    return _read(path, _checked_redaction)


def _read(path: Path, checked: Callable[["_File"], _Checked]) -> _Checked:
    try:
        text = read_regular(path, LARGEST).decode()
        return checked(msgspec.convert(tomllib.loads(text), _File, strict=True))
    except FileNotFoundError:
        return checked(_File())
    except OSError as error:
        raise _unusable(path, f"{error.strerror}") from error
    except UnicodeDecodeError as error:
        raise _unusable(path, f"byte {error.start} is not UTF-8 text") from error
    except BacktrailError as error:
        raise _unusable(path, error.message.rstrip(".")) from error
    except msgspec.ValidationError as error:
        raise _unusable(path, _told(error)) from error
    except tomllib.TOMLDecodeError as error:
        raise _unusable(path, str(error)) from error


def configured(
    config: WorkspaceConfig, settings: Mapping[str, object], defaults: WorkspaceConfig
) -> WorkspaceConfig:
    """A workspace's configuration with other settings, which have the names and the sense of the file's.

    Patterns are those of the defaults and the given ones; settings that are not given stay.
    """
    if not settings:
        return config
    try:
        given = msgspec.convert(dict(settings), _Settings, strict=True)
    except msgspec.ValidationError as error:
        raise UsageError(f"The settings can't be used: {_told(error)}.", _NAMES) from error
    wanted = {name: getattr(given, name) for name in settings}
    if "exclude_patterns" in wanted:
        wanted["exclude_patterns"] = [*defaults.exclude_patterns, *given.exclude_patterns]
    return _checked(msgspec.structs.replace(_as_settings(config), **wanted))


def _told(error: msgspec.ValidationError) -> str:
    return str(error).replace("`$.", "`").replace("Object contains", "there is an")


def _as_settings(config: WorkspaceConfig) -> _Settings:
    return _Settings(
        auto_checkpoint=config.auto_checkpoint,
        max_checkpoints=config.max_checkpoints,
        max_store_bytes=config.max_store_bytes,
        min_free_bytes=config.min_free_bytes,
        exclude_patterns=list(config.exclude_patterns),
        quiet=config.quiet,
        patience=config.patience,
        max_file_size=config.limits.max_file_size,
        max_files=config.limits.max_files,
        max_bytes=config.limits.max_bytes,
        watcher=config.watcher,
    )


def _unusable(path: Path, reason: str) -> UsageError:
    return UsageError(
        f"The configuration file {path} can't be used: {reason}.",
        "Correct it, or move the file away to go on with the defaults.",
    )


def _checked_network(file: _File) -> NetworkConfig | None:
    """Refuse to let anybody on the network read and rewrite all watched folders."""
    if file.server is None:
        return None
    found = NetworkConfig(address.parse(file.server.listen), file.server.curve)
    if not found.curve and not found.address.is_loopback:
        raise UsageError(
            f"curve = false with listen = {file.server.listen!r} would let everybody who reaches this address "
            "read and rewrite all watched folders"
        )
    return found


def _checked_redaction(file: _File) -> RedactionConfig:
    Redactor(file.redaction.patterns)
    return RedactionConfig(file.redaction.enabled, tuple(file.redaction.patterns))


def _checked(settings: _Settings) -> WorkspaceConfig:
    """Refuse values that make no sense."""
    if settings.watcher not in WATCHERS:
        raise UsageError(f"watcher = {settings.watcher!r} is not one of {', '.join(WATCHERS)}.")
    for name in _MORE_THAN_NOTHING:
        value = getattr(settings, name)
        if not (value > 0 and math.isfinite(value)):
            raise UsageError(f"{name} must be more than nothing, and not {value}.")
    if settings.min_free_bytes is not None and settings.min_free_bytes < 0:
        raise UsageError(f"min_free_bytes must be nothing or more, and not {settings.min_free_bytes}.")
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
        max_store_bytes=settings.max_store_bytes,
        min_free_bytes=settings.min_free_bytes,
        exclude_patterns=tuple(settings.exclude_patterns),
        quiet=settings.quiet,
        patience=settings.patience,
        limits=Limits(settings.max_file_size, settings.max_files, settings.max_bytes),
        watcher=settings.watcher,
    )
