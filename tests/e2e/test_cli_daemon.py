"""`daemon`, `service`, `doctor` and completion as processes: what runs, what is wrong, and what can be typed next."""

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from backtrail.cli.main import run
from support.commands import Shell, is_alive, shell_in
from support.watching import eventually


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with shell_in(tmp_path_factory.mktemp("cli")) as found:
        found.write("a.txt", "one\n")
        found("watch")
        yield found


@pytest.fixture
def cold(tmp_path: Path) -> Iterator[Shell]:
    """A place where no daemon is running yet."""
    with shell_in(tmp_path) as found:
        yield found


def test_a_daemon_is_started_once_told_about_and_stopped(cold: Shell) -> None:
    """Whoever starts and stops by hand wants to know the process, and that it is really gone."""
    missing = cold("daemon", "status", "--json", status=10)
    assert missing.error["code"] == "daemon-unreachable"
    assert cold("daemon", "stop", status=3).err.startswith("error: No daemon is running.")
    assert cold.daemon() is None  # none of both has started one
    started = cold("daemon", "start", "--json", BACKTRAIL_NO_AUTOSTART="1").json
    assert started["started"] is True
    assert started["pid"] == cold.daemon()
    assert f"already, as process {started['pid']}" in cold("daemon", "start").text
    found = cold("daemon", "status", "--json").json
    assert (found["running"], found["pid"], found["workspaces"]) == (True, started["pid"], [])
    assert found["endpoints"]["requests"].startswith("ipc://")
    assert {"version", "protocol", "epoch", "seq", "started"} <= set(found)
    restarted = cold("daemon", "restart", "--json").json
    assert restarted["ended"] == started["pid"] != restarted["pid"]
    assert str(restarted["pid"]) in cold("daemon", "stop").text
    assert not is_alive(started["pid"])
    assert not is_alive(restarted["pid"])
    assert cold.daemon() is None


@pytest.mark.parametrize("way", ["option", "variable"])
def test_no_daemon_is_started_where_that_is_turned_off(cold: Shell, way: str) -> None:
    """On some machines only the service manager may start it."""
    words = ["--no-autostart"] if way == "option" else []
    environment = {} if way == "option" else {"BACKTRAIL_NO_AUTOSTART": "1"}
    refused = cold("list", "--json", *words, status=10, **environment)
    assert refused.error["code"] == "daemon-unreachable"
    assert "backtrail daemon start" in refused.error["hint"]
    assert cold.daemon() is None


def test_a_daemon_that_cannot_start_says_why(cold: Shell) -> None:
    """The reason is in a file that nobody looks into; so the command repeats it."""
    (cold.home / "config" / "config.toml").write_text("quiet = \n")
    refused = cold("list", status=10)
    assert "config.toml can't be used" in refused.err
    found = cold("doctor", "--json", status=1).json
    problems = [check["message"] for check in found["checks"] if check["level"] == "problem"]
    assert any("config.toml can't be used" in problem for problem in problems)


def test_the_daemon_runs_in_the_foreground_until_it_is_told_to_end(cold: Shell) -> None:
    """A service manager watches the very process that it started."""
    process = cold.start("daemon", "run")
    eventually(lambda: cold.daemon() is not None)
    assert cold.daemon() == process.pid
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 0


def test_the_log_is_shown_as_text_or_as_it_is(shell: Shell) -> None:
    """The last lines are the ones that matter."""
    lines = shell("daemon", "logs", "--json", "-n", "2").text.splitlines()
    assert len(lines) == 2
    entry = json.loads(lines[-1])
    assert entry["message"] in shell("daemon", "logs", "-n", "1").text


