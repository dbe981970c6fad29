"""Texts from anywhere, made harmless and measured."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backtrail.cli.characters import cut, cut_start, pad, pad_start, visible, width, wrapped

TELLING = "ab /\\\n\t\x1b\x9b\u202e\u200d\ufe0f\u0301日👍🏽🇨❤\udce9"
ANY_TEXT = st.lists(st.one_of(st.sampled_from(TELLING), st.integers(0, 0x10FFFF).map(chr)), max_size=40).map(
    "".join
)


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("two\nlines\r\ttab", "two\\nlines\\r\\ttab"),
        ("\x9b31m", "\\x9b31m"),
        ("cod\u202egpj.exe", "cod\\u202egpj.exe"),
        ("\u2066a\u2069\u200f\u061c", "\\u2066a\\u2069\\u200f\\u061c"),
        ("a\u2028b\x85c", "a\\u2028b\\x85c"),
        ("caf\udce9", "caf\\udce9"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_what_would_steer_the_terminal_is_written_out(hostile: str, shown: str) -> None:
    """A file name must not be able to clear my screen or pretend to be another file."""
    assert visible(hostile) == shown


@pytest.mark.parametrize(
    "text", ["naïve.txt", "日本語", "👩‍👩‍👧 family", "می‌خواهم", "a\u3000b\xa0c", "\ue0b0"]
)
def test_every_script_and_emoji_stays_as_it_is(text: str) -> None:
    """My language is no attack."""
    assert visible(text) == text


def test_a_tab_can_be_kept() -> None:
    """Code in a diff is indented."""
    assert visible("\ta\x1b", keep="\t") == "\ta\\x1b"


@given(ANY_TEXT)
def test_nothing_that_is_shown_controls_anything(text: str) -> None:
    """Whatever the name, not one control or direction character comes through."""
    kinds = {unicodedata.category(char) for char in visible(text) if char not in "\u200c\u200d"}
    assert not kinds & {"Cc", "Cf", "Cs", "Zl", "Zp"}


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("plain", 5),
        ("日本", 4),
        ("e\u0301", 1),
        ("👍", 2),
        ("👍🏽", 2),
        ("👩‍👩‍👧", 2),
        ("❤️", 2),
        ("🇨🇭", 2),
        ("한국", 4),
        ("\u1112\u1161\u11ab", 2),
        ("", 0),
    ],
)
def test_columns_are_counted_as_a_terminal_draws_them(text: str, columns: int) -> None:
    """A list with one Japanese name in it is still aligned."""
    assert width(text) == columns


@given(ANY_TEXT.map(visible), st.integers(1, 30))
@example("日\ufe0fab", 3)  # what changes the character before it must not change the mark
def test_what_is_cut_fits_and_says_so(text: str, room: int) -> None:
    """No row is longer than the terminal is wide."""
    for shorter in (cut(text, room), cut_start(text, room)):
        assert width(shorter) <= room
        assert (shorter == text) == (width(text) <= room)
        assert shorter == text or "…" in shorter


def test_a_message_keeps_its_beginning_and_a_path_its_end() -> None:
    """The start of a sentence tells most, and so does the name of a file."""
    assert cut("before the refactoring", 10) == "before th…"
    assert cut_start("src/deep/down/app.py", 10) == "…wn/app.py"
    assert cut("日本語日本語", 6) == "日本…"
    assert cut_start("日本語日本語", 6) == "…本語"


def test_padding_counts_columns() -> None:
    """Columns after a wide name are where they are after a narrow one."""
    assert pad("日本", 6) == "日本  "
    assert pad_start("日本", 6) == "  日本"
    assert pad("longer than that", 3) == "longer than that"


def test_a_long_sentence_is_broken_at_spaces() -> None:
    """A reason of two lines is read more easily than one that the terminal breaks anywhere."""
    assert wrapped("the limit of watches is reached", 12) == ["the limit of", "watches is", "reached"]
    assert wrapped("see https://example.org/long now", 8) == ["see", "https://example.org/long", "now"]
