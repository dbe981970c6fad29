"""Where Backtrail keeps things. `BACKTRAIL_HOME` puts everything under one folder."""

import os
import stat
import warnings
from pathlib import Path
from typing import NamedTuple

from backtrail.errors import BacktrailError

APPLICATION = "backtrail"
# Set for a daemon that a client started: nobody reads along on its stderr, which is a file.
STARTED_BY_CLIENT = "BACKTRAIL_STARTED_BY_CLIENT"


# Not a dataclass: to import those is a tenth of what `backtrail list` takes.
class Places(NamedTuple):
    """The folders of one user's Backtrail."""

    config: Path
    data: Path
    runtime: Path

    @property
    def config_file(self) -> Path:
        """Defaults for all workspaces."""
        return self.config / "config.toml"

    @property
    def registry(self) -> Path:
        """Which folders are watched."""
        return self.data / "workspaces.json"

    @property
    def event_log(self) -> Path:
        """What has happened."""
        return self.data / "events.db"

    @property
    def log_file(self) -> Path:
        """What the daemon has to say about its own work."""
        return self.data / "daemon.log"

    @property
    def hook_log(self) -> Path:
        """What went wrong when agents called their hooks."""
        return self.data / "hooks.log"

    @property
    def lock(self) -> Path:
        """Held by the one daemon that runs on this data."""
        return self.data / "daemon.lock"

    @property
    def connection_file(self) -> Path:
        """Where the running daemon can be reached."""
        return self.runtime / "daemon.json"

    @property
    def starting(self) -> Path:
        """Held by the one client that starts the daemon."""
        return self.runtime / "starting.lock"

    @property
    def start_log(self) -> Path:
        """What a daemon that a client started said before it could write its log."""
        return self.runtime / "start.log"

    @property
    def keys(self) -> Path:
        """The daemon's key pair for tcp, and the keys of the clients that may use it."""
        return self.config / "keys"

    @property
    def cookies(self) -> Path:
        """Where the daemon makes files to learn that it has seen all earlier events."""
        return self.runtime / "cookies"

    def store(self, workspace: str) -> Path:
        """The checkpoints of a workspace."""
        return self.data / "workspaces" / workspace

    def make(self) -> None:
        """Create the folders, and keep all others out of them."""
        for folder in (self.config, self.data, self.data / "workspaces", self.runtime):
            try:
                # With `parents` alone, those would be as open as the umask leaves them.
                folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                folder.mkdir(mode=0o700, exist_ok=True)
                _check_owners(folder)
                if stat.S_IMODE(folder.stat().st_mode) != 0o700:
                    folder.chmod(0o700)
            except OSError as error:
                raise UnusableFolder(
                    f"Backtrail's folder {folder} can't be used: {error.strerror}.",
                    "Make room for it, or set BACKTRAIL_HOME to a folder of your own.",
                ) from error


class UnusableFolder(BacktrailError):
    """A folder that Backtrail needs can't be made, or belongs to somebody else."""

    code = "unusable-folder"


def _check_owners(folder: Path) -> None:
    """Refuse a folder that somebody else made, or could put another one in the place of, as in a shared /tmp."""
    if folder.stat().st_uid != os.geteuid():
        raise _not_ours(folder, f"it belongs to the user with the number {folder.stat().st_uid}")
    for place in (folder, folder.parent):
        owners = {place.lstat().st_uid, place.stat().st_uid} - {0, os.geteuid()}
        if owners:
            raise _not_ours(folder, f"{place} belongs to the user with the number {owners.pop()}")
    mode = folder.parent.stat().st_mode
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        raise _not_ours(folder, f"everybody may exchange what is in {folder.parent}")


def _not_ours(folder: Path, reason: str) -> UnusableFolder:
    return UnusableFolder(
        f"Backtrail's folder {folder} can't be trusted: {reason}.",
        "It would hold copies of your files. Set BACKTRAIL_HOME to a folder that is yours alone.",
    )


def places(home: str | os.PathLike[str] | None = None) -> Places:
    """The folders below `home`, or those that hold in this environment."""
    home = home or os.environ.get("BACKTRAIL_HOME")
    if home:
        top = Path(home).absolute()
        return Places(top / "config", top / "data", top / "run")
    import platformdirs  # here, because it is slow to import and often not needed

    dirs = platformdirs.PlatformDirs(APPLICATION, appauthor=False)
    # Without XDG_RUNTIME_DIR, as over ssh, another folder does.
    with warnings.catch_warnings(action="ignore"):
        return Places(Path(dirs.user_config_dir), Path(dirs.user_data_dir), Path(dirs.user_runtime_dir))
