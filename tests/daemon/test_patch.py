"""Patches are compared with those of git itself, byte by byte, and applied by git to see where they lead."""

import itertools
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backtraild.model import EXECUTABLE_MODE, FILE_MODE, SYMLINK_MODE, Change, Changes, Entry
from backtraild.store import patch
from backtraild.store.describe import pairs
from backtraild.store.patch import Pair, restrict, unified, unified_bytes
from support.contents import Contents

Tree = dict[bytes, tuple[int, bytes]]

NAMES = [
    b"a",
    b"b.txt",
    b"dir/a",
    b"dir/sub/deep.py",
    b"dir.txt",
    b"sp ace",
    b"dir/sp ace/x y",
    b'qu"ote',
    b"tab\there",
    b"new\nline",
    b"caf\xc3\xa9",
    b"raw\xff\x01",
    b"back\\slash",
]


class Git:
    """A bare repository of its own, untouched by anyone's configuration."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_DIR": str(folder / "repo.git"),
        }
        self.counter = itertools.count()
        self("init", "-q", "--bare", str(folder / "repo.git"))

    def __call__(self, *arguments: str, stdin: bytes = b"", index: str = "index") -> bytes:
        environment = {**self.environment, "GIT_INDEX_FILE": str(self.folder / index)}
        done = subprocess.run(
            ["git", *arguments],
            input=stdin,
            env=environment,
            cwd=self.folder,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    def commit(self, *trees: Tree) -> list[str]:
        """One ref for each tree, written in a single run."""
        refs = [f"refs/heads/t{next(self.counter)}" for _ in trees]
        stream = b"".join(
            b"commit %s\ncommitter T <t@t> 0 +0000\ndata 0\n%s\n" % (ref.encode(), _entries(tree))
            for ref, tree in zip(refs, trees, strict=True)
        )
        self("fast-import", "--quiet", stdin=stream)
        return refs

    def diff(self, old: str, new: str, *options: str) -> bytes:
        return self("diff", "--no-color", "--full-index", *options, old, new)

    def applied(self, tree: str, change: bytes) -> str:
        """The tree that comes out when the patch is applied to this one."""
        self("read-tree", tree)
        if change:
            self("apply", "--cached", "--whitespace=nowarn", "-", stdin=change)
        return self("write-tree").decode().strip()


def _entries(tree: Tree) -> bytes:
    return b"".join(
        b'M %o inline "%s"\ndata %d\n%s\n'
        % (mode, b"".join(b"\\%03o" % byte for byte in path), len(content), content)
        for path, (mode, content) in tree.items()
    )


def difference(old: Tree, new: Tree, contents: Contents) -> Changes:
    """What a scan would report between the two."""
    sides = [{p: Entry(m, contents.put(c)) for p, (m, c) in tree.items()} for tree in (old, new)]
    changes = {path: Change(sides[0].get(path), sides[1].get(path)) for path in sides[0] | sides[1]}
    return {path: change for path, change in changes.items() if change.old != change.new}


@pytest.fixture(scope="module")
def git(tmp_path_factory: pytest.TempPathFactory) -> Git:
    return Git(tmp_path_factory.mktemp("git"))


lines = st.sampled_from(
    [b"def f():", b"    x = 1", b"    y = 2", b"", b"return", b"\xff\xfe", b"caf\xc3\xa9", b"}\r"]
)
texts = st.builds(
    lambda body, end: b"\n".join(body) + end, st.lists(lines, max_size=30), st.sampled_from([b"", b"\n"])
)
binaries = st.binary(max_size=40).map(lambda content: b"\0" + content)
regular = st.tuples(st.sampled_from([FILE_MODE, EXECUTABLE_MODE]), st.one_of(texts, texts, binaries))
links = st.tuples(st.just(SYMLINK_MODE), st.sampled_from([b"a", b"../b", b"caf\xc3\xa9"]))
trees = st.dictionaries(st.sampled_from(NAMES), st.one_of(regular, regular, links), max_size=6)


@settings(max_examples=60, deadline=None)
@given(old=trees, new=trees)
def test_without_renames_the_patch_is_what_git_prints_byte_for_byte(git: Git, old: Tree, new: Tree) -> None:
    """People read these patches and feed them to tools that were made for git's output."""
    contents = Contents()
    changes = difference(old, new, contents)
    before, after = git.commit(old, new)
    plain = [Pair(path, path, change.old, change.new) for path, change in sorted(changes.items())]
    assert unified_bytes(plain, contents) == git.diff(before, after, "--no-renames")


