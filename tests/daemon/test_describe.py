"""What a checkpoint's list of changes says; renames and line counts are compared with git's own."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backtraild.model import (
    EXECUTABLE_MODE,
    FILE_MODE,
    SYMLINK_MODE,
    Change,
    Changes,
    Entry,
    FileChange,
    Status,
)
from backtraild.store import patch
from backtraild.store.describe import MAX_SIMILAR_FILES, Description, describe, summary
from support.contents import Contents

Tree = dict[bytes, tuple[int, bytes]]
LETTERS = {
    Status.ADDED: "A",
    Status.DELETED: "D",
    Status.MODIFIED: "M",
    Status.MODE: "M",
    Status.RENAMED: "R",
}


def difference(old: Tree, new: Tree, contents: Contents) -> Changes:
    sides = [{p: Entry(m, contents.put(c)) for p, (m, c) in tree.items()} for tree in (old, new)]
    changes = {path: Change(sides[0].get(path), sides[1].get(path)) for path in sides[0] | sides[1]}
    return {path: change for path, change in changes.items() if change.old != change.new}


def described(old: Tree, new: Tree) -> Description:
    contents = Contents()
    return describe(difference(old, new, contents), contents)


def only(old: Tree, new: Tree) -> FileChange:
    (change,) = described(old, new).files
    return change


def text(*lines: str) -> tuple[int, bytes]:
    return FILE_MODE, "".join(f"{line}\n" for line in lines).encode()


def numbered(count: int, label: str = "line") -> tuple[int, bytes]:
    return text(*(f"{label} {number}" for number in range(count)))


def test_changes_that_are_not_named_are_counted_all_the_same() -> None:
    """A commit names a thousand files; a first snapshot of a hundred thousand tells the lines of all of them."""
    old = {b"c": text("one", "two"), b"d": text("kept"), b"moved": numbered(9)}
    new = {b"a": numbered(5), b"b": (FILE_MODE, b"\0"), b"c": text("one"), b"d": text("kept", "more")}
    new[b"elsewhere"] = numbered(9)
    contents = Contents()
    changes = difference(old, new, contents)

    whole, part = describe(changes, contents), describe(changes, contents, 2)

    assert part.files == whole.files[:2]
    assert part.count == whole.count == len(whole.files) == 5
    assert part.statuses == {Status.ADDED: 2, Status.MODIFIED: 2, Status.RENAMED: 1}
    assert (part.insertions, part.deletions) == (whole.insertions, whole.deletions) == (6, 1)


# --- kinds of change


def test_a_new_file_counts_all_its_lines() -> None:
    """The list says how much was added, also where the last line is unfinished."""
    assert only({}, {b"a": (FILE_MODE, b"one\ntwo")}) == FileChange(b"a", Status.ADDED, 7, None, 2, 0)


def test_a_deleted_file_counts_its_lines_and_has_no_size() -> None:
    """Nothing is left of it, but what was lost is told."""
    assert only({b"a": text("one", "two")}, {}) == FileChange(b"a", Status.DELETED, 0, None, 0, 2)


def test_an_edited_file_counts_the_lines_that_differ() -> None:
    """The size is that of the new content."""
    change = only({b"a": text("one", "two", "three")}, {b"a": text("one", "2", "three", "four")})
    assert change == FileChange(b"a", Status.MODIFIED, 17, None, 2, 1)


def test_an_executable_bit_is_a_change_of_mode_and_of_no_line() -> None:
    """`chmod +x` must not look like an edit."""
    change = only({b"run": text("x")}, {b"run": (EXECUTABLE_MODE, b"x\n")})
    assert change == FileChange(b"run", Status.MODE, 2, None, 0, 0)


def test_an_edit_together_with_an_executable_bit_is_an_edit() -> None:
    """The content matters more than the mode."""
    assert only({b"run": text("x")}, {b"run": (EXECUTABLE_MODE, b"y\n")}).status is Status.MODIFIED


@pytest.mark.parametrize("content", [b"text\n", b"target"])
def test_a_file_that_became_a_symlink_is_modified(content: bytes) -> None:
    """Also where the file's content is the link's target, and so the object is the same."""
    change = only({b"x": (FILE_MODE, content)}, {b"x": (SYMLINK_MODE, b"target")})
    assert change.status is Status.MODIFIED


def test_binary_content_has_no_line_counts() -> None:
    """Counting line feeds in a picture says nothing."""
    for old, new in (({}, b"\0\n"), ({b"a": text("x")}, b"\0\n"), ({b"a": (FILE_MODE, b"\0")}, b"x\n")):
        change = only(old, {b"a": (FILE_MODE, new)})
        assert (change.insertions, change.deletions) == (None, None)


def test_a_nul_byte_far_into_a_text_does_not_make_it_binary() -> None:
    """Git looks at the first 8000 bytes only; so do we, or the two would disagree."""
    assert only({}, {b"a": (FILE_MODE, b"x" * 7999 + b"\0")}).insertions is None
    assert only({}, {b"a": (FILE_MODE, b"x" * 8000 + b"\0")}).insertions == 1


def test_content_over_the_cap_is_listed_without_being_read() -> None:
    """A video of gigabytes changes often in some folders; its size is enough."""
    contents = Contents()
    big = (FILE_MODE, b"\n" * (patch.MAX_COMPARED_BYTES + 1))
    changes = difference({b"a": text("x")}, {b"a": big, b"b": big}, contents)
    files = describe(changes, contents).files
    assert [(file.size, file.insertions) for file in files] == [(len(big[1]), None)] * 2
    assert contents.put(big[1]) not in contents.reads


def test_totals_are_sums_that_leave_out_what_has_no_lines() -> None:
    """One binary file must not make the figures of the others disappear."""
    new: Tree = {b"a": text("1", "2"), b"b": (FILE_MODE, b"\0"), b"d": text("1", "3")}
    result = described({b"c": (FILE_MODE, b"x\ny\nz\n"), b"d": text("1", "2")}, new)
    assert (result.insertions, result.deletions) == (3, 4)


def test_files_are_listed_in_the_order_of_their_paths() -> None:
    """The same change gives the same list, whatever order the scan found it in."""
    result = described({}, {b"b": text("1"), b"a/z": text("2"), b"a.txt": text("3")})
    assert [file.path for file in result.files] == [b"a.txt", b"a/z", b"b"]


# --- renames


def test_a_moved_file_is_one_rename_without_lines() -> None:
    """Moving a folder must not look like thousands of deletions."""
    change = only({b"old/a": numbered(9)}, {b"new/a": numbered(9)})
    assert (change.status, change.old_path, change.insertions, change.deletions) == (
        Status.RENAMED,
        b"old/a",
        0,
        0,
    )


def test_a_moved_file_is_not_read_at_all() -> None:
    """Moving 100,000 files must cost no more than comparing their ids."""
    contents = Contents()
    describe(difference({b"old/a": numbered(9)}, {b"new/a": numbered(9)}, contents), contents)
    assert contents.reads == []


def test_of_equal_files_each_goes_with_the_one_of_its_name() -> None:
    """Every package has the same empty `__init__.py`; a swap of names would be nonsense."""
    empty = (FILE_MODE, b"")
    result = described(
        {b"old/x": empty, b"old/y": empty, b"old/z": empty},
        {b"new/a": empty, b"new/z": empty, b"new/y": empty},
    )
    assert [(file.old_path, file.path) for file in result.files] == [
        (b"old/x", b"new/a"),
        (b"old/y", b"new/y"),
        (b"old/z", b"new/z"),
    ]


def test_one_file_gone_and_two_copies_added_is_one_rename_and_one_addition() -> None:
    """A file cannot have become two."""
    result = described({b"a": numbered(9)}, {b"b": numbered(9), b"c": numbered(9)})
    assert [file.status for file in result.files] == [Status.RENAMED, Status.ADDED]


def test_a_copy_beside_the_original_is_an_addition() -> None:
    """Nothing was renamed where nothing went away."""
    assert only({b"a": numbered(9)}, {b"a": numbered(9), b"b": numbered(9)}).status is Status.ADDED


def test_a_moved_and_edited_file_is_a_rename_with_its_edited_lines() -> None:
    """Refactoring moves and edits at once; the edit is what people look for."""
    change = only({b"a.py": numbered(20)}, {b"lib/b.py": (FILE_MODE, numbered(20)[1] + b"more\n")})
    assert (change.status, change.old_path, change.insertions, change.deletions) == (
        Status.RENAMED,
        b"a.py",
        1,
        0,
    )


def test_files_with_less_than_half_in_common_stay_apart() -> None:
    """A guess that is wrong more often than right confuses."""
    new = text(*(f"line {n}" for n in range(9)), *(f"other {n}" for n in range(11)))
    assert [f.status for f in described({b"a": numbered(20)}, {b"b": new}).files] == [
        Status.DELETED,
        Status.ADDED,
    ]


def test_a_symlink_is_never_the_new_name_of_a_file() -> None:
    """Restoring such a rename would put a link where a file was."""
    for target in (b"target", b"targed"):
        result = described({b"a": (FILE_MODE, b"target")}, {b"b": (SYMLINK_MODE, target)})
        assert [file.status for file in result.files] == [Status.DELETED, Status.ADDED]


def test_line_endings_do_not_hide_a_rename() -> None:
    """A file that passed through Windows is still that file."""
    crlf = (FILE_MODE, numbered(20)[1].replace(b"\n", b"\r\n"))
    assert only({b"a": numbered(20)}, {b"b": crlf}).status is Status.RENAMED


def test_similarity_is_not_searched_among_too_many_files() -> None:
    """Every pair is compared, so a great upheaval would take minutes."""
    contents = Contents()
    count = MAX_SIMILAR_FILES + 1
    old: Tree = {b"old%d" % n: numbered(3, f"a{n}") for n in range(count)}
    new: Tree = {b"new%d" % n: (FILE_MODE, numbered(3, f"a{n}")[1] + b"x\n") for n in range(count)}
    statuses = {file.status for file in describe(difference(old, new, contents), contents).files}
    assert statuses == {Status.ADDED, Status.DELETED}


def test_where_all_pairs_are_too_much_work_files_that_kept_their_name_are_still_found() -> None:
    """Moving a folder of large files while editing one of them is not rare."""
    old: Tree = {b"old/%d" % n: numbered(40_000, f"a{n}") for n in range(12)}
    new: Tree = {b"new/%d" % n: (FILE_MODE, numbered(40_000, f"a{n}")[1] + b"x\n") for n in range(12)}
    result = described(old, new)
    assert [(file.old_path, file.status) for file in result.files] == [
        (file.path.replace(b"new", b"old"), Status.RENAMED) for file in result.files
    ]


# --- against git


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("git")
    _git(folder, "init", "-q", "--bare", ".")
    return folder


def _git(folder: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    environment |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_DIR": str(folder)}
    return subprocess.run(
        ["git", *arguments], input=stdin, env=environment, cwd=folder, capture_output=True, check=True
    ).stdout


def _git_description(folder: Path, old: Tree, new: Tree) -> set[tuple[str, ...]]:
    """Git's letters, paths and line counts: (R, old, new), (A, path), … and (+, -, path)."""
    stream = b""
    for number, tree in enumerate((old, new)):
        stream += b"reset refs/heads/t%d\ncommit refs/heads/t%d\n" % (number, number)
        stream += b"committer T <t@t> 0 +0000\ndata 0\ndeleteall\n"
        for path, (mode, content) in tree.items():
            stream += b"M %o inline %s\ndata %d\n%s\n" % (mode, path, len(content), content)
    _git(folder, "fast-import", "--quiet", "--force", stdin=stream)
    names = _git(folder, "diff", "-M", "--name-status", "t0", "t1").decode().splitlines()
    counts = _git(folder, "diff", "-M", "--numstat", "-z", "t0", "t1").decode()
    found = {(line[0], *line.split("\t")[1:]) for line in names}
    return found | {tuple(record.split("\t")) for record in _records(counts)}


