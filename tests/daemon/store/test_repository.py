"""The store as its users see it: checkpoints made, found, pinned and let go, with git looking on."""

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from backtrail.errors import StoreDamaged, StoreFailed, UnknownCheckpoint, UsageError
from backtraild.model import FILE_MODE, Change, Entry
from backtraild.store import Store, trees
from support.disk import fsck
from support.drafts import draft, save

Git = Callable[..., bytes]


@pytest.fixture
def git_dir(tmp_path: Path) -> Path:
    return tmp_path / "repo.git"


@pytest.fixture
def store(git_dir: Path) -> Store:
    return Store.create(str(git_dir))


def refs(git_dir: Path, git: Git) -> list[str]:
    return git("for-each-ref", "--format=%(refname)", git_dir=git_dir).decode().split()


def contents(store: Store, tree: str) -> dict[bytes, bytes]:
    files = trees.walk(bytes.fromhex(tree), store.objects.read_tree)
    return {path: store.objects.read_blob(entry.oid) for path, entry in files}


def test_a_new_store_is_private_and_bare(store: Store, git_dir: Path, git: Git) -> None:
    """It holds copies of private files, and must never turn a folder into a git working tree."""
    assert stat.S_IMODE(git_dir.stat().st_mode) == 0o700
    assert git("rev-parse", "--is-bare-repository", git_dir=git_dir) == b"true\n"
    assert refs(git_dir, git) == []
    assert (store.newest, store.newest_tree(), store.numbers) == (None, None, [])
    fsck(git_dir)


def test_creating_again_changes_nothing(store: Store, git_dir: Path) -> None:
    """Start-up creates what may be there already."""
    made = save(store, {b"a": b"1"})
    git_dir.chmod(0o755)
    again = Store.create(str(git_dir))
    assert again.get(1) == made
    assert stat.S_IMODE(git_dir.stat().st_mode) == 0o700


def test_there_is_no_store_where_none_was_created(tmp_path: Path) -> None:
    """A wrong path must not be taken for an empty history."""
    with pytest.raises(StoreFailed, match="no checkpoint store"):
        Store(str(tmp_path / "elsewhere"))


