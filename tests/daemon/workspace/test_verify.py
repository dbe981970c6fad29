"""Checking a whole store: nothing is found in an intact one, and in a damaged one the checkpoints that it hit."""

import os
import shutil
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from backtrail.errors import StoreDamaged
from backtraild.model import Kind
from backtraild.store import Store, Verification, examiner, mending, trees, verification
from backtraild.workspace import verify
from support import damage
from support.disk import fsck
from support.git import git
from support.project import Files, Project, files_of
from support.wounds import place_of

MEGABYTE = 1024 * 1024


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project(tmp_path) as opened:
        yield opened


@pytest.fixture
def three(project: Project) -> Project:
    """Three checkpoints: `same` is in all of them, `folder/file` differs in each, `second` is in one."""
    project.write("same", "the same\n" * 50)
    for number in (1, 2, 3):
        project.write("folder/file", f"content {number}\n" * 50)
        if number == 2:
            project.write("second", "only in the second\n" * 50)
        if number == 3:
            (project.root / "second").unlink()
        project.save()
    project.workspace.settle()  # else what is lost would be made again from what the saves pledged
    return project


def checked(project: Project) -> Verification:
    return verify(str(project.store))


def told(found: Verification) -> list[tuple[tuple[int, ...], bytes | None]]:
    return [(problem.checkpoints, problem.path) for problem in found.problems]


def of_every_kind(project: Project) -> None:
    """Checkpoints of all kinds, with everything in them that a checkpoint can hold."""
    project.write(b"na\xffme", b"not UTF-8")
    project.write("run", "#!/bin/sh\n").chmod(0o755)
    project.write("large", os.urandom(9 * MEGABYTE))
    project.write("/".join(["deep"] * 60) + "/file", "deep down")
    (project.root / "link").symlink_to("nowhere")
    project.workspace.start()
    for kind in (Kind.MANUAL, Kind.AUTO, Kind.AGENT):
        project.write("empty", b"")
        project.write("text", f"{kind}\n" * 100)
        project.save(kind=kind)
    project.workspace.restore("1")
    project.workspace.undo()
    project.save(allow_empty=True)
    project.workspace.pin("3")
    project.workspace.delete("@")
    project.workspace.delete("2")


def git_reaches(git_dir: Path) -> tuple[int, int]:
    """How many objects git reaches from the checkpoints, and how long they are together."""
    listed = git("rev-list", "--objects", "--glob=refs/checkpoints/*", git_dir=git_dir).splitlines()
    ids = b"".join(line.split()[0] + b"\n" for line in listed)
    sizes = git("cat-file", "--batch-check=%(objectsize)", git_dir=git_dir, input=ids).split()
    return len(listed), sum(map(int, sizes))


def leave(_: Path) -> None:
    """As Backtrail wrote it."""


def repack(git_dir: Path) -> None:
    """As `git gc` leaves it: one pack with deltas, refs in one file and their folder gone."""
    git("gc", "-q", "--prune=now", git_dir=git_dir)


def unpack(git_dir: Path) -> None:
    """Every object in a file of its own."""
    packs = git_dir / "objects" / "pack"
    packs.rename(git_dir / "packs")
    packs.mkdir()
    for pack in (git_dir / "packs").glob("*.pack"):
        git("unpack-objects", "-q", git_dir=git_dir, input=pack.read_bytes())
    shutil.rmtree(git_dir / "packs")


@pytest.mark.parametrize("arrange", [leave, repack, unpack])
def test_an_intact_store_is_whole_and_git_agrees(project: Project, arrange: Callable[[Path], None]):
    """A check that cries wolf is not run twice; one that reads less than git reaches is not worth running."""
    of_every_kind(project)
    arrange(project.git_dir)
    before = damage.object_files(str(project.git_dir))

    found = checked(project)

    assert found.problems == ()
    assert found.whole == (1, 3, 4, 5, 6, 7, 8)
    assert (found.damaged, found.unlisted, found.complete) == ((), 0, True)
    assert (found.objects, found.bytes) == git_reaches(project.git_dir)
    assert damage.object_files(str(project.git_dir)) == before
    fsck(project.git_dir)


