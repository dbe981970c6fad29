"""The ignore rules: what is captured, who decides, and that no pattern can make deciding slow."""

import re
import time
from pathlib import Path

import pytest

import backtraild
from backtrail.errors import UsageError
from backtraild.ignore import DEFAULT_PATTERNS, IGNORE_FILES, FolderRules, TooManyWildcards


def excludes(
    rules: FolderRules, path: bytes, files: dict[bytes, tuple[bytes | None, bytes | None]] | None = None
) -> bool:
    """Walk down as a crawl would; a trailing slash means a folder. `files`: folder -> (git's, ours)."""
    *parents, last = path.removesuffix(b"/").split(b"/")
    for parent in parents:
        rules = rules.with_files(*(files or {}).get(rules.folder, (None, None)))
        if rules.excludes(parent, is_folder=True):
            return True
        rules = rules.child(parent)
    rules = rules.with_files(*(files or {}).get(rules.folder, (None, None)))
    found = rules.excludes(last, is_folder=path.endswith(b"/"))
    assert not found or last in rules.suspects([last])  # a look asks for these and no others
    return found


def ignored(gitignore: bytes, path: bytes) -> bool:
    """Is the path excluded by this .gitignore at the root, and nothing else?"""
    return excludes(FolderRules.for_root(defaults=()), path, {b"": (gitignore, None)})


# pattern, a path that it excludes (or None), a path that it does not
LANGUAGE = [
    (b"foo", b"deep/down/foo", b"foobar"),
    (b"/foo", b"foo", b"deep/foo"),
    (b"a/foo", b"a/foo", b"b/a/foo"),
    (b"foo/", b"deep/foo/", b"foo"),
    (b"*.log", b"a/.log", b"a.logs"),
    (b"*.tar.gz", b"x.tar.gz", b"x.gz"),
    (b"*~", b"x~", b"~x"),
    (b"*.py[cod]", b"x.pyd", b"x.py"),
    (b"[Bb]in", b"Bin", b"BIN"),
    (b"a?c", b"abc", b"ac"),
    (b"a*c/d", b"abc/d", b"ab/c/d"),
    (b"?/b", b"a/b", b"ab/b"),
    (b"**/foo", b"foo", b"foobar"),
    (b"**/foo/bar", b"x/foo/bar", b"foo/x/bar"),
    (b"foo/**", b"foo/x", b"foo"),
    (b"a/**/b", b"a/x/y/b", b"a/xb"),
    (b"a/**/b", b"a/b", b"ab"),
    (b"x?**/b", b"xab/b", b"xa/y/b"),
    (b"foo**/bar", b"foo/x/bar", b"fo/bar"),
    (b"foo**/bar", b"foobar", b"x/foobar"),
    (b"a\\/b", b"a/b", b"x/a/b"),
    (b"**\\/b", b"a/b", b"b"),
    (b"[a/b]", b"a", b"x/a"),
    (b"x[!a]", b"xb", b"xa"),
    (b"x[^a]", b"xb", b"xa"),
    (b"x[]a]", b"x]", b"x"),
    (b"x[a-c]", b"xb", b"xd"),
    (b"x[a-]", b"x-", b"xb"),
    (b"x[[:digit:]_]", b"x7", b"xa"),
    (b"x[a[:digit:]-z]", b"x-", b"xm"),
    (b"x[\\]]", b"x]", b"x\\"),
    (b"\\#a", b"#a", b"\\#a"),
    (b"#a", None, b"#a"),
    (b"\\!a", b"!a", b"a"),
    (b"\\*", b"*", b"a"),
    (b"a  ", b"a", b"a  "),
    (b"a\\ ", b"a ", b"a"),
    (b"a\t", b"a\t", b"a"),
    (b"a\r\n", b"a", b"a\r"),
    (b"\xef\xbb\xbfa", b"a", b"\xef\xbb\xbfa"),
    (b"\xff*", b"\xff\xfe", b"\xc3"),
    ("é?".encode(), "éa".encode(), "éé".encode()),
    (b"[", None, b"["),
    (b"[a", None, b"a"),
    (b"a\\", None, b"a\\"),
    (b"[[:nope:]]", None, b"n"),
    (b"", None, b"a"),
    (b"/", None, b"a/"),
    (b"!", None, b"!"),
    (b"a//b", None, b"a/b"),
    (b"*\n!*.c", b"x.h", b"x.c"),
    (b"*.c\n!x.c\nx.c", b"x.c", b"y.h"),
    (b"/a\n!/a/b", b"a/b", b"b"),
    (b"/a/*\n!/a/b", b"a/c", b"a/b"),
    (b"/a/**\n!/a/b/", b"a/b/c", b"a/b/"),
    (b"/a/*\n!/a/b/", b"a/c", b"a/b/c"),
]


