"""What an import costs: a command must not pay for what it does not use."""

import subprocess
import sys

import backtrail


def _imported_by(statement: str) -> set[str]:
    program = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_alone_imports_nothing_that_is_slow():
    """`backtrail --version` and the completion of a shell run at every key press."""
    assert not _imported_by("import backtrail") & {
        "zmq",
        "msgspec",
        "asyncio",
        "platformdirs",
        "argparse",
        "backtrail.client",
    }


def test_the_blocking_client_needs_no_event_loop_and_nothing_of_the_daemon():
    """A script that saves once would wait for imports longer than for the save."""
    imported = _imported_by("from backtrail import Client")
    assert "backtrail.client" in imported
    assert not imported & {
        "asyncio",
        "zmq",
        "pygit2",
        "watchdog",
        "argparse",
        "backtraild",
        "platformdirs",
    }


def test_looking_for_a_daemon_and_starting_one_needs_no_zeromq():
    """It takes a third of the time in which a command is there, and the daemon has to import it as well."""
    imported = _imported_by("import backtrail.wire.starting, backtrail.cli.commands.daemon")
    assert "backtrail.wire.listening" in imported
    assert "zmq" not in imported


def test_every_exported_name_is_there_and_is_listed():
    """Lazy exports must not promise what an import then fails to find."""
    for name in backtrail.__all__:
        assert getattr(backtrail, name) is not None, name
        assert name in dir(backtrail)
    assert set(backtrail._HOMES) | {"__version__"} == set(backtrail.__all__)


def test_a_name_that_does_not_exist_is_an_attribute_error():
    """`hasattr` and tools that look around rely on it."""
    assert not hasattr(backtrail, "Nonsense")