@settings(max_examples=60, deadline=None)
@given(old=trees, new=trees)
def test_git_applies_every_patch_and_arrives_at_the_new_tree(git: Git, old: Tree, new: Tree) -> None:
    """A patch that git refuses, or that leads elsewhere, would lose work."""
    contents = Contents()
    change = unified_bytes(pairs(difference(old, new, contents), contents), contents)
    before, after = git.commit(old, new)
    assert git.applied(before, change) == git("rev-parse", f"{after}^{{tree}}").decode().strip()


@settings(max_examples=40, deadline=None)
@given(
    moves=st.lists(
        st.tuples(st.sampled_from(NAMES), st.integers(0, 20), st.booleans()),
        min_size=1,
        max_size=5,
        unique_by=lambda move: move[0],
    )
)
def test_moved_and_edited_files_look_as_in_git_with_the_same_percentage(
    git: Git, moves: list[tuple[bytes, int, bool]]
) -> None:
    """A rename shown as a deletion and an addition hides what was edited."""
    old: Tree = {}
    new: Tree = {}
    for index, (name, edited, executable) in enumerate(moves):
        body = [b"file %d line %d\n" % (index, line) for line in range(20)]
        changed = [b"edited %d %d\n" % (index, line) if line < edited else body[line] for line in range(20)]
        old[b"old/" + name] = (FILE_MODE, b"".join(body))
        new[b"moved/" + name] = (EXECUTABLE_MODE if executable else FILE_MODE, b"".join(changed))
    contents = Contents()
    changes = difference(old, new, contents)
    before, after = git.commit(old, new)
    assert unified_bytes(pairs(changes, contents), contents) == git.diff(before, after, "-M")


@settings(max_examples=25, deadline=None)
@given(old=texts, new=texts, context=st.integers(0, 6))
def test_the_number_of_context_lines_can_be_chosen(git: Git, old: bytes, new: bytes, context: int) -> None:
    """A reviewer wants more around a change, a script none."""
    contents = Contents()
    trees: list[Tree] = [{b"f": (FILE_MODE, old)}, {b"f": (FILE_MODE, new)}]
    changes = difference(*trees, contents)
    before, after = git.commit(*trees)
    ours = unified_bytes(pairs(changes, contents), contents, context)
    assert ours == git.diff(before, after, f"-U{context}")


def test_a_long_file_with_scattered_edits_gets_gits_hunks_and_function_names(git: Git) -> None:
    """Hunk headers tell in which function an edit is; they must not differ from what people know."""
    body = [
        b"def function_%d(argument):\n    first = %d\n\n    return first\n\n\n" % (i, i) for i in range(200)
    ]
    edited = [
        b"def function_%d(argument):\n    second = %d\n" % (i, i) if i % 31 == 3 else t
        for i, t in enumerate(body)
    ]
    trees: list[Tree] = [{b"f.py": (FILE_MODE, b"".join(body))}, {b"f.py": (FILE_MODE, b"".join(edited))}]
    contents = Contents()
    changes = difference(*trees, contents)
    before, after = git.commit(*trees)
    ours = unified_bytes(pairs(changes, contents), contents)
    assert ours.count(b"\n@@ ") == 7
    assert ours == git.diff(before, after)


def test_an_added_function_is_shown_whole_as_git_shows_it(git: Git) -> None:
    """Without git's look at the indentation, its comment would seem to belong to the next function."""
    one, two, three = (
        b"# comment\ndef %s():\n    for x in y:\n        do(x)\n\n" % name
        for name in (b"one", b"two", b"three")
    )
    trees: list[Tree] = [{b"f.py": (FILE_MODE, text)} for text in (one + three, one + two + three)]
    contents = Contents()
    changes = difference(*trees, contents)
    before, after = git.commit(*trees)
    ours = unified_bytes(pairs(changes, contents), contents)
    assert b"\n+# comment\n+def two():\n" in ours
    assert ours == git.diff(before, after)


def test_every_byte_that_a_name_can_hold_is_quoted_as_git_quotes_it(git: Git) -> None:
    """One byte quoted otherwise, and the patch names a file that does not exist."""
    names = [b"x%c" % byte for byte in range(1, 256) if byte != ord("/")]
    old: Tree = dict.fromkeys(names, (FILE_MODE, b"old\n"))
    new: Tree = dict.fromkeys(names, (FILE_MODE, b"new\n"))
    contents = Contents()
    changes = difference(old, new, contents)
    before, after = git.commit(old, new)
    assert unified_bytes(pairs(changes, contents), contents) == git.diff(before, after)


