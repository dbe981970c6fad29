"""The file of packed refs: what git wrote there, and what is written anew, whoever damaged it in between."""

import random
import sys
from pathlib import Path

import pytest

from backtraild.store.packed_refs import PackedRefs

IDS = [f"{number:040x}" for number in range(100)]
CHECKPOINTS = "refs/checkpoints/"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "packed-refs"


def _ref(number: int) -> str:
    return f"{CHECKPOINTS}{number}"


def test_whatever_is_put_and_dropped_is_as_in_a_dictionary(tmp_path: Path, file: Path):
    """It is searched by halves: a ref that is not found there is a checkpoint that is lost."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    source, expected = random.Random(seed), dict[str, str]()
    refs = PackedRefs(str(tmp_path))
    for _ in range(60):
        names = [_ref(source.randrange(1, 400)) for _ in range(source.randrange(1, 30))]
        if source.random() < 0.6:
            new = {name: source.choice(IDS) for name in names}
            refs.put(new)
            expected |= new
        else:
            refs.drop(names)
            expected = {name: held for name, held in expected.items() if name not in names}
        assert dict(refs.items()) == dict(PackedRefs(str(tmp_path)).items()) == expected
        assert all(refs.get(_ref(number)) == expected.get(_ref(number)) for number in range(401))
        lines = file.read_text().splitlines()[1:] if file.exists() else []
        assert [line.partition(" ")[2] for line in lines] == sorted(expected)


def test_only_names_below_a_folder_are_told_of_it(tmp_path: Path):
    """Pinned checkpoints have the same numbers as all others."""
    refs = PackedRefs(str(tmp_path))
    refs.put({_ref(1): IDS[1], "refs/checkpoint": IDS[2], "refs/pinned/1": IDS[3], "refs/a": IDS[4]})
    assert list(refs.items(CHECKPOINTS)) == [(_ref(1), IDS[1])]
    assert [name for name, _ in refs.items()] == ["refs/a", "refs/checkpoint", _ref(1), "refs/pinned/1"]


def test_a_file_in_no_order_is_read_and_of_two_values_the_last_counts(tmp_path: Path, file: Path):
    """Other programs than git write such files; each ref must be found all the same."""
    file.write_text("".join(f"{IDS[number]} {_ref(number)}\n" for number in (7, 3, 30, 7, 1)))
    refs = PackedRefs(str(tmp_path))
    assert dict(refs.items()) == {_ref(number): IDS[number] for number in (1, 3, 30, 7)}
    file.write_text(f"{IDS[1]} {_ref(7)}\n{IDS[2]} {_ref(7)}")
    assert refs.get(_ref(7)) == IDS[2]


def test_lines_that_are_no_refs_are_told_and_stay(tmp_path: Path, file: Path):
    """What is left of a ref may be healed, or tell somebody what was there."""
    file.write_bytes(b"%s\n%s refs/../x\n%s \xff\n%s" % ((b"0" * 17,) + 2 * (b"1" * 40,) + (b"half",)))
    refs = PackedRefs(str(tmp_path))
    refs.put({_ref(1): IDS[1]})
    refs.drop([_ref(1)])
    assert refs.damage == ["0" * 17, f"{'1' * 40} refs/../x", f"{'1' * 40} \udcff", "half"]
    assert (list(refs.items()), refs.size) == ([], 0)


def test_nothing_is_written_for_refs_that_are_not_there(tmp_path: Path, file: Path):
    """Most checkpoints that are deleted were never packed."""
    refs = PackedRefs(str(tmp_path))
    refs.drop([_ref(1)])
    assert not file.exists()


def test_thousands_of_refs_are_a_few_pieces_of_memory(tmp_path: Path, file: Path):
    """As two texts each they lay among everything else, and kept megabytes from being given back."""
    file.write_text("".join(f"{IDS[0]} {_ref(number)}\n" for number in range(1_000, 9_000)))
    refs = PackedRefs(str(tmp_path))
    before = sys.getallocatedblocks()
    assert refs.get(_ref(5_000)) == IDS[0]
    assert sys.getallocatedblocks() - before < 100
