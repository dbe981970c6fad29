"""Space comes back and packs become few, with every checkpoint as it was, whatever goes on meanwhile."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from backtrail.errors import StoreDamaged, StoreFull
from backtraild.model import FILE_MODE, Entry
from backtraild.store import LISTED_CHANGES, Objects, Store
from support.disk import fsck
from support.drafts import save
from support.git import git
from support.project import Project
from support.upkeep import (
    contents,
    needed_objects,
    objects_on_disk,
    pack_names,
    stopping,
    tidied,
    tidy_up,
)

Damage = Callable[[Path], None]


@pytest.fixture
def git_dir(tmp_path: Path) -> str:
    return str(tmp_path / "a store.git")


@pytest.fixture
def store(git_dir: str) -> Store:
    return Store.create(git_dir)


def fill(store: Store, count: int, seed: int = 1) -> dict[int, dict[bytes, bytes]]:
    """Checkpoints that change one file each; what is in each of them."""
    print(f"seed {seed}")
    source = random.Random(seed)
    files: dict[bytes, bytes] = {}
    made = {}
    for number in range(count):
        path = source.choice([b"a", b"lib/b", b"lib/deep/c"])
        files = {**files, path: source.randbytes(20) * source.randrange(200)}
        made[save(store, {path: files[path]}, f"number {number}", store.newest_tree()).number] = files
    return made


def check(store: Store, expected: dict[int, dict[bytes, bytes]]) -> None:
    assert store.numbers == sorted(expected)
    for number, files in expected.items():
        assert contents(store, number) == files
    fsck(store.git_dir)


def test_how_many_packs_there_are_is_known_without_a_look_at_the_disk(
    store: Store, git_dir: str, monkeypatch: pytest.MonkeyPatch
):
    """Counted every ten seconds, thousands came unnoticed where an agent saves all the time, and took megabytes."""
    fill(store, 12)
    assert store.packs == len(pack_names(git_dir)) // 2 >= 12
    tidy_up(store)
    assert store.packs == len(pack_names(git_dir)) // 2 < 12
    monkeypatch.delattr(os, "scandir")
    fill(store, 3, seed=2)
    assert store.packs == len(pack_names(git_dir)) // 2


def test_many_packs_become_one_and_every_checkpoint_stays(store: Store, git_dir: str) -> None:
    """Thousands of small files slow everything down that looks at the folder."""
    expected = fill(store, 30)
    trees = {number: store.get(number).tree for number in expected}
    before = store.pack_bytes
    found = tidy_up(store)
    assert len(found.replaced) == 30
    assert [Path(name).suffix for name in pack_names(git_dir)] == [".idx", ".pack"]
    assert (found.before, found.after) == (before, store.pack_bytes)
    assert found.after < found.before
    check(store, expected)
    check(Store(git_dir), expected)
    assert {number: store.get(number).tree for number in expected} == trees


def test_what_no_checkpoint_needs_is_gone_from_the_disk(store: Store, git_dir: str) -> None:
    """Deleting gives back space, or a cap could never be kept."""
    expected = fill(store, 20)
    tidy_up(store)
    store.delete_many(range(1, 16))
    found = tidy_up(store)
    assert objects_on_disk(git_dir) == needed_objects(git_dir)
    assert store.pack_bytes == found.after < found.before
    check(store, {number: expected[number] for number in range(16, 21)})


def test_packs_that_nobody_needs_go_without_a_byte_being_copied(store: Store, git_dir: str) -> None:
    """It works on a disk that is full to the last byte."""
    save(store, {b"a": b"first" * 100})
    last = save(store, {b"b": b"second" * 100})
    store.delete(1)
    found = tidy_up(store, room=0, urgent=True)
    assert found.made == ()
    assert found.let_go == ""
    assert len(found.replaced) == 1
    check(store, {last.number: {b"b": b"second" * 100}})


def test_a_pack_that_nobody_needs_stays_if_something_in_it_is_used_again(store: Store) -> None:
    """Nothing was copied, so nothing was written down; the index of the pack tells what would be gone."""
    save(store, {b"a": b"first" * 100})
    base = save(store, {b"b": b"second" * 100})
    store.delete(1)
    found = tidied(store, store.begin_upkeep(), room=0, urgent=True)
    made = save(store, {b"c": b"first" * 100}, base=base.tree)
    assert not store.end_upkeep(found)
    assert contents(store, made.number) == {b"b": b"second" * 100, b"c": b"first" * 100}


def test_a_save_that_is_refused_keeps_nothing_from_going(store: Store) -> None:
    """It is tried again and again until there is room, which only this round can make."""

    def refuse(size: int) -> None:
        raise StoreFull(f"There is no room for {size} bytes.", "Make some.")

    save(store, {b"a": b"first" * 100})
    base = save(store, {b"b": b"second" * 100})
    store.delete(1)
    found = tidied(store, store.begin_upkeep(), room=0, urgent=True)
    store.room = refuse
    with pytest.raises(StoreFull):
        save(store, {b"c": b"first" * 100}, base=base.tree)
    assert store.end_upkeep(found)
    store.room = None
    made = save(store, {b"c": b"first" * 100}, base=base.tree)
    assert contents(store, made.number) == {b"b": b"second" * 100, b"c": b"first" * 100}


def test_all_checkpoints_can_go(store: Store, git_dir: str) -> None:
    """What is left is the count of those there were."""
    fill(store, 5)
    store.delete_many(list(store.numbers))
    tidy_up(store, urgent=True)
    assert len(objects_on_disk(git_dir)) == 1
    assert save(Store(git_dir), {b"a": b"1"}).number == 6


def test_a_file_that_comes_back_during_a_round_is_not_lost(store: Store) -> None:
    """The save found its content in the store and did not write it; the round was about to let go of it."""
    save(store, {b"a": b"comes back" * 50})
    base = save(store, {b"b": b"other" * 50})
    store.delete(1)
    packs = store.begin_upkeep()
    found = tidied(store, packs, urgent=True)
    made = save(store, {b"c": b"comes back" * 50}, base=base.tree)
    assert not store.end_upkeep(found)
    assert contents(store, made.number)[b"c"] == b"comes back" * 50
    tidy_up(store, urgent=True)
    assert contents(store, made.number)[b"c"] == b"comes back" * 50
    fsck(store.git_dir)


def test_a_folder_that_comes_back_during_a_round_is_not_lost(store: Store) -> None:
    """Its files are needed elsewhere and stay; the folder itself was about to be let go."""
    save(store, {b"old/a": b"1" * 50})
    base = save(store, {b"a": b"1" * 50, b"b": b"2" * 50})
    store.delete(1)
    found = tidied(store, store.begin_upkeep(), urgent=True)
    made = save(store, {b"new/a": b"1" * 50}, base=base.tree)
    assert not store.end_upkeep(found)
    assert contents(store, made.number)[b"new/a"] == b"1" * 50


def test_a_tree_that_is_built_on_is_not_lost_with_its_checkpoint(store: Store) -> None:
    """Unchanged folders go into the next checkpoint unseen; the one they came from is deleted just then."""
    base = save(store, {b"kept/a": b"1" * 300, b"b": b"2"})
    packs = store.begin_upkeep()
    store.delete(base.number)
    found = tidied(store, packs, urgent=True)
    made = save(store, {b"b": b"3"}, base=base.tree)
    assert not store.end_upkeep(found)
    assert contents(store, made.number) == {b"kept/a": b"1" * 300, b"b": b"3"}


def test_a_conversation_that_is_built_on_is_not_lost_with_its_name(store: Store) -> None:
    """A session is removed and begun again from what was just read of it."""
    name = "refs/transcripts/one"
    pack = store.named.new_pack()
    entries = {b"line": Entry(FILE_MODE, pack.add_blob(b"said" * 50))}
    store.named.publish(name, pack, store.named.add_tree(pack, entries), "first")
    packs = store.begin_upkeep()
    tree = store.named.tree(name)
    assert tree is not None
    store.named.remove(name)
    assert not store.end_upkeep(tidied(store, packs, urgent=True))


def test_saves_during_a_round_that_use_nothing_old_do_not_disturb_it(store: Store, git_dir: str) -> None:
    """In a busy folder something is saved all the time, and space must come back all the same."""
    expected = fill(store, 10)
    store.delete_many([1, 2, 3])
    packs = store.begin_upkeep()
    found = tidied(store, packs, urgent=True)
    made = save(store, {b"new": b"never seen"}, base=store.newest_tree())
    assert store.end_upkeep(found)
    files = {**expected[10], b"new": b"never seen"}
    check(store, {**{number: expected[number] for number in range(4, 11)}, made.number: files})


def test_a_round_whose_beginning_was_forgotten_is_thrown_away(store: Store, git_dir: str) -> None:
    """What was used since then is not known."""
    expected = fill(store, 4)
    found = tidied(store, store.begin_upkeep())
    store.abandon_upkeep()
    assert not store.end_upkeep(found)
    assert len(pack_names(git_dir)) == 8
    check(store, expected)


@pytest.mark.parametrize("offsets", ["true", "false"])
def test_packs_that_git_made_of_deltas_are_merged(store: Store, git_dir: str, offsets: str) -> None:
    """An owner who runs `git gc` on a store makes deltas; dropping their bases must not break them."""
    lines = [b"line %d of a file that changes a little\n" % number for number in range(300)]
    expected = {}
    for number in range(12):
        lines[number * 7] = b"changed in checkpoint %d\n" % number
        made = save(store, {b"a": b"".join(lines)}, base=store.newest_tree())
        expected[made.number] = {b"a": b"".join(lines)}
    git("-c", f"repack.useDeltaBaseOffset={offsets}", "repack", "-q", "-a", "-d", "-f", git_dir=git_dir)
    shown = git("verify-pack", "-v", *Path(git_dir).glob("objects/pack/*.idx")).decode()
    assert "chain length" in shown
    store = Store(git_dir)
    expected |= fill_more(store, expected)
    for gone in ([2, 3, 5, 8], [1, 6, 12]):
        store.delete_many(gone)
        for number in gone:
            del expected[number]
        assert tidy_up(store, urgent=True).damaged == ()
        check(store, expected)
        assert objects_on_disk(git_dir) == needed_objects(git_dir)
    assert tidy_up(store, urgent=True).replaced == ()


def fill_more(store: Store, before: dict[int, dict[bytes, bytes]]) -> dict[int, dict[bytes, bytes]]:
    made = save(store, {b"b": b"more"}, base=store.newest_tree())
    return {made.number: {**before[max(before)], b"b": b"more"}}


def test_what_git_keeps_beside_a_pack_goes_with_it(store: Store, git_dir: str) -> None:
    """A bitmap, an index over several packs or a graph of commits would lead git to what is gone."""
    fill(store, 8)
    git("gc", "-q", git_dir=git_dir)
    git("repack", "-q", "-a", "-d", "--write-bitmap-index", git_dir=git_dir)
    git("multi-pack-index", "write", git_dir=git_dir)
    git("commit-graph", "write", "--reachable", git_dir=git_dir)
    store = Store(git_dir)
    store.delete_many([1, 2, 3, 4, 5])
    tidy_up(store, urgent=True)
    fsck(git_dir)
    git("commit-graph", "verify", git_dir=git_dir)
    assert [Path(name).suffix for name in pack_names(git_dir)] == [".idx", ".pack"]
    assert objects_on_disk(git_dir) == needed_objects(git_dir)


def test_a_pack_that_git_is_told_to_keep_stays(store: Store, git_dir: str) -> None:
    """A .keep file is the owner's word."""
    fill(store, 3)
    kept = sorted(Path(git_dir, "objects/pack").glob("*.pack"))[0]
    kept.with_suffix(".keep").touch()
    tidy_up(store)
    assert kept.exists()
    assert len(list(kept.parent.glob("*.pack"))) == 2


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x10
    path.chmod(0o600)
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.chmod(0o600)
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize("damage", [flip, cut])
@pytest.mark.parametrize("suffix", [".pack", ".idx"])
def test_a_damaged_pack_is_left_as_it_is_and_told(
    store: Store, git_dir: str, damage: Damage, suffix: str
) -> None:
    """What is broken may still be mended; merging it would hide it or spread it."""
    noise = random.Random(3).randbytes(1000)
    first = save(store, {b"a": noise})
    expected = {
        made.number: {b"b": b"%d" % at} for at in range(4) if (made := save(store, {b"b": b"%d" % at}))
    }
    (large,) = [path for path in Path(git_dir, "objects/pack").glob("*.pack") if path.stat().st_size > 1000]
    damage(large.with_suffix(suffix))
    before = large.with_suffix(suffix).read_bytes()
    found = tidied(store, store.begin_upkeep(), urgent=True)
    assert found.damaged == (large.stem,)
    assert store.end_upkeep(found)
    assert large.with_suffix(suffix).read_bytes() == before
    assert {number: contents(store, number) for number in expected} == expected
    if suffix == ".idx":  # what it told is still known
        assert contents(store, first.number) == {b"a": noise}
    else:
        with pytest.raises(StoreDamaged):
            contents(store, first.number)


