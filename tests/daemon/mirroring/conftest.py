"""A store with two checkpoints, and a repository that it is mirrored to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.mirrors import make_remote
from support.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project(tmp_path) as project:
        project.write("a.txt", b"first\n")
        project.workspace.start()
        project.write("a.txt", b"second\n")
        project.save()
        yield project


@pytest.fixture
def there(tmp_path: Path) -> Path:
    return make_remote(tmp_path / "there.git")