def _records(counts: str) -> list[str]:
    """A rename is written over three fields by `--numstat -z`; the new name is the last."""
    fields = counts.split("\0")[:-1]
    records = []
    while fields:
        record = fields.pop(0)
        if record.endswith("\t"):
            fields.pop(0)
            record += fields.pop(0)
        records.append(record)
    return records


def _our_description(old: Tree, new: Tree) -> set[tuple[str, ...]]:
    found: set[tuple[str, ...]] = set()
    for file in described(old, new).files:
        letter = LETTERS[file.status]
        if file.status is Status.MODIFIED and (old[file.path][0] == SYMLINK_MODE) != (
            new[file.path][0] == SYMLINK_MODE
        ):
            letter = "T"
        old_name = [file.old_path.decode()] if file.old_path else []
        found.add((letter, *old_name, file.path.decode()))
        shown = ["-" if n is None else str(n) for n in (file.insertions, file.deletions)]
        if file.status is Status.MODE and b"\0" in new[file.path][1]:
            shown = ["-", "-"]  # git counts no lines of a binary file; we say that none changed
        found.add((*shown, file.path.decode()))
    return found


bodies = st.lists(st.sampled_from("abcdef"), max_size=25)
states = st.one_of(
    st.none(),
    st.tuples(
        st.sampled_from([FILE_MODE, EXECUTABLE_MODE, SYMLINK_MODE]), bodies, st.sampled_from(["", "z", "\0"])
    ),
)


