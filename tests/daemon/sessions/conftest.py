"""A desk for every test of sessions."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.conversing import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    opened = Desk(tmp_path)
    yield opened
    opened.close()
