"""A conversation on the full screen of a real terminal: looked at, edited, taken back."""

import json
from collections.abc import Iterator

import pytest

from backtrail.client import Client
from support.commands import COMMAND, Shell, shell_in
from support.terminal import Terminal, terminal

UP, SPACE, ENTER, ESCAPE = "\x1bOA", " ", "\r", "\x1b"


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with shell_in(tmp_path_factory.mktemp("cli")) as found:
        found.write("app.py", "turn 0\n")
        found("watch")
        editor = found.folder / "editor"
        editor.write_text('#!/bin/sh\nstat -c %a "$1" > "$HOME/mode"\nprintf "but quickly\\n" >> "$1"\n')
        editor.chmod(0o755)
        found.environment["EDITOR"] = str(editor)
        yield found


def talk(shell: Shell, name: str) -> None:
    """Three turns, each of which changes a file and brings one."""
    with Client(home=shell.home, autostart=False) as client:
        session = client.workspace(shell.root).session(name)
        said = []
        for number in (1, 2, 3):
            shell.write("app.py", f"turn {number}\n")
            shell.write(f"{name}-{number}.py")
            said += [
                {"role": "user", "content": f"please {number}"},
                {"role": "assistant", "content": f"answered-{number}"},
            ]
            session.save(turn=number, prompt=f"please {number}", conversation=said)


def browsing(shell: Shell, *words: str, columns: int = 80, **environment: str) -> Terminal:
    """A script that calls the command, keeps its result, and looks at the terminal before and after it."""
    command = " ".join([*COMMAND, "session", "browse", *words])
    script = f"trap : INT; stty -g > ../before; {command} > ../out; echo $? > ../status; stty -g > ../after; echo over"
    (shell.folder / "out").unlink(missing_ok=True)
    return Terminal(["sh", "-c", script], shell.root, {**shell.environment, **environment}, columns=columns)


def outcome(shell: Shell) -> tuple[str, str]:
    """The exit status and what was printed; the terminal has to be as it was."""
    assert left(shell, "after") == left(shell, "before")
    return left(shell, "status").strip(), left(shell, "out")


def left(shell: Shell, name: str) -> str:
    return (shell.folder / name).read_text()


def test_a_message_is_edited_and_the_files_are_those_of_before_it(shell: Shell) -> None:
    """The whole way: open, choose, look, edit, agree; the prompt goes on to whoever called."""
    talk(shell, "edited")
    with browsing(shell, "edited") as person:
        person.wait_for("leave")
        person.type(UP)
        person.type(SPACE)
        person.wait_for("answered-2")
        assert "answered-1" not in person.shown
        person.type(ESCAPE)
        person.wait_for("checkpoints 2")
        person.type(ENTER)
        person.wait_for("2 files will be deleted")
        person.wait_for("edited-3.py")
        assert (shell.root / "app.py").read_text() == "turn 3\n", "nothing is done before a yes"
        person.type("y")
        person.wait_for("Went back to before turn 2: 1 file written, 2 files deleted, 4 messages")
        person.type(ENTER)
        person.wait_for("over")
    assert outcome(shell) == ("0", "please 2\nbut quickly\n")
    assert (shell.root / "app.py").read_text() == "turn 1\n"
    assert sorted(path.name for path in shell.root.glob("edited-*")) == ["edited-1.py"]
    assert left(shell, "mode") == "600\n"


def test_going_back_is_undone_with_one_key_and_then_nothing_is_printed(shell: Shell) -> None:
    """A wrapper must not send a prompt whose edit was dropped."""
    talk(shell, "undone")
    with browsing(shell, "undone") as person:
        person.wait_for("leave")
        person.type(UP)
        person.type(ENTER)
        person.wait_for("restored")
        person.type(ENTER)
        person.wait_for("Went back")
        assert (shell.root / "app.py").read_text() == "turn 1\n"
        person.type("u")
        person.wait_for("3 files as before")
        person.type(ESCAPE)
        person.wait_for("over")
    assert outcome(shell) == ("0", "")
    assert (shell.root / "app.py").read_text() == "turn 3\n"


