"""History as text: the timeline, one file through its checkpoints, where its lines are from, what was found."""

from collections.abc import Iterable, Sequence

from backtrail.cli.characters import pad, pad_start, visible, width
from backtrail.cli.render import cells, events
from backtrail.cli.terminal import Screen
from backtrail.session_values import (
    Blame,
    BlamedLine,
    FileHistory,
    FileVersion,
    HistoryEvent,
    SearchHit,
    SearchResult,
)

_TYPES = {"task": "magenta", "chat": "cyan", "checkpoint": "green", "phase": "yellow", "file": "blue"}
_TYPE = 10
_SHORTEST = 20
_LONGEST_SESSION = 20
_MORE = "… and older ones; -n NUMBER shows more"


def timeline(happened: Sequence[HistoryEvent], screen: Screen, first: int = 1) -> str:
    """One line for each, oldest first; before them, where the log begins if it is not the beginning."""
    begins = f"Events before number {first:,} are not kept any more.\n" if first > 1 else ""
    told = "".join(history_event(one, screen) for one in happened) or "Nothing of that kind happened.\n"
    return screen.paint(begins, "dim") + told


def history_event(one: HistoryEvent, screen: Screen) -> str:
    """One line: when, what kind of thing it is, and what happened."""
    time = screen.paint(events.when(one.time, screen), "dim")
    kind = screen.paint(pad(visible(one.type), _TYPE), _TYPES.get(one.type, "dim"))
    told = _file(one, screen) if one.type == "file" else events.told(one.subtype, one, screen)
    return f"{time}  {kind}  {told}\n"


def file_history(found: FileHistory, screen: Screen) -> str:
    """The checkpoints that changed a file, newest first, with what was asked for under them."""
    if not found.versions:
        return f"No checkpoint has changed {visible(found.path)}.\n"
    number = _longest(str(one.checkpoint) for one in found.versions)
    times = _longest(screen.ago(one.timestamp) for one in found.versions)
    kinds = cells.kind_width(one.kind for one in found.versions)
    rows = []
    for one in found.versions:
        parts = [
            screen.paint(pad_start(str(one.checkpoint), number), "bold"),
            pad(screen.ago(one.timestamp), times),
            cells.kind(one.kind, screen, kinds),
            cells.letter(one.status, screen),
            _changed(one, found.path, screen),
            cells.lines(one.insertions, one.deletions, screen),
        ]
        rows.append("  ".join(filter(None, parts)))
        rows += _asked(one, " " * (number + 2), screen)
    return cells.together(rows + _more(found.next, screen))


def blame(found: Blame, screen: Screen) -> str:
    """Each line of a file behind the checkpoint, the time and the turn that it is from."""
    whose = [_whose(line, screen) for line in found.lines]
    number = _longest(_number(line) for line in found.lines)
    times, turns = _longest(_time(line, screen) for line in found.lines), _longest(whose)
    last = len(str(len(found.lines)))
    rows = []
    for line, turn in zip(found.lines, whose, strict=True):
        source = screen.paint(pad_start(_number(line), number), "bold" if line.checkpoint else "yellow")
        session = f"  {screen.paint(pad(turn, turns), 'magenta')}" if turns else ""
        head = f"{source}  {screen.paint(pad(_time(line, screen), times), 'dim')}{session}"
        place = screen.paint(f"{line.line:>{last}})", "dim")
        rows.append(f"{head}  {place} {visible(line.text.rstrip(chr(13) + chr(10)).expandtabs(4))}")
    return cells.together(rows) or f"{visible(found.path)} is empty.\n"


def search_result(found: SearchResult, screen: Screen) -> str:
    """Every place that was found, newest first, with the words in colour."""
    if not found.hits:
        return "Nothing was found.\n"
    rows: list[str] = []
    for hit in found.hits:
        rows += [_place(hit, screen), f"    {_snippet(hit, screen)}"]
    return cells.together(rows + _more(found.next, screen))


def _file(one: HistoryEvent, screen: Screen) -> str:
    status = one.data.get("status", one.subtype)
    sign = cells.letter(str(status), screen)
    number = "" if one.checkpoint is None else screen.paint(f"  checkpoint {one.checkpoint}", "dim")
    return f"{sign}  {visible(one.path or '')}{number}"


def _changed(one: FileVersion, asked: str, screen: Screen) -> str:
    """The path, where it is another one than was asked for, or was another one before."""
    if one.old_path is not None:
        return f"{visible(one.old_path)} {screen.sign('→')} {visible(one.path)}"
    return "" if one.path == asked else visible(one.path)


def _asked(one: FileVersion, indent: str, screen: Screen) -> list[str]:
    said = one.prompt if one.prompt else one.message
    words = visible(" ".join(said.split()))
    turn = _turn(one.session, one.turn)
    room = max(_SHORTEST, screen.width - len(indent) - width(turn) - 2)
    told = "  ".join(filter(None, (screen.paint(turn, "magenta"), screen.cut(words, room))))
    return [f"{indent}{told}"] if told else []


def _place(hit: SearchHit, screen: Screen) -> str:
    where = _turn(hit.session, hit.turn)
    number = "" if hit.checkpoint is None else f"checkpoint {hit.checkpoint}"
    message = "" if hit.message is None else f"message {hit.message + 1:,}"
    what = hit.role if hit.found == "message" and hit.role else hit.found
    rewound = screen.paint("rewound", "yellow") if hit.rewound else ""
    parts = (screen.ago(hit.time), screen.paint(where, "magenta"), number, message, visible(what), rewound)
    return "  ".join(filter(None, parts))


def _snippet(hit: SearchHit, screen: Screen) -> str:
    """The marks are places in the text as it was found: it is cut at them before anything is written out."""
    pieces, end = [], 0
    for start, stop in hit.marks:
        pieces.append(_flat(hit.snippet[end:start]))
        pieces.append(screen.paint(_flat(hit.snippet[start:stop]), "bold", "yellow"))
        end = stop
    return "".join([*pieces, _flat(hit.snippet[end:])])


def _flat(text: str) -> str:
    return visible(text.replace("\n", " "))


def _number(line: BlamedLine) -> str:
    return "now" if line.checkpoint is None else str(line.checkpoint)


def _time(line: BlamedLine, screen: Screen) -> str:
    return "not saved" if line.timestamp is None else screen.ago(line.timestamp)


def _whose(line: BlamedLine, screen: Screen) -> str:
    return screen.cut(_turn(line.session, line.turn), _LONGEST_SESSION)


def _turn(session: str | None, turn: int | None) -> str:
    """`fix-login#3`."""
    if session is None:
        return ""
    return visible(session) + ("" if turn is None else f"#{turn}")


def _more(after: str | None, screen: Screen) -> list[str]:
    return [screen.paint(screen.sign(_MORE), "dim")] if after is not None and screen.terminal else []


def _longest(texts: Iterable[str]) -> int:
    return max(map(width, texts), default=0)
