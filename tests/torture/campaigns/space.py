"""Stores at their bounds: the cap on their bytes, and the floor of free space."""

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

from backtrail.errors import NothingToDo, StoreFull
from backtraild.model import Checkpoint, Intent, Kind
from support.disk import snapshot
from support.git import GitFailed, fsck_in_use
from support.hasty import hasty
from support.mounts import apart, tmpfs
from support.project import files_of
from support.serving import Desk, Site
from support.stored import disk_bytes
from torture.campaign import Campaign, Counts, Round

CAP = 6_000_000
SAVES = 30
DISK, FLOOR = 24_000_000, 6_000_000
SECONDS = 20.0


def saves_under_a_cap(attempt: Round) -> Counts:
    """Saves of random sizes, some asked for and some not, some pinned and deleted, while the store makes room."""
    with hasty():
        at = Desk(attempt.folder, auto_checkpoint=False, max_store_bytes=CAP)
        try:
            return _Trial(at, attempt.source, f"seed {attempt.number}").run()
        finally:
            at.service.stop()


class _Trial:
    def __init__(self, at: Desk, source: random.Random, seed: str) -> None:
        self._at, self._source, self._seed = at, source, seed
        self._site: Site = at.watch()
        self._held = {1: snapshot(self._site.root)}
        self._most, self._refused = 0, 0

    def run(self) -> Counts:
        for _ in range(SAVES):
            self._change()
            self._save()
            self._protect()
            self._measure()
        _settled(self._site, self._seed)
        left = self._check_all()
        pruned = sum(event.data["count"] for event in self._at.events("checkpoints_pruned"))
        return {"saves": SAVES, "refused": self._refused, "let go": pruned, "left": left, "most": self._most}

    def _change(self) -> None:
        size = self._source.choice([10, 200_000, 400_000, 400_000])
        self._site.write(f"folder{self._source.randrange(2)}/{self._source.randrange(2)}", self._noise(size))

    def _noise(self, size: int) -> bytes:
        return self._source.randbytes(size) if self._source.random() < 0.8 else b"x" * size

    def _save(self) -> None:
        """Refused or made: one of the two, and at last made, because there is always something that may go."""
        intent = Intent(self._source.choice([Kind.AUTO, Kind.AUTO, Kind.AUTO, Kind.MANUAL]))
        _until(lambda: self._try_to_save(intent), f"{self._seed}: never saved")

    def _try_to_save(self, intent: Intent) -> bool:
        try:
            made = self._at.service.save(self._site.id, intent)
        except NothingToDo:
            return True
        except StoreFull:
            self._refused += 1
            self._measure()
            return False
        self._held[made.number] = snapshot(self._site.root)
        return True

    def _protect(self) -> None:
        """Now and then one is kept for ever, as long as those do not fill the store by themselves."""
        listed = self._site.checkpoints()
        numbers = [checkpoint.number for checkpoint in listed]
        pinned = [checkpoint.number for checkpoint in listed if checkpoint.pinned]
        if self._source.random() < 0.2 and not pinned:
            self._at.service.pin(self._site.id, str(self._source.choice(numbers)))
        elif self._source.random() < 0.2 and pinned:
            self._at.service.unpin(self._site.id, str(pinned[0]))
        elif self._source.random() < 0.2 and len(numbers) > 2:
            self._at.service.delete(self._site.id, [str(self._source.choice(numbers[:-1]))])

    def _measure(self) -> None:
        """The cap, and what the rewriting of one pack may take for a while."""
        packs = (self._site.git_dir / "objects" / "pack").glob("pack-*.pack")
        largest = max((_size(pack) for pack in packs), default=0)
        size = disk_bytes(self._site.store)
        self._most = max(self._most, size)
        assert size <= CAP + largest, f"{self._seed}: {size:,} bytes, of which {largest:,} in one pack"

    def _check_all(self) -> int:
        """Everything that is listed holds what it held when it was made."""
        left = [each.number for each in self._site.checkpoints() if self._is_whole(each)]
        _until(lambda: _is_sound(self._site.git_dir), f"{self._seed}: git finds damage")
        return len(left)

    def _is_whole(self, checkpoint: Checkpoint) -> bool:
        """False if it was let go since it was listed: room is made until there is enough, whoever looks meanwhile."""
        try:
            found = files_of(self._site.git_dir, checkpoint.tree)
        except GitFailed:
            if checkpoint.number in [each.number for each in self._site.checkpoints()]:
                raise
            return False
        assert found == self._held[checkpoint.number], f"{self._seed}: checkpoint {checkpoint.number}"
        return True