def test_files_that_change_before_the_yes_are_looked_at_again(shell: Shell) -> None:
    """What was agreed to is done, or nothing; --json has the prompt with all that was done."""
    talk(shell, "changed")
    with browsing(shell, "changed", "--json") as person:
        person.wait_for("leave")
        person.type(ENTER)
        person.wait_for("1 file will be deleted")
        shell.write("app.py", "changed by hand\n")
        shell.write("changed-late.py")
        person.type("y")
        person.wait_for("changed meanwhile")
        assert (shell.root / "app.py").read_text() == "changed by hand\n"
        person.type("y")
        person.wait_for("Went back")
        person.type("q")
        person.wait_for("over")
    status, printed = outcome(shell)
    assert status == "0"
    result = json.loads(printed)
    assert result["prompt"] == "please 3\nbut quickly"
    assert sorted(result["rewind"]["deleted"]) == ["changed-3.py", "changed-late.py"]


def test_looking_or_saying_no_changes_and_prints_nothing(shell: Shell) -> None:
    """Escape is the way out of everything; what was typed is there if one edits again."""
    talk(shell, "looked")
    with browsing(shell, "looked", columns=40) as person:
        person.wait_for("leave")
        for times in (1, 2):
            person.shown = ""
            person.type(ENTER)
            person.wait_for("as it is")
            assert person.shown.count("but quickly") == times
            person.type(ESCAPE)
            person.wait_for("Nothing was changed.")
        person.type(ESCAPE)
        person.wait_for("over")
    assert outcome(shell) == ("0", "")
    assert (shell.root / "looked-3.py").exists()


def test_a_window_that_grows_is_filled_and_a_poor_locale_has_its_signs(shell: Shell) -> None:
    """A container has the C locale, and a window manager has its own ideas of size."""
    talk(shell, "resized")
    with browsing(shell, "resized", columns=40, LC_ALL="C") as person:
        person.wait_for("→")
        assert "2 files" not in person.shown
        person.resize(90, 30)
        person.wait_for("2 files")
        person.type("q")
        person.wait_for("over")
    assert outcome(shell) == ("0", "")


def test_ctrl_c_leaves_the_terminal_as_it_was(shell: Shell) -> None:
    """A terminal without echo looks broken."""
    talk(shell, "interrupted")
    with browsing(shell, "interrupted") as person:
        person.wait_for("leave")
        person.type("\x03")
        person.wait_for("Interrupted.")
        person.wait_for("over")
    assert outcome(shell) == ("130", "")


def test_without_a_terminal_it_says_what_to_use_instead(shell: Shell) -> None:
    """A program that calls it would wait for ever."""
    failed = shell("session", "browse", "fix-login", status=2)
    assert "needs a terminal" in failed.err
    assert "backtrail session show fix-login" in failed.err


def test_a_terminal_that_can_not_move_its_cursor_is_refused(shell: Shell) -> None:
    """An editor's built-in terminal says that it is dumb."""
    talk(shell, "dumb")
    with terminal(shell, "session", "browse", "dumb", TERM="dumb") as person:
        assert person.end() == 2
    assert "“dumb” can't show a full screen" in person.shown


def test_a_daemon_that_is_gone_is_told_on_the_screen_and_after_leaving(shell: Shell) -> None:
    """The screen stays, and the exit status says that something failed."""
    talk(shell, "lost")
    with browsing(shell, "lost", "--no-autostart") as person:
        person.wait_for("leave")
        shell.end()
        person.type(SPACE)
        person.wait_for("daemon")
        person.type(ESCAPE)
        person.wait_for("over")
        assert "error" in person.shown
    assert outcome(shell) == ("10", "")
