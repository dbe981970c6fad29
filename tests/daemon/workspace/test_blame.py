"""Where lines come from, compared with what git says about the same versions as commits."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtrail.errors import UnknownCheckpoint, UnknownPath, UsageError
from backtraild.workspace import Line
from support.git import git
from support.project import Project

LINES = [
    b"",
    b"a",
    b"b",
    b"}",
    b"    {",
    b"    x",
    b"        y",
    b"\tz",
    b"return",
    b"\xff\xfe",
    b"caf\xc3\xa9\r",
]
Files = dict[str, bytes]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project(tmp_path) as project:
        yield project


def blamed(project: Project, path: str, at: str | None = "@") -> list[tuple[str, int | None]]:
    """Text and number, line by line."""
    return [(line.text, line.origin and line.origin.checkpoint) for line in blame(project, path, at)]


def blame(project: Project, path: str, at: str | None = "@") -> list[Line]:
    return project.workspace.blame(path.encode(), at)


def edited(rng: random.Random, content: bytes, length: int) -> bytes:
    """Some lines inserted, deleted, changed, doubled or moved; sometimes the end of the last one."""
    lines = content.split(b"\n")
    for _ in range(rng.randrange(1, 5)):
        at, size = rng.randrange(len(lines) + 1), rng.randrange(1, 4)
        block = lines[at : at + size]
        del lines[at : at + rng.choice([0, size])]
        at = rng.randrange(len(lines) + 1)
        lines[at:at] = rng.choice([[], block, rng.choices(LINES, k=size)])
    lines = lines[:length] or [b""]
    return b"\n".join(lines) + rng.choice([b"", b"", b"\n"])


def histories(rng: random.Random, files: int, length: int) -> Iterator[Files]:
    """States of a folder in which every file lives a life of its own; sometimes one is renamed."""
    state = {f"{number}.txt": b"\n".join(rng.choices(LINES, k=20)) + b"\n" for number in range(files)}
    yield dict(state)
    for step in range(length):
        for name in rng.sample(sorted(state), files // 2):
            state[name] = edited(rng, state[name], 60)
        if step % 4 == 3:
            name = rng.choice(sorted(state))
            # Unlike any other file, so that nobody can take another one for its origin.
            state[name] += b"%d\n" % step
            yield dict(state)
            state[f"{step}-{name}"] = state.pop(name)
        yield dict(state)


def put(project: Project, files: Files) -> None:
    """Make the folder hold exactly these files."""
    for path in project.root.iterdir():
        path.unlink()
    for name, content in files.items():
        project.write(name, content)


def commit_all(repository: Path, states: list[Files]) -> list[str]:
    """The same states as commits, in one stream; their ids, oldest first."""
    stream = []
    for number, files in enumerate(states, 1):
        stream.append(
            b"commit refs/heads/main\nmark :%d\ncommitter t <t@example.org> %d +0000\n" % (number, number)
        )
        stream.append(b"data 0\n")
        stream.append(b"deleteall\n")
        stream += [
            b"M 644 inline %s\ndata %d\n%s\n" % (name.encode(), len(text), text)
            for name, text in files.items()
        ]
    git("init", "-q", "-b", "main", repository)
    git("fast-import", "--quiet", cwd=repository, input=b"".join(stream))
    return git("rev-list", "--reverse", "main", cwd=repository).decode().split()


def blamed_by_git(repository: Path, path: str, ids: list[str]) -> list[tuple[str, int]]:
    """What git says, with the place of a commit in the line as its number."""
    found, number = [], 0
    for line in git("blame", "--line-porcelain", "main", "--", path, cwd=repository).split(b"\n"):
        if line.startswith(b"\t"):
            found.append((line[1:].decode(errors="replace"), number))
        elif line[:40].decode(errors="replace") in ids:
            number = ids.index(line[:40].decode()) + 1
    return found


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_line_has_the_origin_that_git_gives_it(project: Project, tmp_path: Path, seed: int):
    """People know `git blame`; another answer to the same question would be a wrong one."""
    print(f"seed {seed}")
    states = list(histories(random.Random(seed), 24, 12))
    for state in states:
        put(project, state)
        project.save(allow_empty=True)
    ids = commit_all(tmp_path / "peer", states)

    for path in states[-1]:
        assert blamed(project, path) == blamed_by_git(tmp_path / "peer", path, ids), path


def test_a_line_names_the_session_and_the_turn_that_wrote_it(project: Project):
    """Two agents work in one folder: whose line is this, and what was it asked for?"""
    project.write("a.txt", b"mine\n")
    first = project.workspace.start()
    project.write("a.txt", b"mine\nhers\n")
    second = project.save(session="s1", turn=7)

    mine, hers = blame(project, "a.txt")

    assert mine.origin is not None
    assert (mine.origin.session, mine.origin.turn, mine.origin.timestamp) == (None, None, first.timestamp)
    assert hers.origin is not None
    assert (hers.origin.session, hers.origin.turn, hers.origin.timestamp) == ("s1", 7, second.timestamp)


def test_a_file_can_be_asked_about_as_it_was_and_as_it_is_on_the_disk(project: Project):
    """The question comes up in an editor, before anything is saved, or for the version that still worked."""
    project.write("a.txt", b"one\ntwo\n")
    project.workspace.start()
    project.write("a.txt", b"zero\none\ntwo\n")
    project.save()
    project.write("a.txt", b"zero\nunsaved\ntwo\n")
    project.write("new.txt", b"new\n")

    assert blamed(project, "a.txt", "1") == [("one", 1), ("two", 1)]
    assert blamed(project, "a.txt") == [("zero", 2), ("one", 1), ("two", 1)]
    assert blamed(project, "a.txt", None) == [("zero", 2), ("unsaved", None), ("two", 1)]
    assert blamed(project, "new.txt", None) == [("new", None)]
    with pytest.raises(UnknownPath):
        blame(project, "new.txt")
    (project.root / "a.txt").unlink()
    with pytest.raises(UnknownPath):
        blame(project, "a.txt", None)
    assert len(project.save().files_changed) == 2  # asking has swallowed nothing


def test_lines_outlive_deleted_checkpoints(project: Project):
    """A line of a checkpoint that is gone belongs to the next one that has it."""
    for number in range(1, 7):
        project.write("a.txt", b"".join(b"%d\n" % each for each in range(1, number + 1)))
        project.save()
    for number in ("1", "3", "4"):
        project.workspace.delete(number)

    assert blamed(project, "a.txt") == [("1", 2), ("2", 2), ("3", 5), ("4", 5), ("5", 5), ("6", 6)]


def test_what_was_no_text_for_a_while_begins_anew(project: Project):
    """A version without lines has none to pass on, and must not make the question fail."""
    large = b"large\n" * 1_000_000
    contents = [b"a\n", b"\0a\n", b"a\nb\n", large, b"a\nb\nc\n", b"", b"c\n"]
    for content in contents:
        project.write("a.txt", content)
        project.save()

    assert blamed(project, "a.txt") == [("c", 7)]
    assert blamed(project, "a.txt", "5") == [("a", 5), ("b", 5), ("c", 5)]
    assert blamed(project, "a.txt", "3") == [("a", 3), ("b", 3)]
    assert blamed(project, "a.txt", "6") == []
    for at, sentence in (("2", "not text"), ("4", "6,000,000 bytes")):
        with pytest.raises(UsageError, match=sentence):
            blame(project, "a.txt", at)


def test_bytes_that_are_no_text_are_shown_and_marked(project: Project):
    """One line in an old encoding does not hide the others; nobody shall copy it as if it were exact."""
    project.write("a.txt", b"caf\xe9\ncaf\xc3\xa9\r\nlast")
    project.workspace.start()

    found = blame(project, "a.txt")

    assert [(line.text, line.exact) for line in found] == [
        ("caf\N{REPLACEMENT CHARACTER}", False),
        ("café\r", True),
        ("last", True),
    ]


def test_what_has_no_lines_is_refused(project: Project):
    """A sentence, not an empty answer."""
    project.write("folder/a.txt")
    (project.root / "link").symlink_to("folder/a.txt")
    project.workspace.start()

    for path, what in (("folder", "a folder"), ("link", "a symlink"), ("nothing", "nothing")):
        for at in ("@", None):
            with pytest.raises(UnknownPath, match=what):
                blame(project, path, at)
    with pytest.raises(UnknownCheckpoint):
        blame(project, "folder/a.txt", "99")