def test_nothing_is_let_go_while_a_reference_is_damaged(store: Store, git_dir: str) -> None:
    """Nobody can say what it led to; when it is healed, all of that must be there."""
    expected = fill(store, 6)
    ref = Path(git_dir, "refs/checkpoints/3")
    value = ref.read_text()
    store.delete(2)
    ref.write_text("garbage")
    found = tidied(store, store.begin_upkeep(), urgent=True)
    assert found.incomplete == "The reference refs/checkpoints/3 is damaged."
    assert store.end_upkeep(found)
    assert len(pack_names(git_dir)) == 2
    ref.write_text(value)
    del expected[2]
    check(Store(git_dir), expected)


def test_nothing_is_let_go_while_a_tree_can_not_be_read(store: Store, git_dir: str) -> None:
    """What is below it may be needed, and only it could tell."""
    save(store, {b"lib/a": b"1"})
    save(store, {b"lib/b": b"2"})
    save(store, {b"lib/c": b"3"})
    store.delete(1)
    tree = store.objects.read_tree(bytes.fromhex(store.get(2).tree))[b"lib"].oid
    (holder,) = [
        path
        for path in Path(git_dir, "objects/pack").glob("*.idx")
        if tree.hex() in git("show-index", input=path.read_bytes()).decode()
    ]
    shutil.move(holder, holder.with_suffix(".away"))
    store.objects.refresh()
    found = tidied(store, store.begin_upkeep(), urgent=True)
    assert found.incomplete is not None
    assert "it is missing" in found.incomplete
    assert not found.let_go or Path(found.let_go).read_bytes() == b""


