"""Which folder may be watched, how it is configured and where its store lies: decided before anything is done."""

from collections.abc import Mapping
from pathlib import Path

from backtrail.paths import Places
from backtraild import guard, stores
from backtraild.config import configured, read_config
from backtraild.model import WorkspaceConfig
from backtraild.registry import Registered, Registry, workspace_id


class Admission:
    """The rules for those who want a folder watched: the owner's defaults, and what is watched already."""

    def __init__(self, places: Places, registry: Registry) -> None:
        self._places = places
        self._registry = registry
        self._defaults = read_config(places.config_file)

    def root(self, path: str) -> str:
        """The real path of a folder that may be watched."""
        own = [self._places.data, self._places.config, self._places.runtime]
        own += [stores.folder_of(self._places, entry) for entry in self._registry if entry.store is not None]
        return guard.check_root(path, home=str(Path.home()), own_folders=[str(folder) for folder in own])

    def new(self, root: str, settings: Mapping[str, object], *, force: bool, store: str | None) -> Registered:
        """The entry of a folder that is not watched yet."""
        config = configured(self._defaults, settings, self._defaults)
        if store is not None:
            store = guard.check_store(store, root=root, watched=[entry.root for entry in self._registry])
        return Registered(workspace_id(root), root, config, forced=force, store=store)

    def again(
        self, entry: Registered, settings: Mapping[str, object], *, store: str | None
    ) -> WorkspaceConfig:
        """How a folder that is watched already shall be configured from now on."""
        if store is not None:
            stores.refuse_another(self._places, entry, store)
        return configured(entry.config, settings, self._defaults)