def test_leftovers_of_a_crash_are_no_problem(three: Project):
    """They cost disk space only, and the next start removes them."""
    packs, refs = three.git_dir / "objects" / "pack", three.git_dir / "refs" / "checkpoints"
    (packs / "tmp_pack_x").write_bytes(b"half a pack")
    (packs / "pack-1234.pack").write_bytes(b"without an index")
    (packs / "pack-5678.idx").write_bytes(b"without a pack")
    (refs / "4.tmp").write_bytes(b"half a ref")
    (refs / "5.lock").touch()
    (refs / "notes").write_bytes(b"no number")
    assert (checked(three).problems, checked(three).whole) == ((), (1, 2, 3))


def flip(project: Project, path: str, checkpoint: int) -> None:
    """One bit of a file or folder of a checkpoint."""
    pack, at = place_of(project, path, checkpoint)
    content = bytearray(pack.read_bytes())
    content[at] ^= 4
    damage.put(str(pack), bytes(content))


def holders(project: Project, path: str, checkpoint: int) -> tuple[int, ...]:
    """The checkpoints that hold the same at this path, as told by git."""
    ids = {
        number: git("ls-tree", f"refs/checkpoints/{number}", path, git_dir=project.git_dir)
        for number in (1, 2, 3)
    }
    return tuple(number for number, line in ids.items() if line == ids[checkpoint])


@pytest.mark.parametrize(
    ("path", "checkpoint"),
    [("same", 1), ("second", 2), ("folder/file", 1), ("folder/file", 3), ("folder", 2)],
)
def test_a_flipped_bit_names_the_path_and_exactly_the_checkpoints_that_hold_it(
    three: Project, path: str, checkpoint: int
):
    """One must know what is lost, and what can still be restored."""
    affected = holders(three, path, checkpoint)
    flip(three, path, checkpoint)
    found = checked(three)
    assert told(found) == [(affected, path.encode())]
    assert found.damaged == affected
    assert found.whole == tuple(sorted({1, 2, 3} - set(affected)))
    assert found.problems[0].message.startswith("Object ")


@pytest.mark.parametrize(("path", "expected"), [("", b""), ("commit", None)])
def test_a_damaged_commit_or_root_folder_is_that_of_one_checkpoint(three: Project, path: str, expected):
    """A commit is no file: it has no path."""
    flip(three, path, 2)
    assert told(checked(three)) == [((2,), expected)]


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path) -> None:
    os.truncate(path, 0)


@pytest.mark.parametrize("way", [cut, empty, Path.unlink])
@pytest.mark.parametrize("suffix", [".pack", ".idx"])
def test_a_lost_pack_or_index_costs_the_checkpoint_it_was_written_for(three: Project, way, suffix: str):
    """What the others share with it, they have from earlier packs."""
    pack, _ = place_of(three, "commit", 2)
    pack.with_suffix(suffix).chmod(0o600)
    way(pack.with_suffix(suffix))
    found = checked(three)
    assert (found.damaged, found.whole) == ((2,), (1, 3))
    assert {problem.checkpoints for problem in found.problems} == {(2,)}


def point_elsewhere(path: Path) -> None:
    path.write_bytes((path.parent / "3").read_bytes())


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("way", [cut, empty, Path.unlink, point_elsewhere, make_folder])
def test_a_lost_or_damaged_reference_is_found(three: Project, way):
    """A checkpoint that nobody deleted and that is not there any more is a loss, and not a deletion."""
    way(three.git_dir / "refs" / "checkpoints" / "2")
    found = checked(three)
    assert told(found) == [((2,), None)]
    assert "reference of checkpoint 2" in found.problems[0].message
    assert (found.whole, found.damaged) == ((1, 3), (2,))


def test_a_pinned_checkpoint_that_lost_its_reference_is_found_without_the_table(three: Project):
    """The table can be gone as well; a pin without a checkpoint is no state that Backtrail makes."""
    three.workspace.pin("2")
    three.workspace.close()
    (three.store / "state.db").unlink()
    (three.git_dir / "refs" / "checkpoints" / "2").unlink()
    assert checked(three).damaged == (2,)
    three.reopen()


def test_damaged_pins_and_counters_are_found_and_cost_no_checkpoint(three: Project):
    """Git stumbles over them, and a number could be given out twice."""
    three.workspace.pin("1")
    three.workspace.delete("3")
    assert checked(three).problems == ()
    (three.git_dir / "refs" / "pinned" / "1").write_bytes(b"")
    (three.git_dir / "refs" / "backtrail" / "highest").write_bytes(b"0" * 40 + b"\n")
    found = checked(three)
    assert told(found) == [((1,), None), ((), None)]
    assert "pin of checkpoint 1" in found.problems[0].message
    assert "highest number" in found.problems[1].message
    assert found.whole == (1, 2)


