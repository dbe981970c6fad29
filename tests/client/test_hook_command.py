"""The parts of `hook` that hold without any daemon."""

import os
import subprocess
import sys

from backtrail.cli.main import run
from backtrail.cli.payload import read
from backtrail.wire.deadline import Deadline

HANGING = """
import threading
from backtrail.cli.commands import hook
hook._GRACE_SECONDS = 0
with hook._ending_after(0.01):
    threading.Event().wait()
"""


def test_a_hook_that_hangs_ends_as_if_all_was_well():
    """A disk that does not answer knows nothing of deadlines, and the agent waits."""
    done = subprocess.run([sys.executable, "-c", HANGING], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_what_comes_in_is_read_to_its_end_and_kept_up_to_a_limit():
    """Whoever writes must not find the pipe closed, however much it is."""
    for size, kept in ((10, b"x" * 10), (0, b""), (11, None), (50_000, None)):
        reader, writer = os.pipe()
        os.write(writer, b"x" * size)
        os.close(writer)
        assert read(reader, 10, Deadline(60)) == kept
        assert os.read(reader, 1) == b""
        os.close(reader)


def test_whoever_does_not_close_what_he_writes_to_is_waited_for_no_longer_than_there_is_time():
    """What came is perhaps all there is."""
    reader, writer = os.pipe()
    os.write(writer, b"{}")
    assert read(reader, 10, Deadline(0.01)) == b"{}"
    os.close(reader)
    os.close(writer)


def test_the_shell_completes_agents(capsys):
    """Nobody remembers whether it is claude or claude-code."""
    assert run(["__complete", "hook", "c"]) == 0
    assert [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()] == [
        "claude-code",
        "codex",
        "cursor",
        "claude",
    ]
