"""Paths as text: every file name survives the way through JSON, and ordinary ones are left alone."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backtrail.pathtext import from_text, to_text

paths = st.binary().filter(lambda path: b"\0" not in path)


@given(path=paths)
@example(path=b'"')
@example(path=b'""')
@example(path=b'"a"')
@example(path=b'\\"')
@example(path=b"\\351")
@example(path=b'"\\351"')
@example(path=b"\xff\\")
@example(path=b'\xff"')
@example(path="\U0001f600".encode())
@example(path=b"\xed\xa0\x80")
def test_every_name_comes_back_as_it_was(path: bytes) -> None:
    """A file that cannot be named cannot be restored."""
    assert from_text(to_text(path)) == path


@given(path=paths)
def test_the_text_form_is_proper_text_and_survives_json(path: bytes) -> None:
    """Lone surrogates, Python's own way out, break JSON readers in other languages."""
    text = to_text(path)
    assert text.encode().decode() == text
    assert from_text(json.loads(json.dumps(text))) == path


@given(path=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_only_what_needs_a_mark_is_marked(path: str) -> None:
    """Names in UTF-8 look the same everywhere; quotes appear only where they mean something."""
    text = to_text(path.encode())
    assert (text == path) == (not path.startswith('"'))


@given(one=paths, two=paths)
def test_two_names_never_look_the_same(one: bytes, two: bytes) -> None:
    """Otherwise restoring one of them might bring back the other."""
    assert (to_text(one) == to_text(two)) == (one == two)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (b"src/app.py", "src/app.py"),
        ("caf\u00e9.txt".encode(), "caf\u00e9.txt"),
        (b"caf\xe9.txt", '"caf\\351.txt"'),
        (b'"quoted"', '"\\042quoted\\042"'),
        (b'say "hi"', 'say "hi"'),
        (b"back\\slash", "back\\slash"),
        (b"", ""),
    ],
)
def test_the_text_form_is_the_one_that_is_documented(path: bytes, text: str) -> None:
    """Editors and scripts in other languages decode it by this rule."""
    assert to_text(path) == text
    assert from_text(text) == path


def test_escapes_as_git_writes_them_are_read_too() -> None:
    """People paste what `git status` printed."""
    assert from_text('"say \\"hi\\" \\\\ \\303\\251"') == 'say "hi" \\ \u00e9'.encode()