def test_a_reader_goes_on_while_packs_are_exchanged_under_it(store: Store, git_dir: str) -> None:
    """A long comparison in another thread has old packs open, and asks for more objects than it has read."""
    expected = fill(store, 12)
    reader = Objects(git_dir)
    assert reader.read_tree(bytes.fromhex(store.get(1).tree))
    tidy_up(store)
    for number in expected:
        for entry in reader.read_tree(bytes.fromhex(store.get(number).tree)).values():
            assert reader.size(entry.oid) >= 0 if entry.mode == FILE_MODE else reader.read_tree(entry.oid)


def test_a_stop_at_any_moment_of_the_swap_costs_nothing(tmp_path: Path) -> None:
    """Power fails between two of the steps; at the next start everything is there and nothing is in the way."""
    source = Store.create(str(tmp_path / "source.git"))
    expected = fill(source, 5)
    tidy_up(source)
    expected |= {
        number: {**expected[5], **files} for number, files in {6: {b"z": b"6"}, 7: {b"z": b"7"}}.items()
    }
    for number in (6, 7):
        save(source, {b"z": b"%d" % number}, base=source.newest_tree())
    source.delete_many([1, 2])
    expected = {number: files for number, files in expected.items() if number > 2}
    for nth in range(1, 100):
        folder = tmp_path / f"{nth}.git"
        shutil.copytree(source.git_dir, folder)
        store = Store(str(folder))
        found = tidied(store, store.begin_upkeep(), urgent=True)
        with stopping(nth) as machine:
            store.end_upkeep(found)
        reopened = Store(str(folder))
        assert {number: contents(reopened, number) for number in reopened.numbers} == expected
        assert not [told for told in reopened.mended if any(name in str(told) for name in found.replaced)]
        assert not [name for name in pack_names(str(folder)) if name.startswith("tmp_")]
        stems = {name.partition(".")[0] for name in pack_names(str(folder))}
        assert len(pack_names(str(folder))) == 2 * len(stems)
        if not machine.stopped:
            break
        if nth % 4 == 0:
            fsck(folder)
            tidy_up(reopened, urgent=True)
            assert objects_on_disk(str(folder)) == needed_objects(str(folder))
        shutil.rmtree(folder)
    assert 10 < nth < 99


