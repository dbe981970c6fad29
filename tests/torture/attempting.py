"""One round from beginning to end: a process makes it, and another watches the time and clears up."""

import faulthandler
import os
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

import msgspec

from torture.campaign import Campaign, Finished, Round, Unable
from torture.isolation import GRACE, adopt_orphans, end_mounts, end_orphans, isolate_environment, remove
from torture.ledger import Entry, Outcome

_LONGEST = 8_000  # characters of a failure's text: half from its beginning, half from its end
_PROJECT = Path(__file__).parents[2]


class Verdict(msgspec.Struct, frozen=True):
    """What the process of the round itself says."""

    outcome: Outcome
    counts: dict[str, float] = {}
    text: str = ""


def attempt(campaign: Campaign, number: int, version: str) -> Entry:
    """Makes a round in a process of its own; called in one that has no other children."""
    os.setsid()  # Ctrl-C at the terminal is for the run, which tells us
    adopt_orphans()
    signal.signal(signal.SIGTERM, _stop)
    home = Path(tempfile.mkdtemp(prefix="bt-"))
    begun = time.monotonic()
    try:
        verdict = _in_child(campaign, number, home)
        verdict = _tidied(verdict, end_orphans(), end_mounts(home))
    finally:
        end_orphans()
        end_mounts(home)
        remove(home)
    return Entry(
        campaign=campaign.name,
        number=number,
        outcome=verdict.outcome,
        seconds=round(time.monotonic() - begun, 3),
        counts=verdict.counts,
        text=_shortened(verdict.text.replace(str(home), "HOME")),
        version=version,
    )


def _stop(*_: object) -> None:
    raise SystemExit(1)


def _in_child(campaign: Campaign, number: int, home: Path) -> Verdict:
    sys.stdout.flush()
    child = os.fork()
    if not child:
        _make(campaign, number, home)
    try:
        in_time, status = _await(child, campaign.seconds + 0.3)
    except SystemExit:
        _end(child)
        raise
    if not in_time:
        _end(child)
        return Verdict("failed", text=f"It took longer than {campaign.seconds:g} s.\n{_output(home)}")
    return _verdict(home, status)


def _make(campaign: Campaign, number: int, home: Path) -> None:
    """The round itself. Its process never comes back from here."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    output = os.open(home / "output", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.stdout = sys.stderr = open(output, "w", buffering=1, errors="replace")  # noqa: SIM115 - until the end
    faulthandler.enable(output)
    faulthandler.dump_traceback_later(
        campaign.seconds, file=output
    )  # where it hung is what one needs to know
    try:
        verdict = _judged(campaign, number, home)
        (home / "verdict").write_bytes(msgspec.json.encode(verdict))
    finally:
        os._exit(0)


def _judged(campaign: Campaign, number: int, home: Path) -> Verdict:
    isolate_environment(home)
    folder = home / "round"
    folder.mkdir()
    try:
        return Verdict("passed", dict(campaign.attempt(Round(number, folder))))
    except Finished:
        return Verdict("finished")
    except Unable as reason:
        return Verdict("unable", text=str(reason))
    except BaseException:
        return Verdict("failed", text=f"{_output(home)}{traceback.format_exc()}")


def _await(child: int, seconds: float) -> tuple[bool, int]:
    """Whether the child ended in time, and how."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return True, status
        time.sleep(0.01)
    return False, 0


def _end(child: int) -> None:
    """Lets the round clear up as after Ctrl-C, and if it does not, ends it."""
    os.kill(child, signal.SIGINT)
    if not _await(child, GRACE)[0]:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _verdict(home: Path, status: int) -> Verdict:
    try:
        return msgspec.json.decode((home / "verdict").read_bytes(), type=Verdict)
    except (OSError, msgspec.DecodeError):
        ended = os.waitstatus_to_exitcode(status)
        how = f"by {signal.Signals(-ended).name}" if ended < 0 else f"with {ended} and no verdict"
        return Verdict("failed", text=f"The process of the round ended {how}.\n{_output(home)}")


def _output(home: Path) -> str:
    return (home / "output").read_text(errors="replace")


def _shortened(text: str) -> str:
    """Both ends of what is too long, without the folders of this machine."""
    for folder, name in ((_PROJECT, "."), (Path(sys.base_prefix), "python")):
        text = text.replace(str(folder), name)
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]}\n[…]\n{text[-half:]}"


def _tidied(verdict: Verdict, processes: list[str], mounts: list[str]) -> Verdict:
    """A round that leaves something behind has failed, whatever it says itself."""
    left = [f"It left a process behind: {line}" for line in processes]
    left += [f"It left a mount behind: {point}" for point in mounts]
    if not left:
        return verdict
    return Verdict("failed", verdict.counts, "\n".join([verdict.text, *left]).strip())