def no_refs(project: Project) -> None:
    shutil.rmtree(project.git_dir / "refs" / "checkpoints")


def file_for_refs(project: Project) -> None:
    no_refs(project)
    (project.git_dir / "refs" / "checkpoints").touch()


def no_packs(project: Project) -> None:
    shutil.rmtree(project.git_dir / "objects" / "pack")


def no_repository(project: Project) -> None:
    shutil.rmtree(project.git_dir)


@pytest.mark.parametrize("way", [no_refs, file_for_refs, no_packs, no_repository])
def test_a_store_without_one_of_its_folders_names_all_checkpoints(three: Project, way):
    """Somebody's clean-up took a folder: the answer is a list of what is lost, and no stack trace."""
    way(three)
    found = checked(three)
    assert (found.damaged, found.whole, found.complete) == ((1, 2, 3), (), True)
    assert {number for problem in found.problems for number in problem.checkpoints} == {1, 2, 3}


def test_a_store_that_lost_its_references_and_its_table_is_not_taken_for_a_new_one(three: Project):
    """Nothing is left to tell how many checkpoints there were, but there is something to tell."""
    three.workspace.close()
    (three.store / "state.db").unlink()
    no_refs(three)
    (problem,) = checked(three).problems
    assert problem.message.startswith("The folder that holds the references of checkpoints is missing: ")
    three.reopen()


def test_a_store_that_is_not_there_at_all_is_a_problem(tmp_path: Path):
    """Zero checkpoints and no problem would look like a store that is new."""
    found = verify(str(tmp_path / "nothing"))
    assert [problem.message for problem in found.problems] == [
        f"There is no checkpoint store at {tmp_path / 'nothing' / 'repo.git'}."
    ]
    assert not (tmp_path / "nothing").exists()


def readable(git_dir: Path, number: int) -> Files | None:
    """Everything in a checkpoint, read as for a restore and not mended before; None if that is refused."""
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(mending, "mend", lambda *_: [])
            store = Store(str(git_dir))
        tree = bytes.fromhex(store.get(number).tree)
        files = trees.walk(tree, store.objects.read_tree)
        return {path: ("file", b"".join(store.objects.chunks(entry.oid))) for path, entry in files}
    except StoreDamaged:
        return None


def test_whatever_is_damaged_what_is_called_whole_can_be_restored_and_nothing_else(three: Project):
    """The answer decides which backups somebody throws away."""
    seed = 20261116
    print(f"seed {seed}")
    git_dir, numbers = three.git_dir, (1, 2, 3)
    expected = {
        number: files_of(git_dir, three.workspace.history.find(str(number)).tree) for number in numbers
    }
    files = damage.object_files(str(git_dir))
    refs = [f"refs/checkpoints/{number}" for number in numbers]
    files |= {name: (git_dir / name).read_bytes() for name in refs}
    for way, name, left in damage.damages(files, seed, 100):
        damage.put(str(git_dir / name), left)
        found = checked(three)
        assert sorted(found.whole + found.damaged) == [1, 2, 3], (way, name)
        for number in found.whole:
            assert readable(git_dir, number) == expected[number], (way, name)
        for number in found.damaged:
            assert name in refs or readable(git_dir, number) is None, (way, name)
        assert found.problems or not found.damaged, (way, name)
        damage.put(str(git_dir / name), files[name])


