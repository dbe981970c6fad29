"""A watched folder that becomes a link: what it leads to was never meant to be captured."""

import os
from pathlib import Path

import pytest

from backtrail.errors import WorkspaceUnavailable
from backtraild.model import Intent
from support.project import full_stat
from support.serving import Site, desk


@pytest.fixture
def site(tmp_path: Path):
    with desk(tmp_path, auto_checkpoint=False) as at:
        found = at.watch()
        found.write("kept", "first")
        at.service.save(found.id, Intent(message="first"))
        yield found


def replaced(site: Site, target: Path) -> None:
    site.root.rename(site.root.with_name("away"))
    site.root.symlink_to(target)


@pytest.mark.parametrize("where", ["outside", "store", "everything"])
def test_a_root_that_became_a_link_is_neither_captured_nor_written(site: Site, tmp_path: Path, where: str):
    """The owner agreed to one folder; whoever puts a link there must not choose another."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("secret")
    target = {"outside": outside, "store": site.store, "everything": Path("/")}[where]
    before = full_stat(outside)
    replaced(site, target)
    for call in (
        lambda: site.desk.service.save(site.id, Intent(message="second"), allow_empty=True),
        lambda: site.desk.service.restore(site.id, "1"),
    ):
        with pytest.raises(WorkspaceUnavailable):
            call()
    assert full_stat(outside) == before
    os.unlink(site.root)
    site.root.with_name("away").rename(site.root)
    site.write("kept", "third")
    assert site.desk.service.save(site.id, Intent(message="third")).number > 1
    assert site.content("kept") == b"third"
