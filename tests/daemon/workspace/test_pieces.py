"""Files of checkpoints in pieces: any piece of any file, and a large one in one pass."""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtrail.errors import StoreDamaged, UnknownPath
from backtraild.model import EXECUTABLE_MODE, FILE_MODE, SYMLINK_MODE, TREE_MODE
from backtraild.store.reader import STREAM_FROM
from support.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project(tmp_path) as project:
        yield project


def read_all(project: Project, path: bytes) -> bytes:
    """A file in pieces of a megabyte."""
    read, size = b"", 1
    while len(read) < size:
        piece = project.workspace.pieces.read("@", path, len(read), 1_000_000)
        read, size = read + piece.content, piece.size
    return read


def test_every_piece_is_the_same_as_that_of_the_whole(project: Project):
    """Going on, going back, beyond the end, from one file to another."""
    seed = random.randrange(2**32)
    print("seed", seed)
    chance = random.Random(seed)
    contents = {b"large": chance.randbytes(STREAM_FROM + 12_345), b"small": b"0123456789", b"empty": b""}
    for name, content in contents.items():
        project.write(os.fsdecode(name), content)
    project.workspace.start()
    for _ in range(60):
        name = chance.choice(list(contents))
        offset = chance.choice(
            [0, 1, 5, STREAM_FROM - 1, STREAM_FROM, chance.randrange(STREAM_FROM + 20_000)]
        )
        length = chance.choice([0, 1, 4, 100_000, STREAM_FROM])
        piece = project.workspace.pieces.read("@", name, offset, length)
        assert piece.content == contents[name][offset : offset + length], (name, offset, length)
        assert (piece.size, piece.offset, piece.path) == (len(contents[name]), offset, name)


def test_a_large_file_is_unpacked_once_however_many_pieces_it_is_read_in(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    """Beginning anew for each piece would take hours for a film."""
    content = os.urandom(STREAM_FROM + 1)
    project.write("large", content)
    project.workspace.start()
    objects, passes = project.workspace._parts.store.objects, []
    really = objects.chunks
    monkeypatch.setattr(objects, "chunks", lambda oid: (passes.append(oid), really(oid))[1])
    assert read_all(project, b"large") == content
    assert len(passes) == 1
    assert project.workspace.pieces._reading is None


def test_everything_in_a_folder_is_named_with_its_kind(project: Project):
    """A client shows the folder as a list."""
    project.write("src/app.py", b"")
    project.write("run", b"")
    (project.root / "run").chmod(0o755)
    (project.root / "link").symlink_to("nowhere")
    project.workspace.start()
    read = project.workspace.pieces.read
    assert read("@", b"", 0, 0).entries == (
        (b"link", SYMLINK_MODE),
        (b"run", EXECUTABLE_MODE),
        (b"src", TREE_MODE),
    )
    assert read("@", b"src", 0, 0).entries == ((b"app.py", FILE_MODE),)
    assert read("@", b"link", 0, 100).content == b"nowhere"
    with pytest.raises(UnknownPath, match="nothing at src/lib"):
        read("@", b"src/lib", 0, 1)


def test_damage_is_told_at_the_latest_with_the_last_piece(project: Project):
    """Bytes that are not what was stored must not pass for the file."""
    project.write("large", os.urandom(STREAM_FROM + 1_000_000))
    project.workspace.start()
    (pack,) = project.git_dir.glob("objects/pack/*.pack")
    pack.chmod(0o600)
    with open(pack, "r+b") as file:
        file.seek(pack.stat().st_size - 500_000)
        file.write(bytes(1000))
    with pytest.raises(StoreDamaged):
        read_all(project, b"large")
    assert project.workspace.pieces._reading is None
