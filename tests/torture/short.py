"""A few rounds of a campaign inside a test: the same attempts as in the long run, only fewer."""

from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

import pytest

from torture.campaign import Campaign, Counts, Finished, Round, Unable, added


def rounds(module: ModuleType, name: str, numbers: Iterable[int], tmp_path: Path) -> Counts:
    """Makes these rounds of the campaign `name`, and returns what they counted together.

    A round that this machine can't make skips the test with the reason; the end of a matrix ends the rounds.
    """
    campaign = named(module, name)
    total: Counts = {}
    for number in numbers:
        folder = tmp_path / f"{name}-{number}"
        folder.mkdir()
        print(f"{name}, round {number}")  # seen with a failure: it is the seed
        try:
            total = added(total, campaign.attempt(Round(number, folder)))
        except Unable as reason:
            pytest.skip(f"{name}: {reason}")
        except Finished:
            break
    return total


def named(module: ModuleType, name: str) -> Campaign:
    """The campaign of that name in the module."""
    return next(campaign for campaign in module.CAMPAIGNS if campaign.name == name)
