"""Which campaigns there are: those of all modules in torture/campaigns."""

import importlib
import pkgutil
from collections.abc import Sequence

from torture import campaigns
from torture.campaign import Campaign


def gathered() -> tuple[Campaign, ...]:
    """All campaigns, module by module in the order of their names."""
    names = sorted(module.name for module in pkgutil.iter_modules(campaigns.__path__))
    modules = [importlib.import_module(f"{campaigns.__name__}.{name}") for name in names]
    found = tuple(campaign for module in modules for campaign in module.CAMPAIGNS)
    twice = {campaign.name for campaign in found if [other.name for other in found].count(campaign.name) > 1}
    if twice:
        raise SystemExit(f"More than one campaign is called {', '.join(sorted(twice))}.")
    return found


def chosen(found: Sequence[Campaign], names: Sequence[str]) -> tuple[Campaign, ...]:
    """Those of these names, or all if there are no names."""
    unknown = set(names) - {campaign.name for campaign in found}
    if unknown:
        known = ", ".join(campaign.name for campaign in found)
        raise SystemExit(f"There is no campaign {', '.join(sorted(unknown))}. There are: {known}.")
    return tuple(campaign for campaign in found if not names or campaign.name in names)