def test_a_store_that_cannot_be_created_says_why(tmp_path: Path) -> None:
    """The person has to see the path and the reason."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreFailed, match=f"could not be created: Not a directory.*{tmp_path}"):
        Store.create(str(tmp_path / "file" / "repo.git"))


def test_a_checkpoint_is_found_as_it_was_made(store: Store, git_dir: Path, git: Git) -> None:
    """By this process, by the next one, and by git."""
    files = {b"a.txt": b"text\r\n", b"d/\xff": b"\0binary", b"d/e/f": b""}
    made = save(store, files, message="the first")
    assert (made.number, made.message, made.pinned) == (1, "the first", False)
    for reader in (store, Store(str(git_dir))):
        assert reader.get(1) == made
        assert (reader.newest, reader.newest_tree(), reader.numbers) == (1, made.tree, [1])
        assert contents(reader, made.tree) == files
    assert git("rev-parse", "refs/checkpoints/1^{tree}", git_dir=git_dir).decode().strip() == made.tree
    assert git("cat-file", "blob", "refs/checkpoints/1:a.txt", git_dir=git_dir) == b"text\r\n"
    fsck(git_dir)


def test_a_checkpoint_stores_only_what_changed(store: Store, git_dir: Path, git: Git) -> None:
    """One changed file costs its content, the folders above it and the commit: one pack of those."""
    first = save(store, {b"%d/%d" % (at, leaf): b"%d" % leaf for at in range(20) for leaf in range(5)})
    before = set((git_dir / "objects" / "pack").glob("*.idx"))
    second = save(store, {b"3/4": b"changed"}, base=first.tree)
    (fresh,) = set((git_dir / "objects" / "pack").glob("*.idx")) - before
    kinds = sorted(line.split()[1] for line in git("verify-pack", "-v", fresh).splitlines()[:4])
    assert kinds == [b"blob", b"commit", b"tree", b"tree"]
    expected = contents(store, first.tree) | {b"3/4": b"changed"}
    assert contents(store, second.tree) == expected
    fsck(git_dir)


def test_checkpoints_have_no_parents(store: Store, git_dir: Path, git: Git) -> None:
    """Deleting one must never need another one to be rewritten."""
    first = save(store, {b"a": b"1"})
    save(store, {b"a": b"2"}, base=first.tree)
    assert git("rev-list", "--parents", "refs/checkpoints/2", git_dir=git_dir).split() == [
        git("rev-parse", "refs/checkpoints/2", git_dir=git_dir).strip()
    ]


def test_an_empty_workspace_can_be_a_checkpoint(store: Store, git_dir: Path) -> None:
    """All files deleted is a state worth going back from; git must find its empty tree."""
    first = save(store, {b"a": b"1"})
    second = save(store, {b"a": None}, base=first.tree)
    assert contents(Store(str(git_dir)), second.tree) == {}
    fsck(git_dir)


def test_the_same_state_twice_is_two_checkpoints(store: Store, git_dir: Path) -> None:
    """`save --allow-empty` marks a moment, though there is nothing new to store but the commit."""
    first = save(store, {b"a": b"1"})
    second = save(store, {}, base=first.tree)
    assert (second.number, second.tree) == (2, first.tree)
    assert second.id != first.id
    fsck(git_dir)


def test_an_unknown_number_is_said_to_be_unknown(store: Store) -> None:
    """Every way to name a checkpoint answers in the same words."""
    save(store, {b"a": b"1"})
    for call in (store.get, store.delete, store.pin, store.unpin):
        for number in (0, 2, -1):
            with pytest.raises(UnknownCheckpoint, match=f"no checkpoint {number}"):
                call(number)


def test_a_number_is_never_given_out_twice(store: Store, git_dir: Path) -> None:
    """`restore 3` written down yesterday must not mean something else today."""
    for content in (b"1", b"2", b"3"):
        save(store, {b"a": content})
    store.delete(3)
    assert save(Store(str(git_dir)), {b"a": b"4"}).number == 4
    store = Store(str(git_dir))
    for number in (1, 2, 4):
        store.delete(number)
    assert store.numbers == []
    reopened = Store(str(git_dir))
    assert (reopened.newest, reopened.newest_tree()) == (None, None)
    assert save(reopened, {b"a": b"5"}).number == 5
    fsck(git_dir)


def test_the_newest_is_the_newest_that_is_left(store: Store) -> None:
    """The next save compares with it."""
    first = save(store, {b"a": b"1"})
    save(store, {b"a": b"2"})
    store.delete(2)
    assert (store.newest, store.newest_tree()) == (1, first.tree)


def test_deleting_removes_the_refs_and_nothing_else(store: Store, git_dir: Path, git: Git) -> None:
    """`git gc` can drop the content then, and all others stay whole."""
    for content in (b"1", b"2", b"3"):
        save(store, {b"a": content})
    store.pin(2)
    store.delete(2)
    assert refs(git_dir, git) == ["refs/checkpoints/1", "refs/checkpoints/3"]
    assert store.numbers == [1, 3]
    assert not store.has(2)
    with pytest.raises(UnknownCheckpoint):
        store.get(2)
    git("gc", "-q", "--prune=now", git_dir=git_dir)
    reopened = Store(str(git_dir))
    assert contents(reopened, reopened.get(3).tree) == {b"a": b"3"}
    fsck(git_dir)


def test_a_pin_survives_a_restart(store: Store, git_dir: Path, git: Git) -> None:
    """What somebody protected stays protected."""
    made = save(store, {b"a": b"1"})
    store.pin(1)
    store.pin(1)
    assert store.get(1).pinned
    assert Store(str(git_dir)).get(1).pinned
    assert git("rev-parse", "refs/pinned/1", git_dir=git_dir).decode().strip() == made.id
    store.unpin(1)
    store.unpin(1)
    assert not store.get(1).pinned
    assert not Store(str(git_dir)).get(1).pinned


def test_refs_packed_by_git_make_no_difference(store: Store, git_dir: Path, git: Git) -> None:
    """`git gc` on the store packs refs and objects; everything goes on."""
    for content in (b"1", b"2", b"3"):
        save(store, {b"a": content})
    store.pin(2)
    git("gc", "-q", git_dir=git_dir)
    store = Store(str(git_dir))
    assert store.numbers == [1, 2, 3]
    assert store.get(2).pinned
    store.delete(2)
    assert Store(str(git_dir)).numbers == [1, 3]
    assert save(store, {b"a": b"4"}).number == 4
    fsck(git_dir)


HOSTILE_CONFIG = """
[core]
    autocrlf = true
    hooksPath = {home}/hooks
    fsync = none