@settings(max_examples=60, deadline=None)
@given(old=st.lists(states, min_size=4, max_size=4), new=st.lists(states, min_size=4, max_size=4))
def test_kinds_and_line_counts_are_those_of_git(
    repository: Path, old: list[object], new: list[object]
) -> None:
    """Whoever looks into the store with git must find the same figures."""
    before, after = _tree(old), _tree(new)
    assert _our_description(before, after) == _git_description(repository, before, after)


def _tree(choices: list[object]) -> Tree:
    """Each place has lines of its own, so that no file can be taken for another's new name."""
    tree: Tree = {}
    for place, choice in enumerate(choices):
        if isinstance(choice, tuple):
            mode, body, end = choice
            tail = "z" if mode == SYMLINK_MODE else end
            content = "".join(f"{place}{letter}\n" for letter in body) + (f"{tail}{place}" if tail else "")
            tree[b"%d/file" % place] = (mode, (content or f"{place}").encode())
    return tree


@settings(max_examples=60, deadline=None)
@given(
    moves=st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 24), st.integers(0, 24)), min_size=1, max_size=6
    )
)
def test_renames_are_those_of_git(repository: Path, moves: list[tuple[int, int, int]]) -> None:
    """Kept lines, dropped lines, new lines in every proportion: the border of one half is git's."""
    old: Tree = {}
    new: Tree = {}
    for index, (kind, dropped, fresh) in enumerate(moves):
        body = [f"{index} the line number {n}" for n in range(24)]
        old[b"old/%d" % index] = text(*body)
        edited = text(*body[dropped:], *(f"{index} something new, {n}" for n in range(fresh)))
        new[[b"old/%d", b"new/%d", b"new/sub/renamed%d", b"aa/%d.txt"][kind] % index] = edited
    assert _our_description(old, new) == _git_description(repository, old, new)


