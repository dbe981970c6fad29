"""A service with one watched folder, in which nothing happens by itself."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.serving import Site, desk


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with desk(tmp_path, auto_checkpoint=False) as at:
        yield at.watch()