def test_the_log_is_followed_over_its_rotation(cold: Shell) -> None:
    """A log that was moved away because it grew too large goes on under its name."""
    log = cold.home / "data" / "daemon.log"
    assert cold("daemon", "logs", status=1).err.startswith(f"error: The log {log} can't be read")
    log.parent.mkdir(parents=True)
    log.write_text('{"time":"2026-11-15T14:03:22+00:00","level":"info","message":"first \\u001b[31m"}\n')
    process = cold.start("daemon", "logs", "--follow")
    assert process.stdout is not None
    assert process.stdout.readline().endswith(b"info     first \\x1b[31m\n")
    log.rename(log.with_suffix(".1"))
    log.write_text('{"time":"2026-11-15T14:03:23+00:00","level":"error","message":"second"}\nnot json\n')
    assert process.stdout.readline().endswith(b"error    second\n")
    assert process.stdout.readline() == b"not json\n"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130


def test_the_doctor_finds_nothing_where_nothing_is_wrong(shell: Shell) -> None:
    """A clean bill has to be believed, so it names what was looked at."""
    found = shell("doctor", "--json").json
    assert found["healthy"] is True
    assert all(set(check) == {"level", "message", "hint"} for check in found["checks"])
    told = " ".join(check["message"] for check in found["checks"])
    for subject in ("config", "free", "The daemon answers", "listens at", "watches", str(shell.root)):
        assert subject in told
    assert "problem" not in shell("doctor").text.split("\n\n")[0]


def test_the_doctor_tells_what_is_wrong_and_what_to_do(tmp_path: Path) -> None:
    """A lost folder, a pause and an open door: each with a level and a way out."""
    with shell_in(tmp_path, auto_checkpoint=True, quiet=0.05) as cold:
        _check_doctor(cold)


def _check_doctor(cold: Shell) -> None:
    cold("watch")
    other = cold.folder / "other"
    other.mkdir()
    cold("watch", str(other))
    cold("pause", "-w", str(other))
    shutil.rmtree(cold.root)
    os.chmod(cold.home / "data", 0o755)  # noqa: S103 - what the doctor has to find
    eventually(lambda: _state(cold, other) == "degraded")
    found = cold("doctor", "--json", status=1, cwd=other).json
    levels = {check["message"]: check["level"] for check in found["checks"]}
    hints = {check["message"]: check["hint"] for check in found["checks"]}
    degraded = next(message for message in levels if message.startswith(f"{cold.root}: "))
    assert levels[degraded] == "problem"
    paused = f"{other} is paused: no automatic checkpoints are made."
    assert (levels[paused], "resume-watching" in hints[paused]) == ("warning", True)
    open_to_others = f"Others can look into {cold.home / 'data'} (mode 0755)."
    assert levels[open_to_others] == "warning"
    assert found["healthy"] is False


def _state(shell: Shell, cwd: Path) -> str:
    """A degraded workspace is no failure of `status`."""
    return str(shell("status", "--json", "-w", str(shell.root), cwd=cwd).json["state"])