def above_the_floor(attempt: Round) -> Counts:
    """Somebody fills a small disk and makes room again, while a folder on another one changes all the time."""
    counts: Counts = apart("torture.campaigns.space:on_a_small_disk", attempt.number, str(attempt.folder))
    return counts


def on_a_small_disk(seed: int, folder: str) -> dict[str, float]:
    """The round itself; the disk goes with the process."""
    source, work = random.Random(seed), Path(folder)
    disk = tmpfs(work / "disk", DISK)
    with hasty():
        at = Desk(work, min_free_bytes=FLOOR)
        try:
            site = at.watch(store=str(disk / "store"))
            return _rounds_at_the_floor(site, disk, source, f"seed {seed}")
        finally:
            at.service.stop()


def _rounds_at_the_floor(site: Site, disk: Path, source: random.Random, seed: str) -> dict[str, float]:
    refused = 0
    for turn in range(4):
        free = FLOOR + source.choice([-1_000_000, 0, 100_000, 400_000])
        content = source.randbytes(source.choice([1_000, 600_000]))
        refused += _save_with(free, content, site, disk, f"{seed}, turn {turn}")
    fsck_in_use(site.git_dir)
    return {"turns": 4, "refused": refused}


def _save_with(free: int, content: bytes, site: Site, disk: Path, turn: str) -> bool:
    """Change a file with so much free space, then with more; was it refused at first?"""
    numbers = {checkpoint.number for checkpoint in site.checkpoints()}
    (disk / "ballast").write_bytes(bytes(max(0, _free(disk) - free)))
    site.write("file", content)
    fits = free >= FLOOR + len(content) + 50_000
    too_little = free + 100_000 < FLOOR + len(content)

    def is_decided() -> bool:
        # In between, it depends on what the daemon itself gives back in this moment.
        is_saved, is_refused = site.content("file") == content, site.state == "degraded"
        return (is_saved and not too_little) or (is_refused and not fits)

    _until(is_decided, turn)
    is_refused = site.state == "degraded"
    # Tables and refs are not asked for, as they are small.
    assert _free(disk) >= min(free, FLOOR) - 200_000, f"{turn}: only {_free(disk):,} bytes are free"
    left = {checkpoint.number for checkpoint in site.checkpoints()}
    assert numbers <= left, f"{turn}: {numbers - left} were let go because others filled the disk"
    (disk / "ballast").unlink()
    _until(lambda: site.content("file") == content, turn)
    _settled(site, turn)
    return is_refused


def _is_sound(git_dir: Path) -> bool:
    """Git stumbles over a pack that upkeep takes away under it, and then once more finds everything in order."""
    try:
        fsck_in_use(git_dir)
    except AssertionError:
        return False
    return True


def _settled(site: Site, seed: str) -> None:
    _until(lambda: site.state == "watching", f"{seed}: {site.reasons()}")


def _until(condition: Callable[[], bool], why: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, why
        time.sleep(0.02)


def _free(disk: Path) -> int:
    found = os.statvfs(disk)
    return found.f_bavail * found.f_frsize


def _size(pack: Path) -> int:
    try:
        return pack.stat().st_size
    except FileNotFoundError:  # upkeep has just taken it away
        return 0


CAMPAIGNS = (
    Campaign(
        "cap",
        "R10",
        "A store never has more bytes than its cap, and every checkpoint that is listed is whole.",
        200,
        saves_under_a_cap,
    ),
    Campaign(
        "floor",
        "R10",
        "With too little free space nothing is saved, nothing is let go, and all is made up for once there is room.",
        200,
        above_the_floor,
    ),
)
