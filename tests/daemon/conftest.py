"""What several tests of the daemon look through."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtraild.scan import capture
from support.look import Looker, Os


@pytest.fixture
def looker(tmp_path: Path) -> Iterator[Looker]:
    """Looks at a folder that is empty yet."""
    with Looker(tmp_path) as looker:
        yield looker


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The names of the files that are opened to be read."""
    names: list[bytes] = []

    def count(name, *arguments, **options):
        names.append(name)
        return os.open(name, *arguments, **options)

    monkeypatch.setattr(capture, "os", Os(open=count))
    return names