def test_more_problems_than_anybody_reads_are_counted(project: Project):
    """A pack lost with a hundred thousand files must not become a report of as many pages."""
    for number in range(examiner.LISTED_FLAWS + 60):
        project.write(f"{number:03}", f"{number}\n" * 20)
    project.save()
    project.write("another", "intact\n")
    project.save()
    (index,) = {place_of(project, "000", 1)[0].with_suffix(".idx")}
    rows = [line.split() for line in git("verify-pack", "-v", index).splitlines()]
    content = bytearray(index.with_suffix(".pack").read_bytes())
    for row in rows:
        if row[1:2] == [b"blob"]:
            content[int(row[4]) + int(row[3]) // 2] ^= 4
    damage.put(str(index.with_suffix(".pack")), bytes(content))

    found = checked(project)
    assert {problem.checkpoints for problem in found.problems} == {(1, 2)}
    assert (len(found.problems), found.unlisted) == (examiner.LISTED_FLAWS, 60)
    assert found.damaged == (1, 2)


def test_a_large_file_is_checked_without_being_held_in_memory(project: Project):
    """A check in the background must not take more memory than the work it checks."""
    project.write("large", os.urandom(24 * MEGABYTE))
    project.save()
    tracemalloc.start()
    try:
        found = checked(project)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.bytes > 24 * MEGABYTE
    assert found.whole == (1,)
    assert peak < 6 * MEGABYTE


def test_a_flipped_bit_in_a_large_file_is_found_as_well(project: Project):
    """Large files are read in pieces, on another way than small ones."""
    project.write("large", os.urandom(9 * MEGABYTE))
    project.save()
    flip(project, "large", 1)
    assert told(checked(project)) == [((1,), b"large")]


def test_a_check_can_be_stopped_and_tells_how_far_it_came(project: Project):
    """Hours of reading must not keep a daemon from ending."""
    for number in range(300):
        project.write(f"{number:03}", f"{number}\n")
    project.save()
    project.write("new", "new\n")
    project.save()
    done: list[int] = []
    everything = verify(str(project.store), progress=done.append)
    assert done == [examiner.PROGRESS_STEP]

    asked = iter(range(everything.objects + 1))
    found = verify(str(project.store), stop=lambda: next(asked) == 303)  # in the second checkpoint
    assert not found.complete
    assert (found.whole, found.damaged, found.problems) == ((2,), (), ())
    assert verify(str(project.store), stop=lambda: True).whole == ()


def test_a_checkpoint_that_is_let_go_during_the_check_is_no_problem(three: Project):
    """Retention goes on meanwhile, and maintenance then removes what nothing holds any more."""
    pack, _ = place_of(three, "second", 2)
    gone: list[int] = []

    def stop() -> bool:
        if not gone:
            gone.append(three.workspace.delete("2").number)
            pack.unlink()
            pack.with_suffix(".idx").unlink()
        return False

    found = verify(str(three.store), stop=stop)
    assert gone == [2]
    assert (found.problems, found.whole, found.damaged) == ((), (1, 3), ())


def test_a_pack_that_comes_into_being_during_the_check_is_no_damage(
    three: Project, monkeypatch: pytest.MonkeyPatch
):
    """A save gives a pack its name before its index; whoever looks in between must not be told of damage."""
    index = next((three.git_dir / "objects" / "pack").glob("*.idx"))
    hidden, real = three.folder / "hidden", mending.flawed

    def flawed(git_dir: str) -> dict[str, str]:
        if not hidden.exists() and not seen:
            index.rename(hidden)
        seen.append(real(git_dir))
        if hidden.exists():
            hidden.rename(index)
        return seen[-1]

    seen: list[dict[str, str]] = []
    monkeypatch.setattr(mending, "flawed", flawed)
    assert verify(str(three.store)).problems == ()
    assert seen == [{index.stem: "its index is missing"}, {}]


def test_a_pack_that_gets_its_index_during_a_check_is_no_problem(
    three: Project, monkeypatch: pytest.MonkeyPatch
):
    """A save gives a pack its name before its index, and on a busy machine a long moment may be between the two."""
    index = next(three.git_dir.glob("objects/pack/*.idx"))
    aside = index.rename(index.with_suffix(".aside"))
    look, looks = mending.flawed, []

    def slowly(git_dir: str) -> dict[str, str]:
        found = look(git_dir)
        looks.append(found)
        if len(looks) == 2:
            aside.rename(index)
        return found

    monkeypatch.setattr(mending, "flawed", slowly)
    assert list(verification._packs(str(three.git_dir))) == []
    assert looks[0] == {index.stem: "its index is missing"}


def test_a_pack_that_goes_while_packs_are_listed_hides_no_damage(three: Project):
    """Upkeep merges packs at any time. One that is gone by the time it is looked at is like a name with no file."""
    packs = three.git_dir / "objects" / "pack"
    index = next(packs.glob("*.idx"))
    index.unlink()
    (packs / "pack-0.pack").symlink_to("gone")
    assert mending.flawed(str(three.git_dir)) == {index.stem: "its index is missing"}
