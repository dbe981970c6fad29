"""The ignore rules against git itself: the same trees, the same .gitignore files, the same answers.

`BACKTRAIL_EXAMPLES=3000` in the environment makes the search for disagreements longer.
"""

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backtraild.ignore import FolderRules
from backtraild.ignore.tokens import CLASSES

EXAMPLES = int(os.environ.get("BACKTRAIL_EXAMPLES", "100"))

Files = Mapping[bytes, bytes]  # folder -> content of its .gitignore

# Names that the patterns below have a chance to hit: special characters, bytes that are not UTF-8, spaces.
NAMES = [b"a", b"b", b"ab", b"aab", b"foo", b"foobar", b"a.c", b"a b", b"a ", b"[", b"]", b"a]", b"*", b"a*b"]
NAMES += [b"\\", b"-", b"!a", b"#a", b"\xff", b"\xc3\xa9", b"A", b"1", b"a\nb", b"a\r", b"\t", b"^", b"a\\"]
NAMES += [b":", b".x", b"f**", b"foo-bar.c", b"~"]

FOLDERS = [b"a", b"foo", b"foobar", b"foobar/x", b"foobar/x/a", b"foo/a", b"foo/a/b", b"a/b", b"a/b/foo"]
FOLDERS += [b"a b", b"foo/ab", b"a/foo", b"many"]