@pytest.mark.parametrize("edited", [9, 10, 11])
def test_exactly_one_half_in_common_is_enough_as_it_is_for_git(repository: Path, edited: int) -> None:
    """On the border, too, our list and git's must not tell different stories."""
    old: Tree = {b"a": text(*(f"line {n:02}" for n in range(20)))}
    new: Tree = {b"b": text(*(f"{'edit' if n < edited else 'line'} {n:02}" for n in range(20)))}
    assert (("R", "a", "b") in _our_description(old, new)) == (edited <= 10)
    assert _our_description(old, new) == _git_description(repository, old, new)


# --- cost


def test_a_hundred_thousand_additions_take_time_in_proportion() -> None:
    """The first checkpoint of a large folder lists every file of it."""
    contents = Contents()
    entry = Entry(FILE_MODE, contents.put(b"one\ntwo\n"))
    changes = {b"%d/%d" % (n % 100, n): Change(None, entry) for n in range(100_000)}
    started = time.process_time()
    result = describe(changes, contents)
    assert result.insertions == 200_000
    assert time.process_time() - started < 10  # about 1 s here; a quadratic step would take minutes


def test_a_hundred_thousand_equal_files_that_moved_take_time_in_proportion() -> None:
    """Pairing equal files one by one with each other would never end."""
    contents = Contents()
    entry = Entry(FILE_MODE, contents.put(b""))
    changes = {b"old/a%d" % n: Change(entry, None) for n in range(50_000)}
    changes |= {b"new/b%d" % n: Change(None, entry) for n in range(50_000)}
    started = time.process_time()
    assert {file.status for file in describe(changes, contents).files} == {Status.RENAMED}
    assert time.process_time() - started < 10


