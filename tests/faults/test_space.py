"""A few rounds at the bounds of a store; `make torture` makes many."""

from pathlib import Path

import pytest

from torture.campaigns import space
from torture.short import rounds


@pytest.mark.parametrize("name", ["cap", "floor"])
def test_the_bounds_of_a_store_hold(name: str, tmp_path: Path) -> None:
    """A full disk is the worst thing a tool in the background can do to a person."""
    rounds(space, name, range(1), tmp_path)