class Arena:
    """A real folder with a real git beside it that is asked what it would ignore."""

    def __init__(self, top: Path) -> None:
        self.top = os.fsencode(top / "tree")
        (top / "tree").mkdir()
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(top),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        self.git("init", "-q")
        self.written: list[bytes] = []

    def git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        done = subprocess.run(
            ["git", *arguments], input=stdin, cwd=self.top, env=self.environment, capture_output=True
        )
        assert done.returncode in (0, 1), done.stderr  # 1 is check-ignore's "none of them"
        return done.stdout

    def make(self, paths: Iterator[bytes]) -> None:
        """Create files, and folders for the paths that end in a slash."""
        for path in paths:
            full = os.path.join(self.top, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            if not path.endswith(b"/"):
                with open(full, "wb"):
                    pass

    def write(self, files: Files) -> None:
        for old in self.written:
            os.unlink(old)
        self.written = [os.path.join(self.top, folder, b".gitignore") for folder in files]
        for path, content in zip(self.written, files.values(), strict=True):
            with open(path, "wb") as file:
                file.write(content)

    def crawl(self, files: Files) -> dict[bytes, bool]:
        """What our rules say about everything that a crawl gets to see: path -> excluded."""
        seen: dict[bytes, bool] = {}
        pending = [FolderRules.for_root(defaults=())]
        while pending:
            rules = pending.pop()
            rules = rules.with_files(files.get(rules.folder), None)
            for entry in os.scandir(os.path.join(self.top, rules.folder)):
                if entry.name == b".git":
                    continue
                is_folder = entry.is_dir(follow_symlinks=False)
                excluded = rules.excludes(entry.name, is_folder)
                assert not excluded or entry.name in rules.suspects([entry.name])
                seen[os.path.join(rules.folder, entry.name)] = excluded
                if is_folder and not excluded:
                    pending.append(rules.child(entry.name))
        return seen

    def compare(self, files: Files) -> int:
        """Assert that git agrees with us about every path of a crawl; how many there were."""
        self.write(files)
        seen = self.crawl(files)
        stdin = b"".join(b"./" + path + b"\0" for path in seen)  # without the ./, git takes a `:` for magic
        ignored = set(self.git("check-ignore", "--no-index", "-z", "--stdin", stdin=stdin).split(b"\0"))
        wrong = {path: excluded for path, excluded in seen.items() if excluded != (b"./" + path in ignored)}
        assert not wrong, f"ours (True: excluded), against git's opposite: {wrong} with {dict(files)}"
        return len(seen)


def tree() -> Iterator[bytes]:
    """Every name as a file in folders up to three deep, and as a folder in one place."""
    yield from (folder + b"/" for folder in FOLDERS)
    for folder in (b"", b"a/", b"foo/", b"foo/a/", b"a/b/", b"a/b/foo/", b"foobar/x/a/"):
        yield from (folder + name for name in NAMES if folder + name not in FOLDERS)
    yield from (b"many/" + name + b"/x" for name in NAMES)


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Arena:
    """One tree for all comparisons: only its .gitignore files change."""
    arena = Arena(tmp_path_factory.mktemp("arena"))
    arena.make(tree())
    return arena


PIECES = [b"a", b"b", b"foo", b"bar", b"x", b"*", b"**", b"***", b"?", b"/", b"**/", b"/**", b"/**/", b"\\/"]
PIECES += [
    b"**\\/",
    b"[",
    b"]",
    b"[a",
    b"[ab]",
    b"[!a]",
    b"[^a]",
    b"[a-c]",
    b"[]a]",
    b"[!]a]",
    b"[]-a]",
    b"[a-]",
]
PIECES += [
    b"[-a]",
    b"[a/b]",
    b"[!/]",
    b"[[:alpha:]]",
    b"[![:punct:]]",
    b"[[:space:]x]",
    b"[[:nope:]]",
    b"[[::]]",
]
PIECES += [
    b"[[:alpha:]-z]",
    b"[[:]",
    b"[[:a]",
    b"[[:]]",
    b"[\\]]",
    b"[\\\\]",
    b"[a-\\c]",
    b"[\\a-c]",
    b"[c-a]",
]
PIECES += [
    b"[a-[:digit:]]",
    b"[\x80-\xff]",
    b"[\xc3]",
    b"[!\n]",
    b"[\\",
    b"[a-",
    b"[a-c-x]",
    b"[!!]",
    b"[^^]",
]
PIECES += [
    b"\\",
    b"\\\\",
    b"\\*",
    b"\\?",
    b"\\[",
    b"\\a",
    b"\\ ",
    b" ",
    b"  ",
    b"!",
    b"\\!",
    b"#",
    b"\\#",
    b"-",
]
PIECES += [b"^", b":", b"\t", b"\r", b"\0", b"\xff", b"\xc3\xa9", b".", b"*.c", b"a*b", b"foo**", b"foo**/"]
PIECES += [b"\\/**/", b"a**", b"*[", b"f*o*b*r"]

lines = st.builds(
    lambda start, middle, end: start + b"".join(middle) + end,
    st.sampled_from([b"", b"", b"", b"!", b"/", b"**/", b"!/", b"foo/", b"a/"]),
    st.lists(st.sampled_from(PIECES) | st.sampled_from(NAMES), min_size=1, max_size=5),
    st.sampled_from([b"", b"", b"", b"/", b" ", b"/ ", b"/*", b"/**", b"\r"]),
)
contents = st.builds(
    lambda bom, lines, end: bom + b"\n".join(lines) + end,
    st.sampled_from([b"", b"", b"", b"\xef\xbb\xbf"]),
    st.lists(lines, min_size=1, max_size=6),
    st.sampled_from([b"", b"\n", b"\r\n", b"\r"]),
)
ignore_files = st.dictionaries(
    st.sampled_from([b"", b"a", b"foo", b"a/b", b"foo/a", b"foobar/x"]), contents, min_size=1, max_size=4
)


searching = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@searching
@given(files=ignore_files)
def test_git_agrees_about_any_ignore_files(arena: Arena, files: Files):
    """People know what their .gitignore means; if Backtrail reads it differently, work goes unsaved."""
    arena.compare(files)


@searching
@given(line=lines)
def test_git_agrees_about_any_single_pattern(arena: Arena, line: bytes):
    """Alone, a pattern cannot hide behind a later one; folders are taken back in, so the crawl goes on."""
    arena.compare({b"": b"*\n!*/\n" + line if line.startswith(b"!") else line + b"\n!*/\n"})


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_git_agrees_about_every_byte_of_a_character_class(tmp_path: Path, name: bytes):
    """`[[:space:]]` means what git's own tables say, not what the locale of the daemon says."""
    arena = Arena(tmp_path)
    arena.make(b"x" + bytes([byte]) for byte in range(1, 256) if byte != ord("/"))
    assert arena.compare({b"": b"x[[:" + name + b":]]\n"}) == 255  # and the .gitignore itself
    arena.compare({b"": b"x[![:" + name + b":]]\n"})


def test_git_agrees_that_a_link_to_a_folder_is_no_folder(tmp_path: Path):
    """`build/` must not hide a symlink called build: git tracks the link, and so do we."""
    arena = Arena(tmp_path)
    arena.make(iter([b"real/x", b"sub/real/x"]))
    os.symlink(b"real", os.path.join(arena.top, b"build"))
    assert arena.compare({b"": b"build/\n"}) == 7
    assert not arena.crawl({b"": b"build/\n"})[b"build"]


def test_thousands_of_paths_are_compared(arena: Arena):
    """A comparison of nothing with nothing would also find no disagreement."""
    assert arena.compare({b"": b"[a-f]*/**/*a\n!/foo/\n"}) > 100
    assert arena.compare({b"": b"*x\n"}) * EXAMPLES > 5000