@pytest.mark.parametrize(("pattern", "inside", "outside"), LANGUAGE)
def test_a_pattern_means_what_it_means_to_git(pattern: bytes, inside: bytes | None, outside: bytes):
    """The .gitignore that a project already has must need no explanation to Backtrail."""
    assert inside is None or ignored(pattern, inside)
    assert not ignored(pattern, outside)


def test_a_deeper_file_outranks_a_shallower_one():
    """Who wrote the .gitignore next to the files knew best which of them matter."""
    files = {b"": (b"*.log\n", None), b"a": (b"!*.log\n", None), b"a/b": (b"x.log\n", None)}
    rules = FolderRules.for_root()
    assert excludes(rules, b"x.log", files)
    assert not excludes(rules, b"a/x.log", files)
    assert excludes(rules, b"a/b/x.log", files)
    assert not excludes(rules, b"a/b/y.log", files)


def test_anchors_in_a_deeper_file_are_bound_to_its_folder():
    """A package's `/dist` is its own dist, not its neighbour's."""
    files = {b"pkg": (b"/dist\nsrc/gen\n", None)}
    rules = FolderRules.for_root()
    assert excludes(rules, b"pkg/dist", files)
    assert excludes(rules, b"pkg/src/gen", files)
    assert not excludes(rules, b"pkg/x/dist", files)
    assert not excludes(rules, b"dist", files)


@pytest.mark.parametrize(
    ("own", "ours", "gits", "excluded"),
    [
        ((), None, None, True),
        ((), None, b"!*.pyc", False),
        ((), b"*.pyc", b"!*.pyc", True),
        ((), b"!*.pyc", b"*.pyc", False),
        (["*.pyc"], b"!*.pyc", None, True),
        (["!*.pyc"], b"*.pyc", b"*.pyc", False),
        ([b"!x.pyc", "/y/"], None, b"*.pyc", False),
    ],
)
def test_the_first_source_with_a_match_decides(
    own: list[str | bytes], ours: bytes, gits: bytes, excluded: bool
):
    """Workspace, .backtrailignore, .gitignore, defaults, in this order: the more deliberate word counts."""
    assert excludes(FolderRules.for_root(own), b"x.pyc", {b"": (gits, ours)}) is excluded


def test_a_backtrailignore_at_the_root_outranks_a_gitignore_further_down():
    """`!.env` at the top is a wish about Backtrail; the package's .gitignore spoke to git."""
    files = {b"": (None, b"!.env\n"), b"pkg": (b".env\n", None)}
    assert not excludes(FolderRules.for_root(), b"pkg/.env", files)


def test_names_that_no_rule_can_match_are_told_apart_at_once():
    """Nearly all names of a project: a look asks about the few others one by one."""
    rules = FolderRules.for_root().with_files(b"/out\n*.log\n", None)
    plain = [b"main.py", b"README", b"a.b.c", b"logs", b"\xff", b"x"]
    assert rules.suspects(plain) == []
    assert set(rules.suspects([*plain, b"out", b"x.log", b".git", b"left~"])) == {
        b"out",
        b"x.log",
        b".git",
        b"left~",
    }


def test_nothing_comes_back_from_inside_an_excluded_folder():
    """The crawl never enters it, so no rule about its content may pretend to work."""
    files = {b"": (b"/out\n", b"!/out/keep\n")}
    assert excludes(FolderRules.for_root(), b"out/keep", files)
    files = {b"": (b"/out\n", b"!/out\n/out/*\n!/out/keep\n")}
    assert not excludes(FolderRules.for_root(), b"out/keep", files)
    assert excludes(FolderRules.for_root(), b"out/other", files)