[init]
    templateDir = {home}/template
    defaultBranch = trunk
[commit]
    gpgSign = true
[gpg]
    program = {home}/gpg
[pack]
    indexVersion = 1
[filter "shout"]
    clean = tr a-z A-Z
"""


def test_the_users_git_configuration_has_no_influence(
    tmp_path: Path, git_dir: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Line endings, hooks, signatures and templates are for the user's repositories: here bytes are bytes."""
    monkeypatch.delenv("GIT_CONFIG_GLOBAL")
    (tmp_path / ".gitconfig").write_text(HOSTILE_CONFIG.format(home=tmp_path))
    (tmp_path / "template").mkdir()
    (tmp_path / "template" / "from-template").write_bytes(b"")
    (tmp_path / "hooks").mkdir()
    for name in ("reference-transaction", "post-commit", "pre-auto-gc"):
        hook = tmp_path / "hooks" / name
        hook.write_text(f"#!/bin/sh\necho {name} >> {tmp_path}/hook-ran\n")
        hook.chmod(0o755)
    store = Store.create(str(git_dir))
    files = {
        b"dos.txt": b"a\r\nb\r\n",
        b".gitattributes": b"* text=auto filter=shout\n",
        b"x.txt": b"quiet\n",
    }
    made = save(store, files)
    assert contents(store, made.tree) == files
    assert not (git_dir / "from-template").exists()
    assert b"gpgsig" not in git("cat-file", "commit", made.id, git_dir=git_dir)
    git("pack-refs", "--all", git_dir=git_dir)
    git("update-ref", "refs/test/1", made.id, git_dir=git_dir)
    assert not (tmp_path / "hook-ran").exists()
    assert git("config", "core.autocrlf", git_dir=git_dir) == b"false\n"
    assert git("config", "commit.gpgSign", git_dir=git_dir) == b"false\n"
    git("gc", "-q", git_dir=git_dir)
    assert contents(Store(str(git_dir)), made.tree) == files


def test_opening_a_store_writes_its_configuration_only_where_it_is_another_one(git_dir: Path) -> None:
    """With ten folders watched, every start would wait for the disk seventy times, for nothing."""
    Store.create(str(git_dir)).close()
    files = [git_dir / "config", git_dir / "HEAD"]
    contents_before, inodes = [file.read_bytes() for file in files], [file.stat().st_ino for file in files]
    Store.create(str(git_dir)).close()
    assert [file.stat().st_ino for file in files] == inodes
    for file in files:
        file.write_bytes(file.read_bytes() + b"# and more\n")
        Store.create(str(git_dir)).close()
        assert [file.read_bytes() for file in files] == contents_before
        file.unlink()
        Store.create(str(git_dir)).close()
        assert [file.read_bytes() for file in files] == contents_before