def test_what_git_commands_left_half_written_is_cleaned_away(store: Store, git_dir: str) -> None:
    """A `git gc` that was killed on a store leaves files as large as the store."""
    expected = fill(store, 2)
    folder = Path(git_dir, "objects/pack")
    for name in (".tmp-123-pack-0.pack", "tmp_idx_abc", "tmp_pack_upkeep_1", "pack-00.idx", "pack-00.rev"):
        (folder / name).write_bytes(b"half")
    check(Store(git_dir), expected)
    assert len(pack_names(git_dir)) == 4


def test_what_a_checkpoint_changed_is_told_as_far_as_the_one_before_is_left(tmp_path: Path) -> None:
    """Of a pruned checkpoint, the folder at the top may be there for a while when those below it are gone."""
    with Project(tmp_path) as project:
        store = project.workspace.store
        project.write("lib/a", "first")
        project.save()
        (first,) = store.begin_upkeep()
        project.write("top", "changes the top alone")
        project.save()
        for number in range(LISTED_CHANGES + 1):
            project.write(f"lib/{number}", f"{number}")
        made = project.save()
        store.delete_many([1, 2])
        store.begin_upkeep()
        assert store.end_upkeep(tidied(store, (first,), urgent=True))
        assert store.objects.has(bytes.fromhex(made.parent_tree or ""))
        changed = project.workspace.history.changed(project.workspace.history.find("@"), b"lib")
        assert 0 < len(changed) <= LISTED_CHANGES