def test_git_folders_and_staged_restores_are_never_captured():
    """A repository inside the store would be torn, and half a restore must not become a checkpoint."""
    rules = FolderRules.for_root(["!.git", "!*", "!.backtrail-restore-1"], defaults=())
    rules = rules.with_files(b"!.git\n", b"!.git/\n!*\n")
    assert excludes(rules, b"nested/.git/")
    assert excludes(rules, b".git")  # the file that a worktree or a submodule has
    assert excludes(rules, b"src/.backtrail-restore-1/")
    assert not excludes(rules, b".GIT/")  # a lookalike is reported by the scanner, not silently left out
    assert not excludes(rules, b".gitignore")


@pytest.mark.parametrize(
    "pattern", ["", " ", "!", "/", "a\0b", "a\nb", "#note", "[a", "a\\", b"", "a//b", "[/]/x"]
)
def test_a_workspace_pattern_that_can_never_match_is_refused(pattern: str | bytes):
    """Somebody just typed it and believes that it excludes something."""
    with pytest.raises(UsageError) as caught:
        FolderRules.for_root(["*.ok", pattern])
    assert repr(pattern).strip("b'") in caught.value.message
    assert caught.value.message.endswith(".")
    assert caught.value.hint.endswith(".")


def test_a_workspace_pattern_may_hold_any_bytes():
    """File names are bytes, and the command line hands those that are not UTF-8 over as surrogates."""
    rules = FolderRules.for_root(["caf\udce9", "naïve", b"\xfe*"])
    assert excludes(rules, b"caf\xe9")
    assert excludes(rules, "x/naïve".encode())
    assert excludes(rules, b"\xfe\xff")


@pytest.mark.parametrize(
    "path",
    [
        b"web/node_modules/",
        b".venv/",
        b"env/lib/python3.12/site-packages/",
        b"a/__pycache__/",
        b"x.pyc",
        b".mypy_cache/",
        b"sub/.svn/",
        b".DS_Store",
        b"photos/Thumbs.db",
        b".main.c.swp",
        b"notes.txt~",
        b".#notes",
        b"#notes#",
        b"~$report.docx",
        b".nfs000000000012",
    ],
)
def test_what_tools_make_by_themselves_is_left_out(path: bytes):
    """An install of 50,000 files or a swap file is no change that anybody wants to go back to."""
    assert excludes(FolderRules.for_root(), path)


WORK = (
    "main.py Makefile Cargo.lock package-lock.json yarn.lock logo.png icon.svg dump.sql data.csv app.db .env"
)
WORK += (
    " .env.local .gitignore .backtrailignore .vscode/settings.json .idea/x.xml x.swf movie.swp notes.bak 4913"
)
WORK += " build/x dist/x out/x bin/x obj/x lib/x vendor/x target/x env/x tmp/x logs/x.log packages/x"
WORK += " coverage/x CVS/x deps/x x.o x.class x.tmp node_modules .github/x .clangd cache/x #x x# ~x"


@pytest.mark.parametrize("path", WORK.encode().split())
def test_what_may_be_somebodys_work_is_captured(path: bytes):
    """Storing some build output costs disk space; not storing work costs the work."""
    assert not excludes(FolderRules.for_root(), path)


def test_a_default_can_be_taken_back_in():
    """Somebody patches a dependency in place and wants that to be undoable."""
    files = {b"": (None, b"!node_modules/\n")}
    assert not excludes(FolderRules.for_root(), b"node_modules/left-pad/index.js", files)
    assert excludes(FolderRules.for_root(), b"node_modules/gyp/x.pyc", files)


def test_the_page_about_excludes_lists_exactly_the_defaults():
    """Whoever misses a file looks there first."""
    page = (Path(backtraild.__file__).parent / "EXCLUDES.md").read_bytes()
    section = page.split(b"\n## Left out by default")[1].split(b"\n## ")[0]
    rows = re.findall(rb"^\| (`.*?`) \| .{10,} \|$", section, re.MULTILINE)
    listed = [pattern for row in rows for pattern in re.findall(rb"`(.+?)`", row)]
    assert listed == list(DEFAULT_PATTERNS)
    for name in IGNORE_FILES:
        assert name in page