def test_the_environments_git_variables_have_no_influence(
    tmp_path: Path, git_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A daemon started from a git hook inherits these; checkpoints must not land in the user's repository."""
    for name in ("GIT_DIR", "GIT_OBJECT_DIRECTORY", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_NAMESPACE"):
        monkeypatch.setenv(name, str(tmp_path / "users"))
    store = Store.create(str(git_dir))
    made = save(store, {b"a": b"1"})
    assert contents(Store(str(git_dir)), made.tree) == {b"a": b"1"}
    assert not (tmp_path / "users").exists()


def test_what_a_crash_left_half_written_is_removed(store: Store, git_dir: Path, git: Git) -> None:
    """Killed again and again, the daemon must not fill the disk, nor trip over its own locks."""
    save(store, {b"a": b"1"})
    store.settle()
    store.close()
    before = {path for path in git_dir.rglob("*") if path.is_file()}
    leftovers = [
        "blank-0123456789abcdef",
        "objects/pack/blank-0123456789abcdef",
        "objects/pack/tmp_pack_0123456789abcdef",
        "objects/pack/tmp_pack_0123456789abcdef.idx",
        "refs/checkpoints/2.tmp",
        "refs/checkpoints/2.lock",
        "packed-refs.lock",
        "packed-refs.tmp",
        "HEAD.lock",
        "config.tmp",
    ]
    for name in leftovers:
        (git_dir / name).write_bytes(b"half")
    reopened = Store(str(git_dir))
    assert {path for path in git_dir.rglob("*") if path.is_file()} == before
    assert reopened.numbers == [1]
    assert save(reopened, {b"a": b"2"}).number == 2
    fsck(git_dir)


@pytest.mark.parametrize("content", [b"", b"not an id\n"])
def test_a_checkpoint_with_a_damaged_ref_is_reported_not_forgotten(
    content: bytes, store: Store, git_dir: Path
) -> None:
    """Missing without a word would be the worst answer; the others are as they were."""
    for value in (b"1", b"2", b"3"):
        save(store, {b"a": value})
    store.settle()
    (git_dir / "refs/checkpoints/2").write_bytes(content)
    reopened = Store(str(git_dir))
    assert reopened.numbers == [1, 2, 3]
    for call in (reopened.get, reopened.pin):
        with pytest.raises(StoreDamaged, match="reference of checkpoint 2"):
            call(2)
    assert reopened.get(3).number == 3
    assert save(reopened, {b"a": b"4"}).number == 4


def test_a_ref_that_points_at_another_checkpoint_is_damage(store: Store, git_dir: Path) -> None:
    """`restore 2` must not bring back the files of 1."""
    first = save(store, {b"a": b"1"})
    save(store, {b"a": b"2"})
    (git_dir / "refs/checkpoints/2").write_bytes(first.id.encode() + b"\n")
    with pytest.raises(StoreDamaged, match="reference of checkpoint 2"):
        Store(str(git_dir)).get(2)


def test_a_damaged_checkpoint_can_be_deleted(store: Store, git_dir: Path, git: Git) -> None:
    """Otherwise it would stand in the way of retention for ever."""
    for value in (b"1", b"2"):
        save(store, {b"a": value})
    store.pin(1)
    store.settle()
    (git_dir / "refs/checkpoints/1").write_bytes(b"")
    (git_dir / "refs/checkpoints/2").write_bytes(b"12" * 20 + b"\n")
    reopened = Store(str(git_dir))
    for number in (1, 2):
        with pytest.raises(StoreDamaged):
            reopened.get(number)
        reopened.unpin(number)
        reopened.delete(number)
    assert Store(str(git_dir)).numbers == []
    assert save(reopened, {b"a": b"3"}).number == 3
    assert refs(git_dir, git) == ["refs/backtrail/highest", "refs/checkpoints/3"]


def test_a_lost_count_does_not_lock_the_checkpoints_in(store: Store, git_dir: Path) -> None:
    """One small damaged object must not make the whole history unreadable."""
    save(store, {b"a": b"1"})
    save(store, {b"a": b"2"})
    before = set((git_dir / "objects/pack").iterdir())
    store.delete(2)
    for path in set((git_dir / "objects/pack").iterdir()) - before:
        path.unlink()
    assert Store(str(git_dir)).get(1).number == 1


def test_a_checkpoint_with_a_damaged_commit_is_named(store: Store, git_dir: Path) -> None:
    """The others stay readable."""
    save(store, {b"a": b"1"})
    before = set((git_dir / "objects/pack").iterdir())
    save(store, {b"a": b"2"})
    for path in set((git_dir / "objects/pack").iterdir()) - before:
        path.unlink()
    reopened = Store(str(git_dir))
    with pytest.raises(StoreDamaged, match="missing"):
        reopened.get(2)
    assert reopened.get(1).number == 1


def test_a_refused_message_leaves_the_store_as_it_was(store: Store, git_dir: Path, git: Git) -> None:
    """The number is not used up, and nothing was written."""
    pack = store.new_pack()
    tree = store.write_tree(pack, None, {b"a": Change(None, Entry(FILE_MODE, pack.add_blob(b"1")))})
    with pytest.raises(UsageError):
        store.commit(pack, tree, draft("x" * 1_000_000))
    pack.abandon()
    assert refs(git_dir, git) == []
    assert list((git_dir / "objects/pack").iterdir()) == []
    assert save(store, {b"a": b"1"}).number == 1
