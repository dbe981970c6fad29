"""Checkpoints as commits: everything comes back, and git can read it."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backtrail.errors import StoreDamaged, UsageError
from backtraild.model import FileChange, Kind, Skipped, SkipReason, Status
from backtraild.store import Draft, record
from backtraild.store.objects import EMPTY_TREE, ObjectType, object_id
from support.disk import fsck
from support.drafts import MOMENT, draft

Git = Callable[..., bytes]
TREE = b"\x12" * 20

# Any character but halves of one; more often what could be taken for the record's own marks.
marks = st.sampled_from(
    ["\n", "\n\n", "Backtrail: ", "\n\nBacktrail: {}", "\0", "|", "🐈", "\r\n", "(no message)", "\u2028"]
)
messages = st.lists(marks | st.text(max_size=5), max_size=8).map("".join)
numbers = st.integers(-(2**63), 2**64) | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
metadata = st.dictionaries(st.text(max_size=8), json_values, max_size=4)
paths = st.binary(min_size=1, max_size=20)
counts = st.none() | st.integers(0, 10**9)
changed = st.builds(
    FileChange, paths, st.sampled_from(Status), st.integers(0, 2**50), st.none() | paths, counts, counts
)
skips = st.builds(Skipped, paths, st.integers(0, 2**60), st.sampled_from(SkipReason))


def there_and_back(number: int, made: Draft) -> Any:
    content = record.encode(number, TREE, made)
    return record.decode("ab" * 20, content, pinned=False)


@given(messages)
@example("")
@example("\n")
@example("\n\n\n")
@example("Backtrail: {}")
@example("x\n\nBacktrail: ")
@example("(no message)")
@example("\0")
@example("ends with a newline\n")
@example("\n\nbegins with blank lines")
def test_any_message_comes_back(message: str) -> None:
    """People and agents write what they like; none of it may be changed or mistaken for our own words."""
    assert there_and_back(1, draft(message)).message == message


@given(metadata)
@example({"a": "\n\nBacktrail: {}"})
@example({"": None, "deep": [[[[{}]]]]})
def test_any_metadata_comes_back(given_metadata: dict[str, Any]) -> None:
    """An agent's notes are its own business."""
    assert there_and_back(1, draft(metadata=given_metadata)).metadata == given_metadata


@given(
    st.lists(changed, max_size=4), st.lists(skips, max_size=4), st.sampled_from(Kind), st.integers(1, 2**40)
)
@example(
    [FileChange(b'"quoted"', Status.RENAMED, 1, b'"')],
    [Skipped(b"\xff\n", 0, SkipReason.CHANGING)],
    Kind.AUTO,
    1,
)
def test_files_and_everything_else_come_back(
    files: list[FileChange], skipped: list[Skipped], kind: Kind, number: int
) -> None:
    """Names that are not UTF-8 are listed like all others."""
    made = Draft(
        kind=kind,
        message="m",
        timestamp=MOMENT,
        files_changed=files,
        files_changed_count=len(files),
        insertions=3,
        deletions=4,
        skipped=skipped,
        parent=number - 1,
        parent_tree="cd" * 20,
        session="a session",
        turn=7,
        request="a request",
    )
    back = there_and_back(number, made)
    for name in Draft.__slots__:
        wanted = getattr(made, name)
        if name in ("files_changed", "skipped"):
            wanted = tuple(wanted)
        assert getattr(back, name) == ({} if wanted is None else wanted), name
    assert (back.number, back.id, back.tree, back.pinned) == (number, "ab" * 20, TREE.hex(), False)
    assert back.files_changed_complete


@given(
    st.datetimes(
        datetime(1971, 1, 1),  # noqa: DTZ001  # the zone is added below
        datetime(2100, 1, 1),  # noqa: DTZ001
        timezones=st.just(timezone(timedelta(hours=5, minutes=45))),
    )
)
def test_the_time_comes_back_to_the_microsecond(moment: datetime) -> None:
    """`restore --at` compares times; a commit alone keeps whole seconds."""
    back = there_and_back(1, Draft(kind=Kind.AUTO, message="", timestamp=moment))
    assert back.timestamp == moment
    assert back.timestamp.utcoffset() == timedelta(0)


