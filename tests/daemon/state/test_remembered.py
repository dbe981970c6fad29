"""What is remembered of a table, so that it need not be asked again, is never more than what the table holds."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtraild.model import Skipped, SkipReason
from backtraild.state import Database, Skips

LEFT = Skipped(b"folder/pipe", 0, SkipReason.SPECIAL_FILE)


class GivenUp(Exception):
    """Ends a look."""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(str(tmp_path / "state.db"))
    yield opened
    opened.close()


def test_a_value_of_a_transaction_that_failed_is_the_one_before_it(database: Database):
    """A save that failed must not make the next one believe that its tree is in the store."""
    database.remember("tree", "old")
    with contextlib.suppress(GivenUp), database.transaction():
        database.remember("tree", "new")
        assert database.fact("tree") == "new"
        raise GivenUp
    assert database.fact("tree") == "old"


def test_a_value_that_a_failed_transaction_let_go_of_is_there_again(database: Database):
    """The folder of a workspace is still known after an attempt to forget it."""
    database.remember("root", "1:2")
    with contextlib.suppress(GivenUp), database.transaction():
        database.forget("root")
        assert database.fact("root") is None
        raise GivenUp
    assert database.fact("root") == "1:2"


def test_what_is_left_out_after_a_look_that_left_nothing_out_is_told(database: Database):
    """That there was nothing to tell is no reason to stay silent later."""
    skips = Skips(database)
    skips.replace(b"", [])
    assert skips.all() == []
    skips.replace_all([LEFT.path], [LEFT])
    assert skips.all() == [LEFT]
    skips.replace_all([b"folder"], [])
    assert skips.all() == []


def test_a_look_that_is_given_up_changes_nothing_of_what_is_left_out(database: Database):
    """A diff looks at everything and leaves no trace of it."""
    skips = Skips(database)
    skips.replace(b"", [LEFT])
    with contextlib.suppress(GivenUp), database.transaction():
        skips.replace(b"", [])
        raise GivenUp
    assert skips.all() == [LEFT]
    skips.replace(b"", [])
    with contextlib.suppress(GivenUp), database.transaction():
        skips.replace_all([LEFT.path], [LEFT])
        raise GivenUp
    assert skips.all() == []
    assert skips.count() == 0
