"""Patterns from the configuration: found where they should be, and refused if they could take for ever."""

import json
from pathlib import Path
from time import thread_time

import pytest

from backtrail.errors import UsageError
from backtraild.config import RedactionConfig, read_redaction
from backtraild.redaction import Redactor


def test_a_pattern_of_ones_own_is_found_and_counted():
    """Every company has tokens that nobody else knows."""
    line, counts = Redactor([r"acme-[0-9]{6}"]).line(b'{"a": "id acme-123456.", "b": "acme-12"}')
    assert line == b'{"a": "id [REDACTED:custom].", "b": "acme-12"}'
    assert counts == {"custom": 1}


@pytest.mark.parametrize("pattern", [r"acme.+", r"acme[^x]+", r'"a": "acme', r"u004", r"n\\"])
def test_a_pattern_that_runs_over_quotes_and_escapes_leaves_json(pattern: str):
    """Patterns are written with plain text in mind."""
    raw = b'{"a": "acme\\n\\"1\\"", "b": ["acme\\\\", 2, "c\\u0041d"], "c": 3}'
    line, _ = Redactor([pattern]).line(raw)
    assert line != raw
    assert type(json.loads(line)) is dict


def test_a_match_is_found_in_the_middle_of_a_long_line():
    """Lines are searched in pieces, and a secret may lie on the seam."""
    for at in (500, 1020, 1530, 99_990):
        raw = b" " * at + b"acme-" + b"7" * 200 + b" " * 2000
        line, counts = Redactor([r"acme-7{200}"]).line(raw)
        assert b"acme-" not in line
        assert counts == {"custom": 1}


@pytest.mark.parametrize(
    "pattern",
    ["(", "[a-", r"(a+)+b", r"(a|aa)*b", r"((a?)b*)+", r"(?:x{1,9}y){2,}", ".*", "a*", r".*.*.*.*x", ""],
)
def test_a_pattern_that_is_wrong_or_could_take_for_ever_is_refused_by_name(pattern: str):
    """One bad pattern would stop the daemon at the first long line."""
    with pytest.raises(UsageError) as caught:
        Redactor([pattern])
    assert repr(pattern) in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    "pattern", [r"acme_[a-z0-9]+", r"(?:[0-9]{4}-){3}[0-9]{4}", r"(?i)corp[+*]\w{3,8}", r"[(+)]+x"]
)
def test_ordinary_patterns_are_taken(pattern: str):
    """The check must not be in the way."""
    Redactor([pattern])


def test_a_pattern_is_bounded_on_a_hostile_line():
    """A quadratic pattern on a megabyte of one letter would take an hour."""
    redactor = Redactor([r"\w+!"])
    begun = thread_time()
    redactor.line(b"a" * 100_000)
    assert thread_time() - begun < 5


def written(folder: Path, text: str) -> Path:
    file = folder / "config.toml"
    file.write_text(text)
    return file


def test_redaction_is_on_without_a_word_about_it(tmp_path: Path):
    """Nobody should have to ask for it."""
    assert read_redaction(tmp_path / "config.toml") == RedactionConfig(enabled=True, patterns=())


def test_the_table_in_the_configuration_is_read(tmp_path: Path):
    """What is documented must have an effect."""
    text = "quiet = 1\n[redaction]\nenabled = false\npatterns = ['acme-[0-9]{6}']\n"
    assert read_redaction(written(tmp_path, text)) == RedactionConfig(False, ("acme-[0-9]{6}",))


@pytest.mark.parametrize("line", ["patterns = ['(a+)+']", "patterns = 'a'", "enable = true"])
def test_a_table_that_cannot_be_used_is_refused_with_the_name_of_the_file(tmp_path: Path, line: str):
    """A typo must not switch redaction off in silence."""
    with pytest.raises(UsageError, match=r"config\.toml"):
        read_redaction(written(tmp_path, f"[redaction]\n{line}\n"))
