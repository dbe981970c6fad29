"""What `status` tells of damage that has been dealt with."""

from pathlib import Path

from support.serving import desk


def test_packs_in_quarantine_are_told_with_what_to_do(tmp_path: Path):
    """They take space, and their owner should know that something happened."""
    with desk(tmp_path) as at:
        site = at.watch()
        assert at.service.status(site.id).notices == ()
        quarantine = site.store / "quarantine"
        quarantine.mkdir()
        for name in ("pack-1.pack", "pack-1.idx"):
            (quarantine / name).touch()
        (notice,) = at.service.status(site.id).notices
        assert notice.startswith(f"{quarantine} holds 1 damaged pack of the store.")
        assert "`backtrail verify`" in notice
        assert site.state == "watching"


def test_a_list_of_folders_that_was_made_again_is_told(tmp_path: Path):
    """A folder whose label was damaged as well is missing from it: somebody has to look."""
    with desk(tmp_path) as at:
        site = at.watch()
        at.service.stop()
        at.places.registry.unlink()
        at.restart()
        (notice,) = at.service.status(site.id).notices
        assert notice == (
            "The list of watched folders was missing. It was made again from the stores: 1 folder is watched."
        )