def test_a_message_of_a_megabyte_is_refused() -> None:
    """It would be read with every listing; the sentence says how long it may be."""
    with pytest.raises(UsageError, match=r"1,000,000 bytes.*262,144"):
        record.encode(1, TREE, draft("x" * 1_000_000))
    with pytest.raises(UsageError):
        record.check_message("é" * (record.MESSAGE_LIMIT // 2 + 1))
    fits = "é" * (record.MESSAGE_LIMIT // 2)
    assert there_and_back(1, draft(fits)).message == fits


@pytest.mark.parametrize("message", ["\ud800", "half \udc80 of one"])
def test_half_a_character_is_refused(message: str) -> None:
    """It can't be written as UTF-8, which is what commits and the wire carry."""
    with pytest.raises(UsageError, match="half of a character"):
        record.encode(1, TREE, draft(message))


@pytest.mark.parametrize("value", ["\ud800", object(), {"\udc80": 1}], ids=["half", "object", "half a key"])
def test_metadata_that_is_not_json_is_refused(value: object) -> None:
    """The caller learns it before anything was written."""
    with pytest.raises(UsageError, match="metadata"):
        record.encode(1, TREE, draft(metadata={"x": value}))


def test_metadata_that_is_too_long_is_refused() -> None:
    """Every listing reads it."""
    with pytest.raises(UsageError, match="too long"):
        record.encode(1, TREE, draft(metadata={"x": "y" * (record.RECORD_LIMIT + 1)}))


@pytest.mark.parametrize("depth", [101, 5000])
def test_metadata_nested_too_deeply_is_refused(depth: int) -> None:
    """What is written at the end of a shallow stack must be readable from a deeper one."""
    nested: Any = "bottom"
    for _ in range(depth):
        nested = {"in": nested} if depth % 2 else [nested]
    with pytest.raises(UsageError, match="nested"):
        record.encode(1, TREE, draft(metadata={"x": nested}))


def test_metadata_nested_a_little_comes_back() -> None:
    """The limit is far from what anybody writes."""
    nested: Any = "bottom"
    for _ in range(90):
        nested = [nested]
    assert there_and_back(1, draft(metadata={"x": nested})).metadata == {"x": nested}


def test_a_very_long_list_is_counted_not_listed() -> None:
    """A commit of a hundred thousand files stays small; the count tells that the list is not complete."""
    files = [FileChange(b"%d" % number, Status.ADDED, 1) for number in range(5000)]
    back = there_and_back(1, draft(files_changed=files, files_changed_count=5000))
    assert back.files_changed == tuple(files[: record.LISTED_CHANGES])
    assert back.files_changed_count == 5000
    assert not back.files_changed_complete


def test_a_thousand_very_long_paths_do_not_stop_a_checkpoint() -> None:
    """Nobody asked for the list: a save must not fail because of it."""
    files = [FileChange(b"\xff" * 4000 + b"%d" % number, Status.ADDED, 1) for number in range(1000)]
    left = [Skipped(change.path, 1, SkipReason.TOO_LARGE) for change in files]
    back = there_and_back(1, draft(files_changed=files, files_changed_count=1000, skipped=left))
    assert 10 < len(back.files_changed) < 1000
    assert back.files_changed == tuple(files[: len(back.files_changed)])
    assert not back.files_changed_complete


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory, git: Git) -> Path:
    path = tmp_path_factory.mktemp("record") / "store.git"
    git("init", "-q", "--bare", path)
    git("hash-object", "-t", "tree", "-w", "--stdin", git_dir=path)
    return path


@settings(max_examples=25)
@given(messages, metadata)
@example("", {})
@example("\0", {"a": "\0"})
@example("\n\n", {})
def test_git_finds_nothing_wrong_with_the_commit(
    repository: Path, git: Git, message: str, given_metadata: dict[str, Any]
) -> None:
    """`git fsck` is the proof that a store can be read without Backtrail."""
    content = record.encode(3, EMPTY_TREE, draft(message, metadata=given_metadata))
    made = (
        git("hash-object", "-t", "commit", "-w", "--stdin", git_dir=repository, input=content)
        .decode()
        .strip()
    )
    assert made == object_id(ObjectType.COMMIT, content).hex()
    fsck(repository)


def test_git_log_shows_message_and_record(repository: Path, git: Git) -> None:
    """Somebody without Backtrail must be able to see what a checkpoint was."""
    content = record.encode(3, EMPTY_TREE, draft("Fix the parser\n\nIt was | wrong."))
    made = (
        git("hash-object", "-t", "commit", "-w", "--stdin", git_dir=repository, input=content)
        .decode()
        .strip()
    )
    body = git("log", "-1", "--format=%B", made, git_dir=repository).decode()
    message, line = body.strip().rsplit("\n\n", 1)
    assert message == "Fix the parser\n\nIt was | wrong."
    assert json.loads(line.removeprefix("Backtrail: "))["number"] == 3
    shown = git("log", "-1", "--format=%an %at %s", made, git_dir=repository).decode().strip()
    assert shown == f"Backtrail {int(MOMENT.timestamp())} Fix the parser"
    content = record.encode(4, EMPTY_TREE, draft(""))
    silent = (
        git("hash-object", "-t", "commit", "-w", "--stdin", git_dir=repository, input=content)
        .decode()
        .strip()
    )
    assert git("log", "-1", "--format=%s", silent, git_dir=repository) == b"(no message)\n"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"tree 00\n\nno record here",
        b"tree 00\n\nmessage\n\nBacktrail: not json",
        b'tree 00\n\nmessage\n\nBacktrail: {"format":1}',
        b"tree 00\n\n\xff\xfe\n\nBacktrail: {}",
        b'tree 00\n\nm\n\nBacktrail: {"format":1,"number":1,"kind":"unheard","time":"2024-05-06T07:08:09Z"}',
    ],
)
def test_a_foreign_commit_is_named_as_such(content: bytes) -> None:
    """Somebody committed into the store by hand: the other checkpoints must still be listed."""
    with pytest.raises(StoreDamaged, match=r"abab.*not written by Backtrail"):
        record.decode("ab" * 20, content, pinned=False)


