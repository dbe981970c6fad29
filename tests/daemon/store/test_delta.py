"""Undoing deltas: those that git makes, and those that nobody should have made."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backtraild.store.delta import apply_delta, result_size
from backtraild.store.packs import DAMAGE
from backtraild.store.reader import Objects
from support.packs import write_pack

Git = Callable[..., bytes]


def test_a_history_that_git_packed_comes_back(tmp_path: Path, git: Git) -> None:
    """Maintenance packs a hundred versions of a file as deltas of deltas; each must come back exactly."""
    repository = tmp_path / "store.git"
    git("init", "-q", "--bare", repository)
    versions = [b"".join(b"line %d of %d\n" % (at, at * at) for at in range(400))]
    for number in range(100):
        lines = versions[-1].splitlines(keepends=True)
        lines[number * 3] = b"version %d\n" % number
        del lines[number * 2 % len(lines)]
        versions.append(b"".join(lines) + b"tail %d\n" % number + bytes(70_000 if number == 50 else 0))
    found = write_pack(repository, versions)
    rows = "".join(f"create refs/test/{number} {oid.hex()}\n" for number, oid in enumerate(found))
    git("update-ref", "--stdin", git_dir=repository, input=rows.encode())
    git("repack", "-adfq", "--depth=50", git_dir=repository)
    (index,) = (repository / "objects" / "pack").glob("*.idx")
    assert b"chain length = 20" in git("verify-pack", "-v", index, git_dir=repository)
    objects = Objects(str(repository))
    assert {oid: objects.read_blob(oid) for oid in found} == found
    assert {oid: objects.size(oid) for oid in found} == {oid: len(content) for oid, content in found.items()}


def test_the_orders_of_a_delta_are_carried_out() -> None:
    """Copies with offsets and lengths of every width, the length that is written as none, and insertions."""
    base = bytes(range(256)) * 1000
    orders = [
        (bytes([0x80 | 0x10, 5]), base[:5]),
        (bytes([0x80 | 0x01 | 0x10, 7, 3]), base[7:10]),
        (bytes([0x80 | 0x02 | 0x20, 1, 1]), base[256 : 256 + 256]),
        (bytes([0x80 | 0x04 | 0x10, 1, 9]), base[65536 : 65536 + 9]),
        (bytes([0x80 | 0x01]) + b"\x03", base[3 : 3 + 65536]),
        (bytes([0x80 | 0x40, 2]), base[: 2 * 65536]),
        (b"\x04new!", b"new!"),
    ]
    wanted = b"".join(result for _, result in orders)
    delta = number(len(base)) + number(len(wanted)) + b"".join(order for order, _ in orders)
    assert apply_delta(base, delta) == wanted
    assert result_size(delta) == len(wanted)


def number(value: int) -> bytes:
    digits = []
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*digits, value])


@pytest.mark.parametrize(
    "delta",
    [
        number(10) + number(5) + b"\x04four",
        number(10) + number(3) + b"\x04four",
        number(9) + number(4) + b"\x04four",
        number(10) + number(8) + b"\x08short",
        number(10) + number(4) + bytes([0x80 | 0x01 | 0x10, 8, 4]),
        number(10) + number(0) + b"\0",
        number(10),
        b"",
        b"\xff\xff",
    ],
)
def test_a_delta_that_makes_no_sense_is_refused(delta: bytes) -> None:
    """Too long, too short, another base, beyond the end: never something that looks like content."""
    with pytest.raises(DAMAGE):
        apply_delta(b"0123456789", delta)


@given(st.binary(max_size=50), st.binary(max_size=50))
@example(b"", b"\0\0")
def test_whatever_a_delta_holds_it_ends(base: bytes, delta: bytes) -> None:
    """An answer or an error of a known kind, and not more memory than the delta says."""
    try:
        made = apply_delta(base, delta)
    except DAMAGE:
        return
    assert len(made) == result_size(delta)
