"""Whether Backtrail works, as text: the daemon, the checks of `doctor`, and what a failed command says."""

from collections.abc import Sequence
from typing import NamedTuple

from backtrail.cli.characters import visible
from backtrail.cli.render import cells
from backtrail.cli.terminal import Screen
from backtrail.cli.words import count, since
from backtrail.values import Pong, WorkspaceList

_LEVELS = {"ok": "green", "warning": "yellow", "problem": "red"}


class Check(NamedTuple):
    """One thing that `doctor` looked at; the hint says what to do about it."""

    level: str  # ok, warning or problem
    sentence: str
    hint: str = ""


def daemon_status(pong: Pong, endpoints: Sequence[str], watched: WorkspaceList, screen: Screen) -> str:
    """Which daemon is running, and where it listens."""
    running = screen.paint(screen.sign("● running"), "green")
    head = f"{running}, process {pong.pid}, version {visible(pong.version)}"
    facts = [
        ("since", f"{screen.ago(pong.started)} ({since(pong.started, screen.now)})"),
        ("workspaces", count(len(watched.workspaces), "folder")),
        ("protocol", f"{pong.protocol}, event {pong.seq:,}"),
        *(("listens at", visible(endpoint)) for endpoint in endpoints),
    ]
    return cells.together([head, *cells.facts(facts, "  ", screen)])


def doctor(checks: Sequence[Check], screen: Screen) -> str:
    """Every check in a line, what to do under those that failed, and a sum at the end."""
    rows = []
    for check in checks:
        level = screen.paint(f"{check.level:<7}", _LEVELS.get(check.level, "dim"))
        first, *others = cells.paragraph(check.sentence, " " * 9, screen)
        rows += [level + first[7:], *others]
        if check.level != "ok":
            rows += cells.paragraph(check.hint, " " * 9, screen)
    return cells.together([*rows, "", _sum(checks)])


def failure(message: str, hint: str, screen: Screen) -> str:
    """What a command that failed says: the sentence, and the next step under it."""
    rows = [f"{screen.paint('error:', 'red', 'bold')} {_sentence(message)}"]
    if hint:
        rows.append(f"{screen.paint('hint:', 'cyan')}  {_sentence(hint)}")
    return cells.together(rows)


def _sentence(text: str) -> str:
    """Lines of a longer text stay lines, set in under the first."""
    return "\n       ".join(visible(line) for line in text.rstrip("\n").split("\n"))


def _sum(checks: Sequence[Check]) -> str:
    problems, warnings = (sum(check.level == level for check in checks) for level in ("problem", "warning"))
    if not (problems or warnings):
        return "Everything is in order."
    return f"{count(problems, 'problem')}, {count(warnings, 'warning')}."
