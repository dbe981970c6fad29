"""What a workspace that is let go of leaves open."""

import os
from pathlib import Path

from support.serving import desk
from support.vitals import descriptors


def test_a_purged_workspace_leaves_no_deleted_file_open(tmp_path: Path):
    """Its space would stay taken for as long as the daemon runs, and its descriptors with it."""
    with desk(tmp_path, auto_checkpoint=False) as service:
        site = service.watch()
        site.write("a", "one")
        service.service.save(site.id)
        service.service.diff(site.id, "1")  # which reads the packs
        assert any(str(site.store) in each for each in descriptors(os.getpid()))
        service.service.unwatch(site.id, purge=True)
        assert not [each for each in descriptors(os.getpid()) if str(site.store) in each]
