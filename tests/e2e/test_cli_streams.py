"""Where output goes when it has nowhere to go: closed pipes, full disks, closed streams, old character sets."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import COMMAND, Shell, shell_in
from support.watching import eventually


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with shell_in(tmp_path_factory.mktemp("cli")) as found:
        found("watch")
        found.write("large", "line of text\n" * 50_000)
        found.write("grüße.txt", "…\n")
        found.save("größer")
        yield found


def test_a_reader_that_has_seen_enough_is_no_error_to_talk_about(shell: Shell) -> None:
    """`backtrail diff | head -1` must not end in a traceback; the shell sees what it sees of other programs."""
    process = shell.start("show", "@:large")
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.read(4) == b"line"
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(30) == 141
    process.stderr.close()


def test_a_full_disk_is_told(shell: Shell) -> None:
    """An empty file must not look like an empty result."""
    with open("/dev/full", "wb") as full:
        process = shell.start("list", stdout=full)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert err.decode().startswith("error: The result could not be written: No space left on device.")


def test_closed_streams_are_no_bug(shell: Shell) -> None:
    """Some programs close what they do not use before they start others."""
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *COMMAND, "list"], cwd=shell.root, env=shell.environment
    )
    assert done.returncode == 0
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *COMMAND, "restore", "1"],
        cwd=shell.root,
        env=shell.environment,
    )
    assert done.returncode == 13


def test_an_old_character_set_gets_what_it_can_show(shell: Shell) -> None:
    """A name that can't be shown must not keep a list from being shown; JSON is UTF-8 everywhere."""
    text = shell("list", PYTHONIOENCODING="ascii")
    assert b"gr??er" in text.out
    assert shell("list", "--json", PYTHONIOENCODING="ascii").json["checkpoints"][0]["message"] == "größer"


def test_colour_is_for_terminals_unless_it_is_asked_for(shell: Shell) -> None:
    """Escape sequences in a file are rubbish; NO_COLOR is a wish, --color=always an order."""
    assert b"\x1b" not in shell("list").out
    assert b"\x1b" in shell("list", "--color=always", NO_COLOR="1").out
    assert b"\x1b" in shell("list", "--colour", "always").out


def test_quiet_leaves_the_result_and_the_errors(shell: Shell) -> None:
    """A script may want nothing on stderr, as long as nothing goes wrong."""
    assert "Baseline" in shell("--quiet", "list").text
    assert "no checkpoint" in shell("--quiet", "show", "9999", status=12).err


def test_a_deleted_current_folder_is_told(shell: Shell, tmp_path: Path) -> None:
    """It happens: somebody else deleted it, and the shell still stands in it."""
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", 'rmdir "$0" && exec "$@"', str(gone), *COMMAND, "list", "--json"],
        cwd=gone,
        env=shell.environment,
        capture_output=True,
    )
    assert done.returncode == 1
    assert b"The current folder can't be found" in done.stderr


def test_an_interrupted_command_ends_with_130_and_leaves_the_daemon_alone(shell: Shell) -> None:
    """Ctrl-C ends the waiting, not the work."""
    process = shell.start("events", "--follow", "--since", "0")
    assert process.stdout is not None
    assert process.stdout.readline()  # it follows
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err.decode() == "\nThe daemon goes on watching; `backtrail daemon stop` ends it.\n"
    assert shell("daemon", "status").text.startswith("●")


@pytest.mark.parametrize("words", [["list"], ["status"], ["save", "--allow-empty"]], ids=" ".join)
def test_the_program_is_light(shell: Shell, words: list[str]) -> None:
    """What is typed often must be there at once: modules that a command does not need are not imported."""
    script = (
        "import atexit, os, sys; os._exit = lambda status: sys.exit(status)\n"
        "atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))\n"
        f"sys.argv = ['backtrail', *{words}]\nfrom backtrail.cli.main import main\nmain()"
    )
    done = subprocess.run(
        [COMMAND[0], "-c", script], cwd=shell.root, env=shell.environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    loaded = set(done.stderr.split())
    assert "backtrail.client" in loaded
    heavy = {"asyncio", "zmq", "shutil", "tempfile", "difflib", "tomllib", "platformdirs", "logging"}
    heavy |= {"dataclasses", "inspect", "ast", "base64", "subprocess"}
    assert not loaded & (heavy | {"backtraild", "pygit2", "watchdog", "backtrail.cli.commands.doctor"})


def test_events_arrive_as_they_happen(shell: Shell) -> None:
    """One object a line, written at once: a program that reads them must not wait for a full buffer."""
    import json

    process = shell.start("events", "--json", "--since", "0")
    assert process.stdout is not None
    try:
        first = json.loads(process.stdout.readline())
        assert {"epoch", "seq", "type", "workspace", "root", "timestamp", "data"} <= set(first)
        assert first["seq"] >= 1
        shell.save("seen by events")
        while (event := json.loads(process.stdout.readline()))["data"].get("message") != "seen by events":
            assert event["seq"] > first["seq"]
        assert event["type"] == "checkpoint_created"
        assert event["workspace"] == shell("status", "--json").json["workspace"]
    finally:
        process.kill()
        process.communicate()


def test_all_events_are_listed_and_those_of_one_workspace_are_told_apart(shell: Shell) -> None:
    """Inside a workspace one sees its events, elsewhere those of all; a number to begin after is kept to."""
    import json

    other = shell.folder / "other"
    other.mkdir()
    shell("watch", str(other))
    words = ["events", "--json", "--since", "0", "--no-follow"]
    mine = [json.loads(line) for line in shell(*words).text.splitlines()]
    everything = [json.loads(line) for line in shell(*words, cwd=shell.folder).text.splitlines()]
    assert {event["root"] for event in mine} == {str(shell.root)}
    assert {event["root"] for event in everything} == {str(shell.root), str(other)}
    assert [event["seq"] for event in everything] == list(range(1, len(everything) + 1))
    assert shell(*words, "--all").text.count("\n") == len(everything)
    assert shell("events", "--json", "--no-follow", "--all").text.count("\n") == len(everything)
    last = shell("events", "--since", str(len(everything) - 1), "--no-follow", "--all").text
    assert last.count("\n") == 1
    assert "other" in last
    assert shell("events", "-w", "/nowhere", "--no-follow", status=11).out == b""


def test_a_started_daemon_survives_the_interrupt_of_its_terminal(tmp_path: Path) -> None:
    """Ctrl-C in a terminal goes to all of its processes; the daemon is none of them."""
    with shell_in(tmp_path) as shell:
        process = shell.start("events", start_new_session=True)
        eventually(lambda: shell.daemon() is not None)
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=30)
        shell("daemon", "status")
