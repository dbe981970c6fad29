"""What upkeep writes is small, and git and Backtrail read all of it as before."""

import random
from pathlib import Path
from unittest.mock import patch

import pytest

from backtraild.model import FILE_MODE, TREE_MODE, Entry
from backtraild.store import Store
from backtraild.store.delta import apply_delta
from backtraild.store.objects import ObjectType, object_id
from backtraild.upkeep.differing import make_delta
from support.disk import fsck
from support.drafts import save
from support.git import git
from support.upkeep import PLENTY, contents, needed_objects, objects_on_disk, tidied, tidy_up

LINES = [b"def function_%d(argument): return argument * %d\n" % (n, n * n) for n in range(150)]


@pytest.fixture
def git_dir(tmp_path: Path) -> str:
    return str(tmp_path / "store.git")


@pytest.fixture
def store(git_dir: str) -> Store:
    return Store.create(git_dir)


def edit(store: Store, count: int, path: bytes = b"lib/a.py") -> dict[int, dict[bytes, bytes]]:
    """Checkpoints that each change one line of one file; what is in each of them."""
    newest = store.newest
    files = {} if newest is None else contents(store, newest)
    made = {}
    for number in range(count):
        lines = files.get(path, b"".join(LINES)).splitlines(keepends=True)
        lines[number * 7 % len(lines)] = b"changed in edit %d, after %d\n" % (number, store.newest or 0)
        files = {**files, path: b"".join(lines)}
        made[save(store, {path: files[path]}, base=store.newest_tree()).number] = files
    return made


def check(store: Store, expected: dict[int, dict[bytes, bytes]]) -> None:
    assert {number: contents(store, number) for number in expected} == expected
    fsck(store.git_dir)
    for index in Path(store.git_dir).glob("objects/pack/*.idx"):
        git(
            "index-pack",
            "--strict",
            "--stdin",
            git_dir=store.git_dir,
            input=index.with_suffix(".pack").read_bytes(),
        )


def depths(git_dir: str) -> dict[str, list[int]]:
    """By type: of how many deltas one after another each object is made, as git sees it."""
    found: dict[str, list[int]] = {"commit": [], "tree": [], "blob": []}
    for index in Path(git_dir).glob("objects/pack/*.idx"):
        for line in git("verify-pack", "-v", index).decode().splitlines():
            words = line.split()
            if len(words) in (5, 7) and words[1] in found:
                found[words[1]].append(int(words[5]) if len(words) == 7 else 0)
    return found


def whole(git_dir: str, kind: str) -> int:
    return depths(git_dir)[kind].count(0)


def packed_by_git(git_dir: str, copy: Path) -> int:
    git("clone", "-q", "--mirror", "--no-local", git_dir, copy)
    git("repack", "-q", "-a", "-d", "-f", git_dir=copy)
    return sum(path.stat().st_size for path in copy.glob("objects/pack/pack-*") if path.suffix != ".rev")


def test_a_history_takes_about_as_little_as_after_git_gc(store: Store, git_dir: str, tmp_path: Path) -> None:
    """A year of saves should not cost more than the same in a repository."""
    expected = edit(store, 25) | edit(store, 15, b"lib/b.py") | edit(store, 5)
    before = store.pack_bytes
    tidy_up(store)
    assert store.pack_bytes < before / 4
    assert store.pack_bytes < 1.1 * packed_by_git(git_dir, tmp_path / "copy.git")
    check(store, expected)


def test_no_chain_of_deltas_is_longer_than_gits(store: Store, git_dir: str) -> None:
    """What is at its end is made of all of it; also where rounds lengthen what others began."""
    expected: dict[int, dict[bytes, bytes]] = {}
    for _ in range(3):
        expected |= edit(store, 25)
        tidy_up(store)
    found = depths(git_dir)
    assert 40 < max(found["blob"]) <= 50
    assert max(found["tree"]) <= 50
    assert 10 < max(found["commit"]) <= 20
    assert whole(git_dir, "blob") < 10
    check(store, expected)


def test_a_first_pack_becomes_small_with_the_first_merge(store: Store, git_dir: str) -> None:
    """A baseline is written in haste, however large it is; once it is small it is left alone."""
    files = {b"lib/copy%d/module.py" % n: b"".join([b"copy %d\n" % n, *LINES]) for n in range(60)}
    expected = {save(store, files).number: files} | edit(store, 2, b"lib/copy3/module.py")
    tidy_up(store)
    assert len(list(Path(git_dir).glob("objects/pack/*.pack"))) == 1
    assert whole(git_dir, "blob") <= 3
    check(store, expected)
    save(store, {b"x": b"1"}, base=store.newest_tree())
    assert len(tidied(store, store.begin_upkeep()).replaced) == 0


def test_what_was_tried_in_vain_is_not_tried_again(store: Store, git_dir: str) -> None:
    """Else each merge would compare all that was ever stored, as long as the store grows."""
    source = random.Random(3)
    save(store, {b"%d.py" % n: source.randbytes(300) for n in range(40)})
    save(store, {b"new": b"1"}, base=store.newest_tree())
    tidy_up(store)
    edit(store, 25)
    with patch("backtraild.upkeep.window.make_delta", wraps=make_delta) as tried:
        assert len(tidied(store, store.begin_upkeep()).replaced) == 26
    assert tried.call_count < 4 * 25 + 40