def test_damage_is_found_and_named(cold: Shell) -> None:
    """A store that has lost a bit must not be found out on the day it is needed."""
    cold.write("a.txt", "one\n")
    cold("watch")
    store = Path(cold("status", "--json").json["store"])
    pack = next(iter((store / "repo.git" / "objects" / "pack").glob("*.pack")))
    content = bytearray(pack.read_bytes())
    content[len(content) // 2] ^= 0xFF
    pack.chmod(0o600)
    pack.write_bytes(content)
    found = cold("verify", "--json", status=1).json["workspaces"]
    assert found[0]["damage"]
    assert found[0]["damage"][0]["checkpoints"] == [1]
    assert "Damaged" in cold("verify", status=1).text


def test_purging_asks_and_without_anybody_to_ask_changes_nothing(cold: Shell) -> None:
    """What is deleted for ever needs a clear word."""
    cold.write("a.txt", "one\n")
    cold("watch")
    refused = cold("unwatch", "--purge", "--json", status=13)
    assert refused.error["code"] == "confirmation-needed"
    assert "This would delete 1 checkpoint of" in refused.error["message"]
    store = Path(cold("status", "--json").json["store"])
    assert store.is_dir()
    gone = cold("unwatch", "--purge", "--yes", "--json").json
    assert gone.get("store") is None
    assert not store.exists()


def test_keys_for_another_machine_are_written_where_only_the_owner_reads_them(cold: Shell) -> None:
    """The file lets its bearer in."""
    refused = cold("daemon", "keys", "laptop", "--json", status=2)
    assert "[server]" in refused.error["hint"]
    config = cold.home / "config" / "config.toml"
    config.write_text(f'{config.read_text()}[server]\nlisten = "127.0.0.1:7791"\n')
    made = cold("daemon", "keys", "laptop", "--json").json
    file = cold.root / "laptop.json"
    assert (made["file"], made["requests"]) == (str(file), "tcp://127.0.0.1:7791")
    assert file.stat().st_mode & 0o777 == 0o600
    assert cold("daemon", "keys", "laptop", status=2).err.startswith("error: A client called laptop")


def test_a_service_is_told_about_or_said_to_be_impossible(shell: Shell) -> None:
    """Without a service manager there is a sentence with another way, not a failure of a program behind it."""
    found = shell("service", "status", "--json", status=None)
    if found.status == 0:
        assert {"manager", "file", "installed", "enabled", "state"} <= set(found.json)
    else:
        assert (found.status, found.error["code"]) == (1, "no-service-manager")
        assert "backtrail daemon start" in found.error["hint"]


Complete = Callable[..., dict[str, str]]


@pytest.fixture
def complete(shell: Shell, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Complete:
    """Candidates for the last of some words, with what is told about each."""
    shell.enter(monkeypatch)

    def ask(*words: str) -> dict[str, str]:
        assert run(["__complete", *words]) == 0
        out, err = capfd.readouterr()
        assert err == ""
        return dict(line.split("\t") for line in out.splitlines())

    return ask


def test_completion_knows_commands_options_and_values(complete: Complete) -> None:
    """The shell asks the program itself, so that both always agree."""
    assert list(complete("re")) == ["resume-watching", "restore", "rewind", "resume"]
    assert "stop" in complete("daemon", "st")
    assert complete("--json", "daemon", "logs", "--fo") == {"--follow": "wait for more, until Ctrl-C"}
    assert list(complete("list", "--kind", "b")) == ["baseline"]
    assert list(complete("completion", "")) == ["bash", "zsh", "fish"]
    assert "__complete" not in complete("")
    assert "--path" not in complete("list", "")
    assert complete("nonsense", "") == {}


def test_completion_knows_checkpoints_and_workspaces(shell: Shell, complete: Complete) -> None:
    """Nobody remembers numbers; the messages beside them help."""
    shell.write("a.txt", "two\n")
    number = str(shell.save("with a\ttab")["number"])
    assert complete("show", "")[number] == "with a\\ttab"
    assert number in complete("restore", "--yes", "")
    assert number in complete("diff", "1", "")
    assert complete("restore", "1", "") == {}  # files: the shell knows them
    assert complete("diff", "--", "") == {}
    assert list(complete("list", "-w", "")) == [str(shell.root)]
    assert list(complete("unwatch", "/")) == [str(shell.root)]
    assert shell("__complete", "show", number).text == f"{number}\twith a\\ttab\n"


def test_completion_is_silent_and_starts_nothing_where_no_daemon_runs(cold: Shell) -> None:
    """A key pressed in the middle of a line must not start programs or print errors."""
    ran = cold("__complete", "show", "")
    assert (ran.out, ran.err) == (b"", "")
    assert os.listdir(cold.home) == ["config"]


def test_the_scripts_for_shells_are_printed(shell: Shell) -> None:
    """They are sourced as they come."""
    for name in ("bash", "zsh", "fish"):
        assert "__complete" in shell("completion", name).text
