"""Why a checkpoint is there, as text: what was asked, what was done, which files."""

from backtrail.cli.characters import visible
from backtrail.cli.explaining import Explanation, TurnOfSession
from backtrail.cli.render import cells, events
from backtrail.cli.render.sessions import said_rows
from backtrail.cli.terminal import Screen
from backtrail.session_values import ToolUse
from backtrail.values import Checkpoint

_TOOLS_SHOWN = 20
_PROMPT_LINES = 12


def explanation(found: Explanation, screen: Screen) -> str:
    """The turns first, then what they did to files."""
    one = found.checkpoint
    rows = [f"{screen.paint(f'Checkpoint {one.number}', 'bold')}  {cells.kind(one.kind, screen)}"]
    rows[0] += f"  {screen.ago(one.timestamp)}: {visible(one.message.partition(chr(10))[0])}"
    for turn in found.turns:
        rows += ["", *_turn(turn, screen)]
    if not found.turns:
        rows += ["", _nothing_asked(one)]
    rows += ["", screen.paint("Files", "bold")]
    rows += cells.files(one.files_changed, one.files_changed_count, "  ", screen)
    rows.append("  " + cells.summary(one.files_changed_count, one.insertions, one.deletions, screen))
    return cells.together(rows)


def _turn(found: TurnOfSession, screen: Screen) -> list[str]:
    turn = found.turn
    whose = f"turn {turn.turn} of {visible(found.session)}"
    facts = [visible(found.agent), visible(found.title), "rewound" if turn.rewound else ""]
    told = ", ".join(filter(None, facts))
    rows = [
        f"{screen.paint('Asked', 'bold')} in {screen.paint(whose, 'magenta')}"
        + (f" ({told})" if told else "")
    ]
    rows += said_rows(turn.prompt, "  ", screen, _PROMPT_LINES) or ["  (the prompt was not recorded)"]
    if turn.tools:
        few = [_tool(tool, screen) for tool in turn.tools[:_TOOLS_SHOWN]]
        rows += [screen.paint("Done", "bold"), *cells.listing(few, len(turn.tools), "  ", screen)]
    return rows


def _tool(tool: ToolUse, screen: Screen) -> str:
    time = "" if tool.started is None else screen.paint(events.when(tool.started, screen), "dim")
    name = visible(tool.name)
    given = visible(" ".join(tool.input.split()))
    return "  ".join(filter(None, (time, name, screen.cut(given, screen.width - len(name) - 16))))


def _nothing_asked(one: Checkpoint) -> str:
    if one.session is not None:
        return f"It belongs to the session {visible(one.session)}, but to no turn that is known."
    return "It was made outside of all turns of all sessions."