def test_pruned_bases_give_back_their_bytes_and_what_was_told_by_them_stays_small(
    store: Store, git_dir: str
) -> None:
    """The oldest version is the one that stands whole; when it goes, the next one does."""
    expected = edit(store, 40)
    tidy_up(store)
    size = store.pack_bytes
    gone = [number for number in expected if number % 2 or number < 10]
    store.delete_many(gone)
    for number in gone:
        del expected[number]
    tidy_up(store, urgent=True)
    assert objects_on_disk(git_dir) == needed_objects(git_dir)
    assert store.pack_bytes < size
    assert whole(git_dir, "blob") <= 2
    check(store, expected)


def test_nothing_becomes_a_delta_while_it_is_not_known_what_is_needed(store: Store, git_dir: str) -> None:
    """What leads to an object tells what it is; where that is lost, its bytes are copied."""
    edit(store, 5)
    Path(git_dir, "refs/checkpoints/3").write_text("garbage")
    found = tidied(store, store.begin_upkeep())
    assert found.incomplete
    assert store.end_upkeep(found)
    assert max(depths(git_dir)["blob"]) == 0
    Path(git_dir, "refs/checkpoints/3").unlink()
    save(store, {b"b": b"1"}, base=store.newest_tree())
    tidy_up(store)
    assert max(depths(git_dir)["blob"]) > 0


def test_an_object_that_is_named_as_something_else_is_copied(store: Store, git_dir: str) -> None:
    """A forged tree says that a folder is a file; that is no reason to take a pack for damaged."""
    edit(store, 3)
    folder = store.objects.read_tree(bytes.fromhex(store.get(1).tree))[b"lib"]
    assert folder.mode == TREE_MODE
    pack = store.named.new_pack()
    tree = store.named.add_tree(pack, {b"a": Entry(FILE_MODE, folder.oid)})
    store.named.publish("refs/transcripts/aa", pack, tree, "forged")
    found = tidied(store, store.begin_upkeep(), urgent=True)
    assert found.damaged == ()
    assert store.end_upkeep(found)
    assert store.objects.read_tree(folder.oid)


def test_a_file_is_not_told_as_a_change_of_a_folder(store: Store, git_dir: str) -> None:
    """What it is made from decides what it is: a file with the bytes of a folder would become one."""
    files = {b"lib/file%d" % n: b"%d" % n for n in range(30)}
    for number in range(3):
        save(store, {**files, b"lib/file3": b"other %d" % number})
    tidy_up(store)
    folder = store.objects.read_tree(bytes.fromhex(store.get(2).tree))[b"lib"].oid
    alike = store.objects.read(folder, ObjectType.TREE) + b"more"
    for name, forged in (("a1", None), ("a2", alike)):
        pack = store.named.new_pack()
        entry = Entry(FILE_MODE, folder if forged is None else pack.add_blob(forged))
        tree = store.named.add_tree(pack, {b"a": entry})
        store.named.publish(f"refs/transcripts/{name}", pack, tree, "forged")
    store.delete_many([1, 2])
    tidy_up(store, urgent=True)
    assert store.objects.read(folder, ObjectType.TREE) == alike[:-4]
    assert store.objects.read_blob(object_id(ObjectType.BLOB, alike)) == alike


def test_a_merge_never_takes_more_than_the_packs_did(store: Store) -> None:
    """Room was made for a copy; what can't be made smaller stays as it is."""
    source = random.Random(4)
    for number in range(8):
        save(store, {b"%d" % number: source.randbytes(5000)}, base=store.newest_tree())
    before = store.pack_bytes
    found = tidied(store, store.begin_upkeep(), room=before)
    assert len(found.replaced) == 8
    assert found.after < before


def test_a_delta_that_makes_something_else_is_never_written(store: Store, git_dir: str) -> None:
    """Whatever may be wrong with making them, what was saved stays."""
    expected = edit(store, 4)
    with (
        patch("backtraild.upkeep.window.make_delta", lambda base, _: make_delta(base, base)),
        pytest.raises(RuntimeError),
    ):
        tidied(store, store.begin_upkeep())
    store.abandon_upkeep()
    assert not list(Path(git_dir).glob("objects/pack/tmp_*"))
    check(store, expected)


def test_damage_in_what_others_are_told_by_is_found(store: Store, git_dir: str) -> None:
    """A delta copied without its base would be lost; the pack is left for whoever mends it."""
    edit(store, 10)
    tidy_up(store)
    (pack,) = Path(git_dir).glob("objects/pack/*.pack")
    edit(store, 4)
    content = bytearray(pack.read_bytes())
    content[len(content) // 2] ^= 0x40
    pack.chmod(0o600)
    pack.write_bytes(content)
    store.objects.refresh()
    found = tidied(store, store.begin_upkeep(), room=PLENTY, urgent=True)
    assert found.damaged == (pack.stem,)
    assert pack.stem not in found.replaced


def test_versions_read_one_after_the_other_are_made_of_one_delta_each(store: Store) -> None:
    """A chain of fifty is no trap: what was read last is what the next one is told by."""
    expected = edit(store, 45)
    tidy_up(store)
    ids = [
        store.objects.read_tree(store.objects.read_tree(bytes.fromhex(store.get(number).tree))[b"lib"].oid)[
            b"a.py"
        ].oid
        for number in expected
    ]
    store.objects.refresh()
    with patch("backtraild.store.packs.apply_delta", wraps=apply_delta) as applied:
        for oid in ids:
            store.objects.read_blob(oid)
    assert applied.call_count <= len(ids)
