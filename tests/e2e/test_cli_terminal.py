"""The commands on a real terminal: questions, progress, the pager, colours."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import Shell, shell_in
from support.terminal import terminal


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with shell_in(tmp_path_factory.mktemp("cli")) as found:
        found.write("a.txt", "one\n")
        found("watch")
        yield found


@pytest.mark.parametrize(
    ("typed", "status", "left"), [("y\n", 0, "one\n"), ("n\n", 13, "two\n"), ("\x04", 13, "two\n")]
)
def test_a_restore_shows_its_plan_and_waits_for_an_answer(
    shell: Shell, typed: str, status: int, left: str
) -> None:
    """Only a clear yes changes files; no, Enter and the end of the input do not."""
    shell.write("a.txt", "one\n")
    shell.save("before")
    file = shell.write("a.txt", "two\n")
    with terminal(shell, "restore", "@") as person:
        person.wait_for("[y/N]")
        assert "a.txt" in person.shown
        assert file.read_text() == "two\n"
        person.type(typed)
        assert person.end() == status
        assert ("backtrail undo" in person.shown) == (status == 0)
        assert ("Nothing was changed." in person.shown) == (status != 0)
    assert file.read_text() == left


def test_what_was_agreed_to_is_restored_even_if_its_name_means_another_one_by_then(shell: Shell) -> None:
    """While a person thinks, checkpoints go on: `@` is not what it was when the question was asked."""
    shell.write("a.txt", "agreed\n")
    shell.save("agreed")
    file = shell.write("a.txt", "later\n")
    with terminal(shell, "restore", "@") as person:
        person.wait_for("[y/N]")
        shell.save("a newer newest")
        person.type("y\n")
        assert person.end() == 0
    assert file.read_text() == "agreed\n"


def test_ctrl_c_at_the_question_changes_nothing(shell: Shell) -> None:
    """It is the quickest no there is."""
    shell.write("a.txt", "one\n")
    shell.save("before")
    file = shell.write("a.txt", "two\n")
    with terminal(shell, "restore", "@") as person:
        person.wait_for("[y/N]")
        person.type("\x03")
        assert person.end() == 130
    assert file.read_text() == "two\n"


def test_purging_asks(tmp_path: Path) -> None:
    """The number of checkpoints that would be lost is in the question."""
    with shell_in(tmp_path) as shell:
        shell("watch")
        with terminal(shell, "unwatch", "--purge") as person:
            person.wait_for(f"Delete 1 checkpoint of {shell.root} for ever? [y/N]")
            person.type("no\n")
            assert person.end() == 13
        store = Path(shell("status", "--json").json["store"])
        with terminal(shell, "unwatch", "--purge") as person:
            person.wait_for("[y/N]")
            person.type("yes\n")
            assert person.end() == 0
        assert not store.exists()


def test_a_baseline_shows_how_far_it_is_and_leaves_no_trace_of_that(tmp_path: Path) -> None:
    """A large folder takes a while; a silent terminal looks broken."""
    with shell_in(tmp_path) as shell:
        for number in range(4_000):
            shell.write(f"{number % 40}/{number}.txt", f"{number}\n")
        with terminal(shell, "watch") as person:
            assert person.end() == 0
        assert "Taking the baseline" in person.shown
        last = person.shown.rpartition("\x1b[K")[2]
        assert last.startswith("Watching")
        assert "4,000 files" in last
        shell("unwatch", "--purge", "--yes")
        with terminal(shell, "watch", "--quiet") as person:
            assert person.end() == 0
        assert person.shown.startswith("Watching")


def test_a_long_diff_goes_through_the_pager_that_was_chosen(shell: Shell) -> None:
    """And a short one does not."""
    shell.write("long.txt", "".join(f"line {number}\n" for number in range(100)))
    with terminal(shell, "diff", BACKTRAIL_PAGER="sed 's/^/paged: /'") as person:
        assert person.end() == 0
    assert "paged: " in person.shown
    assert "\x1b[32m+line 99" in person.shown
    with terminal(shell, "diff", "--stat", BACKTRAIL_PAGER="sed 's/^/paged: /'", NO_COLOR="1") as person:
        assert person.end() == 0
    assert "paged" not in person.shown
    assert "\x1b" not in person.shown
    (shell.root / "long.txt").unlink()