# Each comes close to the name of the test, up to its last byte, so that no shortcut spares the matcher.
HOSTILE = [
    b"*a" * 40 + b"*bb",
    b"*" + b"?a" * 100 + b"*bb",
    b"*[ab]" * 100 + b"bb",
    b"**/" + b"*a" * 40 + b"*bb/x",
    b"**/a*/" * 60 + b"b",
    b"/a*" * 60 + b"/**/a*a*a*a*a*a*a*a*a*bb" * 30,
    b"a**/" * 30 + b"b",
    b"**/" * 5000 + b"b",
    b"*" * 50_000 + b"bb",
    b"[a-z]" * 10_000,
]


@pytest.mark.timeout(30)  # a matcher that backtracks never comes to the assertion
@pytest.mark.parametrize("pattern", HOSTILE, ids=lambda pattern: pattern[:12].decode())
def test_no_pattern_makes_the_answer_slow(pattern: bytes):
    """A cloned project brings its .gitignore along; a backtracking matcher would stall the daemon."""
    name = b"a" * 254 + b"b"
    start = time.process_time()
    rules = FolderRules.for_root(defaults=()).with_files(pattern + b"\n" + b"x/" + pattern, None)
    for _ in range(60):
        assert not rules.excludes(name, is_folder=True)
        rules = rules.child(name)
    assert time.process_time() - start < 10  # seconds; measured: below 1


def test_the_rules_of_a_folder_stay_as_they_are():
    """A crawl keeps the rules of parents while it reads those of children."""
    root = FolderRules.for_root()
    changed = root.with_files(b"*.x\n/y\n", b"z\n")
    child = root.child(b"a").with_files(b"*.x\n", None)
    assert [root.excludes(name, is_folder=False) for name in (b"q.x", b"y", b"z")] == [False] * 3
    assert [changed.excludes(name, is_folder=False) for name in (b"q.x", b"y", b"z")] == [True] * 3
    assert child.excludes(b"q.x", is_folder=False)
    assert (root.folder, child.folder, child.child(b"b").folder) == (b"", b"a", b"a/b")
    assert root.with_files(None, None) is root


def test_a_long_ignore_file_is_understood_once_and_not_at_every_look():
    """A generated file of a hundred thousand lines would cost seconds for each checkpoint."""
    content = b"".join(b"generated-%d\n" % number for number in range(5_000))
    rules = FolderRules.for_root()
    first = rules.with_files(content, None)
    assert rules.with_files(bytes(bytearray(content)), None) is first
    assert first.excludes(b"generated-77", False)
    other = rules.with_files(content.replace(b"generated-77\n", b""), None)
    assert not other.excludes(b"generated-77", False)


def test_many_brackets_cost_little_more_than_many_letters():
    """Spelled out byte by byte, a class is twenty times as long as it looks, and so is the time to compile it."""

    def spent(atom: bytes, first: int) -> float:
        lines = [atom * 50 + b"%d*\n" % number for number in range(first, first + 200)]
        begun = time.thread_time()
        FolderRules.for_root().with_files(b"".join(lines), None)
        return time.thread_time() - begun

    # Each time with other rules: those of a large file are remembered.
    letters, brackets = (min(spent(atom, first) for first in (100, 300, 500)) for atom in (b"a?", b"[a-y]"))
    assert brackets < 8 * letters + 0.1, (letters, brackets)


@pytest.mark.parametrize("line", [b"a*%d*b", b"/x*%d*y", b"x/**/*[a-z]%d", b"*[!x]%d"])
def test_a_file_full_of_wildcards_is_refused_before_it_costs_hours(line: bytes):
    """Each name in the folder would be compared with tens of thousands of patterns, at every look."""
    content = b"\n".join(line % number for number in range(20_000))
    with pytest.raises(TooManyWildcards, match="65,536 characters of patterns with wildcards"):
        FolderRules.for_root().with_files(content, None)


def test_names_and_endings_are_never_too_many():
    """Generated files list tens of thousands of names; a table finds them, however many there are."""
    content = b"\n".join(b"generated-%d\n/out/%d\n*.x%d" % ((number,) * 3) for number in range(5_000))
    rules = FolderRules.for_root().with_files(content, None)
    assert rules.excludes(b"generated-4999", is_folder=False)
    assert rules.excludes(b"a.x4999", is_folder=False)