def test_a_file_replaced_by_a_folder_of_the_same_name_applies(git: Git) -> None:
    """`config` becomes `config/main`: common, and awkward because both cannot be there at once."""
    old: Tree = {b"config": (FILE_MODE, b"one\ntwo\nthree\n"), b"other": (FILE_MODE, b"x\n")}
    new: Tree = {b"config/main": (FILE_MODE, b"one\ntwo\nthree\nfour\n"), b"other": (FILE_MODE, b"y\n")}
    contents = Contents()
    before, after = git.commit(old, new)
    for start, end, changes in (
        (before, after, difference(old, new, contents)),
        (after, before, difference(new, old, contents)),
    ):
        change = unified_bytes(pairs(changes, contents), contents)
        assert git.applied(start, change) == git("rev-parse", f"{end}^{{tree}}").decode().strip()


def test_a_file_that_became_a_symlink_is_shown_as_deleted_and_added() -> None:
    """No hunk can say that a type changed, and git prints it this way too."""
    contents = Contents()
    text = _unified({b"x": (FILE_MODE, b"text\n")}, {b"x": (SYMLINK_MODE, b"target")}, contents)
    assert text.count("diff --git a/x b/x") == 2
    assert text.index("deleted file mode 100644") < text.index("new file mode 120000")


def test_a_file_whose_content_equals_the_links_target_still_changes_type() -> None:
    """Both have the same object id, so a comparison of ids alone would show nothing."""
    contents = Contents()
    text = _unified({b"x": (FILE_MODE, b"target")}, {b"x": (SYMLINK_MODE, b"target")}, contents)
    assert "deleted file mode 100644" in text
    assert "new file mode 120000" in text


def test_content_over_the_cap_is_named_and_not_read() -> None:
    """Comparing holds the interpreter; a huge file must not stop the daemon from answering."""

    class Unreadable(Contents):
        def read(self, oid: bytes) -> bytes:
            raise AssertionError(f"{oid.hex()} was read although it is too large")

    contents = Unreadable()
    big = b"x" * (patch.MAX_COMPARED_BYTES + 1)
    text = _unified({b"big": (FILE_MODE, big)}, {b"big": (FILE_MODE, big + b"y")}, contents)
    assert text.endswith("\nFiles a/big and b/big differ, too large to compare line by line\n")


def test_git_refuses_a_patch_with_content_left_out_instead_of_skipping_it(git: Git, tmp_path: Path) -> None:
    """A patch that silently applies only in part would look like a success."""
    contents = Contents()
    big = b"x\n" * (patch.MAX_COMPARED_BYTES // 2 + 1)
    old: Tree = {b"big": (FILE_MODE, big)}
    change = unified_bytes(
        pairs(difference(old, {b"big": (FILE_MODE, big + b"y")}, contents), contents), contents
    )
    (before,) = git.commit(old)
    with pytest.raises(AssertionError, match="error"):
        git.applied(before, change)


def test_shuffled_short_lines_do_not_stall_the_daemon() -> None:
    """A megabyte of such lines kept libgit2 busy for eight seconds, and nothing else ran meanwhile."""
    old = b"".join(b"%d\n" % (i * 7919 % 97) for i in range(patch.MAX_COMPARED_LINES + 2))
    new = b"".join(b"%d\n" % (i * 6007 % 89) for i in range(patch.MAX_COMPARED_LINES + 2))
    assert patch.compare(b"0\n" + old, b"1\n" + new) is None


def test_a_line_appended_to_a_very_long_log_is_still_shown() -> None:
    """What is common at the beginning and the end costs nothing, however long it is."""
    log = b"".join(b"entry %d\n" % i for i in range(patch.MAX_COMPARED_LINES * 2))
    for old, new in (
        (log, log + b"one more\n"),
        (log, b"first\n" + log),
        (log, log.replace(b" 777\n", b" x\n")),
    ):
        found = patch.compare(old, new)
        assert found is not None
        assert found.line_stats[1] == 1


def test_text_is_valid_even_where_the_content_is_not_utf_8() -> None:
    """The text goes into JSON; the bytes are there for those who want to apply it."""
    contents = Contents()
    text = _unified({}, {b"latin": (FILE_MODE, b"caf\xe9\n")}, contents)
    assert "+caf�\n" in text
    text.encode()


def test_a_diff_of_some_paths_takes_files_and_whole_folders() -> None:
    """`diff -- src` means everything below src, and not src2."""
    change = Change(None, Entry(FILE_MODE, b"1" * 20))
    changes = dict.fromkeys((b"src/a", b"src/b/c", b"src2", b"src.py", b"top"), change)
    assert set(restrict(changes, [b"src"])) == {b"src/a", b"src/b/c"}
    assert set(restrict(changes, [b"top", b"src/b"])) == {b"top", b"src/b/c"}
    assert set(restrict(changes, [b"", b"top"])) == set(changes)
    assert set(restrict(changes, [])) == set(changes)
    assert set(restrict(changes, [b"sr"])) == set()


def _unified(old: Tree, new: Tree, contents: Contents) -> str:
    return unified(pairs(difference(old, new, contents), contents), contents)
