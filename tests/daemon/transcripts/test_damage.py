"""Damage is told, never read as if it were the conversation, and does not stop the recording of what follows."""

import random
import shutil
from pathlib import Path

import pytest

from backtrail.errors import StoreDamaged
from backtraild.model import FILE_MODE, TREE_MODE, Entry
from backtraild.transcripts import Lines, TranscriptFile
from support.conversations import Room, jsonl, messages, open_room
from support.git import git


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return open_room(tmp_path / "store")


def damage(path: Path, content: bytes) -> None:
    path.chmod(0o600)
    path.write_bytes(content)


def test_no_flipped_bit_gives_another_conversation(room: Room, tmp_path: Path) -> None:
    """A disk that forgets must be found out before an agent goes on from what it made up."""
    lines = messages(1, 400)
    recorded = room.transcripts.record("talk", Lines(jsonl(lines)))
    source, refused = random.Random(7), 0
    print("seed 7")
    for number in range(60):
        folder = tmp_path / f"damaged {number}"  # each its own: opening one puts a broken pack aside
        shutil.copytree(room.folder, folder)
        (pack,) = folder.glob("repo.git/objects/pack/*.pack")
        content = bytearray(pack.read_bytes())
        content[source.randrange(12, len(content) - 20)] ^= 1 << source.randrange(8)
        damage(pack, content)
        again = open_room(folder)
        try:
            assert again.lines(recorded) == lines
        except StoreDamaged:
            refused += 1
        again.database.close()
    assert refused >= 50


def test_a_snapshot_is_checked_against_its_own_hash(room: Room) -> None:
    """A snapshot that leads to another conversation is damage, though every object is intact."""
    first = room.transcripts.record("talk", Lines(b'"a"\n"b"\n'))
    room.transcripts.record("talk", Lines(b'"a"\n"b"\n"c"\n'))
    assert room.lines(first) == [b'"a"', b'"b"']
    reader = room.transcripts.read("talk", 1, 0, 3, first.content_hash)
    with pytest.raises(StoreDamaged, match="Generation 1 of conversation talk is not what was stored"):
        list(reader)
    with pytest.raises(StoreDamaged, match="holds 3 messages, and not 4"):
        room.transcripts.read("talk", 1, 0, 4)


def test_objects_that_fit_and_do_not_belong_are_found_by_the_hash(room: Room) -> None:
    """Whoever edits the store with git gets a sentence, not a forged conversation."""
    room.transcripts.record("talk", Lines(b'"a"\n"b"\n'))
    for chunk, reason in [
        (b'"a"\n"x"\n', "is not what was stored"),
        (b'"a"\n', "holds 1 messages instead of 2"),
    ]:
        forge(room, chunk)
        with pytest.raises(StoreDamaged, match=reason):
            list(room.transcripts.read("talk", 1))


def forge(room: Room, chunk: bytes) -> None:
    named = room.store.named
    root = named.tree("refs/transcripts/talk")
    assert root is not None
    generation = room.store.objects.read_tree(room.store.objects.read_tree(root)[b"000001"].oid)
    pack = named.new_pack()
    folder = named.add_tree(pack, {b"000000000": Entry(FILE_MODE, pack.add_blob(chunk))})
    tree = named.add_tree(pack, {**generation, b"000000000": Entry(TREE_MODE, folder)})
    named.publish(
        "refs/transcripts/talk", pack, named.add_tree(pack, {b"000001": Entry(TREE_MODE, tree)}), "forged"
    )


def test_a_damaged_reference_is_told(room: Room) -> None:
    """An empty file after a power cut is not the same as a conversation that never was."""
    room.transcripts.record("talk", Lines(b"1\n"))
    (room.git_dir / "refs/transcripts/talk").write_bytes(b"")
    with pytest.raises(StoreDamaged, match="refs/transcripts/talk is damaged"):
        room.transcripts.newest("talk")
    room.transcripts.delete("talk")
    assert room.transcripts.record("talk", Lines(b"1\n")).message_count == 1


def test_a_conversation_at_hand_is_stored_again_where_the_old_one_is_damaged(room: Room) -> None:
    """Losing one chunk must not keep a session from being recorded for the rest of its life."""
    lines = messages(2, 3000)
    room.transcripts.record("talk", Lines(jsonl(lines)))
    chunk = git("rev-parse", "refs/transcripts/talk:000001/000000000/000000000", git_dir=room.git_dir)
    (pack,) = room.packs()
    places = git("show-index", input=pack.with_suffix(".idx").read_bytes()).splitlines()
    offset = next(int(line.split()[0]) for line in places if chunk.strip() in line)
    content = bytearray(pack.read_bytes())
    content[offset + 500] ^= 0xFF
    damage(pack, content)
    room = room.reopened()
    with pytest.raises(StoreDamaged):
        list(room.transcripts.read("talk", 1))
    recorded = room.transcripts.record("talk", Lines(jsonl([*lines, b'"more"'])))
    assert recorded.generation == 2
    assert room.lines(recorded) == [*lines, b'"more"']


def test_a_damaged_last_chunk_does_not_keep_a_file_from_being_followed(room: Room, tmp_path: Path) -> None:
    """The short last chunk is written again with what follows; if it can't be read, it is left as it is."""
    path = tmp_path / "talk.jsonl"
    path.write_bytes(jsonl(messages(3, 5)))
    room.transcripts.record("talk", TranscriptFile(str(path)))
    chunk = git("rev-parse", "refs/transcripts/talk:000001/000000000/000000000", git_dir=room.git_dir)
    (pack,) = room.packs()
    places = git("show-index", input=pack.with_suffix(".idx").read_bytes()).splitlines()
    offset = next(int(line.split()[0]) for line in places if chunk.strip() in line)
    content = bytearray(pack.read_bytes())
    content[offset + 100] ^= 0xFF
    damage(pack, content)
    room = room.reopened()
    with path.open("ab") as file:
        file.write(b'"more"\n')
    assert room.transcripts.record("talk", TranscriptFile(str(path))).appended == 1
    assert list(room.transcripts.read("talk", 1, 5, 6)) == [b'"more"']
