"""Checking the store of a watched folder while its worker is at work."""

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from backtrail.errors import UnknownWorkspace
from backtraild.model import Intent
from backtraild.workspace import Verification
from support import damage
from support.disk import fsck
from support.git import git
from support.serving import Site, desk


def work(site: Site) -> None:
    """Everything that changes a store, in a row."""
    service = site.desk.service
    for number in range(25):
        site.write(f"folder{number % 3}/file", f"{number}\n" * 100)
        made = service.save(site.id, Intent(message=f"save {number}"))
        if number % 5 == 1:
            service.pin(site.id, str(made.number))
        if number % 5 == 3:
            service.restore(site.id, str(made.number - 1))
            service.undo(site.id)
        if number % 5 == 4:
            service.delete(site.id, [str(made.number)])
    service.prune(site.id)


def test_saves_restores_deletions_and_pruning_go_on_during_a_check_and_disturb_it_not(tmp_path: Path):
    """A check takes long in a large store; nobody stops working for it."""
    with desk(tmp_path, max_checkpoints=10) as at, ThreadPoolExecutor(1) as other:
        site = at.watch()
        for number in range(30):
            site.write(f"folder{number % 3}/{number}", f"{number}\n" * 50)
        found: list[Verification] = []
        working = other.submit(work, site)
        while not working.done():
            found.append(at.service.verify(site.id))
        working.result()
        site.wait_until_settled()

        assert [result.problems for result in found if result.problems or result.damaged] == []
        assert len({result.whole for result in found}) > 3  # it was at work in the meantime
        last = at.service.verify(site.id)
        assert list(last.whole) == [checkpoint.number for checkpoint in site.checkpoints()]
        assert last.problems == ()
        fsck(site.git_dir)


def test_a_check_does_not_wait_for_the_worker(tmp_path: Path):
    """A worker may be in the middle of a long look when somebody wonders about the store."""
    with desk(tmp_path) as at:
        site = at.watch()
        site.write("file")
        at.service.save(site.id)
        over = threading.Event()
        busy = at.service.submit(site.id, lambda _: over.wait(30))
        try:
            assert at.service.verify(site.id).whole == (1, 2)
            assert not busy.done()
        finally:
            over.set()
        assert busy.result()


def test_a_watched_folder_whose_store_was_deleted_by_hand_has_a_problem(tmp_path: Path):
    """The registry says that there are checkpoints, so their absence is worth a sentence."""
    with desk(tmp_path) as at:
        site = at.watch()
        at.service.ask(
            site.id, lambda keeper: keeper.workspace.settle()
        )  # else files are made there meanwhile
        shutil.rmtree(site.store)
        found = at.service.verify(site.id)
        assert [problem.message for problem in found.problems] == [
            f"There is no checkpoint store at {site.git_dir}."
        ]


def test_a_folder_that_is_not_watched_is_unknown(tmp_path: Path):
    """A slip of the pen is no damage."""
    with desk(tmp_path) as at, pytest.raises(UnknownWorkspace):
        at.service.verify("nobody")


def test_a_store_in_a_folder_of_its_owners_choice_is_the_one_that_is_checked(tmp_path: Path):
    """On another disk it needs the check most."""
    with desk(tmp_path) as at:
        (tmp_path / "elsewhere").mkdir()
        site = at.watch(store=str(tmp_path / "elsewhere"))
        found = at.service.verify(site.id)
        assert (found.whole, found.problems) == ((1,), ())
        (tmp_path / "elsewhere" / site.id / "repo.git" / "refs" / "checkpoints" / "1").write_text("")
        assert at.service.verify(site.id).damaged == (1,)


def spoil(site: Site, path: str) -> None:
    """A file's content in the store, wherever it lies."""
    oid = git("rev-parse", f"refs/checkpoints/1:{path}", git_dir=site.git_dir).strip()
    for index in (site.git_dir / "objects" / "pack").glob("*.idx"):
        for line in git("verify-pack", "-v", index).splitlines():
            if line.startswith(oid):
                content = bytearray(index.with_suffix(".pack").read_bytes())
                content[int(line.split()[4]) + int(line.split()[3]) // 2] ^= 0x55
                damage.put(str(index.with_suffix(".pack")), bytes(content))


def test_what_a_check_finds_damaged_is_healed_from_the_folder_and_told(tmp_path: Path):
    """Whoever asks whether the store is whole wants it to be."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "file").write_text("content\n" * 50)
    with desk(tmp_path) as at:
        site = at.watch()
        spoil(site, "file")
        found = at.service.verify(site.id)
        assert (found.whole, found.damaged, found.healed) == ((), (1,), ())
        found = at.service.verify(site.id, heal=True)
        assert (found.whole, found.damaged, found.healed) == ((1,), (), (1,))
        assert [problem.path for problem in found.problems] == [b"file"]
        assert at.service.verify(site.id, heal=True).problems == ()
        (event,) = at.events("healed")
        assert event.data["objects"] == 1
        fsck(site.git_dir)


def test_a_damaged_pack_is_healed_by_the_next_start(tmp_path: Path):
    """Nobody has to ask for it."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "file").write_text("content\n" * 50)
    with desk(tmp_path) as at:
        site = at.watch()
        spoil(site, "file")
        at.restart()
        assert at.service.verify(site.id).problems == ()
        assert len(at.events("healed")) == 1


def test_a_damaged_list_of_folders_stops_nothing(tmp_path: Path):
    """All folders are watched as before, and it is told what happened."""
    with desk(tmp_path) as at:
        site = at.watch()
        at.service.stop()
        at.places.registry.write_bytes(b"garbage")
        at.restart()
        assert [entry.id for entry in at.service.workspaces()] == [site.id]
        assert "made again from the stores" in at.events("error")[-1].data["reason"]
        site.write("new")
        assert at.service.save(site.id).number == 2


def test_a_configuration_that_is_damaged_meanwhile_does_not_disturb_a_running_daemon(tmp_path: Path):
    """The next start refuses it with a sentence; until then everybody works with what was read."""
    with desk(tmp_path) as at:
        site = at.watch()
        at.places.config_file.write_bytes(b"\xff\xfe garbage = = =")
        site.write("new")
        assert at.service.save(site.id).number == 2
        assert site.state == "watching"