# --- the message of an automatic checkpoint


def change(path: bytes, status: Status = Status.MODIFIED, old_path: bytes | None = None) -> FileChange:
    return FileChange(path, status, 1, old_path)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([], "No files changed"),
        ([change(b"src/app.py", Status.ADDED)], "src/app.py added"),
        ([change(b"src/app.py")], "src/app.py changed"),
        ([change(b"src/app.py", Status.DELETED)], "src/app.py deleted"),
        ([change(b"run", Status.MODE)], "run changed mode"),
        ([change(b"b", Status.RENAMED, b"a")], "a renamed to b"),
        ([change(b"a"), change(b"b", Status.ADDED)], "2 files changed: a, b"),
        ([change(b"a", Status.ADDED), change(b"b", Status.ADDED)], "2 files added: a, b"),
        ([change(b"caf\xe9")], '"caf\\351" changed'),
    ],
)
def test_the_message_says_in_words_what_changed(files: list[FileChange], message: str) -> None:
    """A list of checkpoints is searched by eye; "auto" forty times helps nobody."""
    assert summary(files, len(files)) == message


def test_a_message_about_thousands_of_files_names_the_first_few() -> None:
    """The list may be cut off; the count is still right, and what the rest did is not guessed."""
    files = [change(b"src/module%d.py" % n, Status.ADDED) for n in range(1000)]
    message = summary(files, 123_456)
    assert message.startswith("123,456 files changed: src/module0.py, src/module1.py, ")
    assert message.endswith(", …")


def test_a_message_about_thousands_of_files_says_what_became_of_all_of_them() -> None:
    """Where it is known of those too that are not named, there is nothing to guess."""
    files = [change(b"a", Status.ADDED), change(b"b", Status.ADDED)]
    assert summary(files, 123_456, [Status.ADDED]) == "123,456 files added: a, b, …"
    assert summary(files, 123_456, [Status.ADDED, Status.MODE]) == "123,456 files changed: a, b, …"


@given(
    files=st.lists(
        st.builds(
            change,
            st.binary(min_size=1, max_size=300),
            st.sampled_from(Status),
            st.one_of(st.none(), st.binary(min_size=1, max_size=300)),
        ),
        max_size=8,
    ),
    more=st.integers(0, 10**7),
)
def test_a_message_is_one_short_line_that_is_safe_to_print(files: list[FileChange], more: int) -> None:
    """A file name with an escape sequence must not take over the terminal of whoever lists checkpoints."""
    message = summary(files, len(files) + more)
    assert len(message) <= 100
    assert message.isprintable()
    message.encode()


def test_a_very_long_name_keeps_its_end() -> None:
    """Deep folders begin alike; the end tells which file it was."""
    message = summary([change(b"deep/" * 60 + b"the_file.py")], 1)
    assert message.startswith("…")
    assert message.endswith("the_file.py changed")


@pytest.mark.parametrize(
    ("old", "new", "counts"),
    [
        (b"a\n", b"a\nb\nc\n", (2, 0)),
        (b"a\nb\nc\n", b"a\n", (0, 2)),
        (b"", b"a\nb", (2, 0)),
        (b"a\nb", b"", (0, 2)),
        (b"a\n", b"a\nb", (1, 0)),
    ],
)
def test_text_that_only_grew_or_shrank_at_its_end_is_not_compared(
    monkeypatch: pytest.MonkeyPatch, old: bytes, new: bytes, counts: tuple[int, int]
):
    """Logs and lists do just that, and a thousand of them at once are told in no time."""
    monkeypatch.setattr(patch, "_libgit2", None)
    change = only({b"p": (FILE_MODE, old)}, {b"p": (FILE_MODE, new)})
    assert (change.insertions, change.deletions) == counts


def test_a_last_line_that_goes_on_is_another_line():
    """It was unfinished, so it is not one that the other text begins with."""
    change = only({b"p": (FILE_MODE, b"a\nb")}, {b"p": (FILE_MODE, b"a\nbc\nd\n")})
    assert (change.insertions, change.deletions) == (2, 1)