def test_a_commit_of_a_newer_backtrail_asks_for_an_upgrade() -> None:
    """Guessing at fields that mean something else would be worse than not listing it."""
    content = re.sub(rb'"format":1', b'"format":2', record.encode(1, TREE, draft()))
    with pytest.raises(StoreDamaged, match="newer Backtrail") as caught:
        record.decode("ab" * 20, content, pinned=False)
    assert "Upgrade" in caught.value.hint


def test_a_naive_time_is_local_time() -> None:
    """A caller that forgot the zone means the clock on the wall."""
    naive = datetime(2024, 1, 2, 3, 4, 5)  # noqa: DTZ001
    back = there_and_back(1, Draft(kind=Kind.AUTO, message="", timestamp=naive))
    assert back.timestamp == naive.astimezone(UTC)


def test_the_id_of_a_request_comes_back_and_costs_nothing_where_there_is_none() -> None:
    """Git is the truth about what was asked for, also when the table beside the store is made again."""
    assert there_and_back(1, draft(request="0b9c-é")).request == "0b9c-é"
    assert there_and_back(1, draft()).request is None
    assert b'"request"' not in record.encode(1, TREE, draft())


@pytest.mark.parametrize("request_id", ["", "x" * 201, "two\nlines", "\udc80", "\0"])
def test_an_id_that_nobody_could_look_for_again_is_refused(request_id: str) -> None:
    """A save that can't be recognised when it is repeated would be done twice."""
    with pytest.raises(UsageError, match="printable"):
        record.check_request(request_id)
    record.check_request("x" * 200)
