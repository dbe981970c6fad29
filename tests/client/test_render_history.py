"""The timeline, the history of a file, its lines, and what was found, as a person sees them."""

from datetime import timedelta
from typing import Any

import pytest

from backtrail.cli.characters import width
from backtrail.cli.explaining import Explanation, TurnOfSession, at_work, led_to
from backtrail.cli.render import explanations, history
from backtrail.session_values import (
    Blame,
    BlamedLine,
    FileHistory,
    FileVersion,
    HistoryEvent,
    SearchHit,
    SearchResult,
    SessionSummary,
    ToolUse,
    Turn,
)
from support.answers import NOW, change, checkpoint, screen

MINUTE = timedelta(minutes=1)


def happened(type_: str, subtype: str, /, data: dict[str, Any] | None = None, **others: Any) -> HistoryEvent:
    known = {"seq": 7, "type": type_, "subtype": subtype, "time": NOW - MINUTE, "session": "fix-login"}
    return HistoryEvent(**{**known, "data": data or {}, **others})


def turn(**others: Any) -> Turn:
    return Turn(
        **{
            "turn": 4,
            "ordinal": 4,
            "role": "user",
            "prompt": "Add a test",
            "started": NOW - 5 * MINUTE,
            "ended": NOW - 1 * MINUTE,
            "tools": [],
            "before": 40,
            "after": 42,
            "rewound": False,
            "interrupted": False,
            "messages": None,
            "metadata": {},
            **others,
        }
    )


def version(number: int, **others: Any) -> FileVersion:
    return FileVersion(
        **{
            "checkpoint": number,
            "id": "a" * 40,
            "timestamp": NOW - number * MINUTE,
            "kind": "agent",
            "message": "saved",
            "path": "src/app.py",
            "status": "modified",
            "size": 10,
            "insertions": 3,
            "deletions": 1,
            **others,
        }
    )


def line(number: int, text: str, source: int | None, **others: Any) -> BlamedLine:
    time = None if source is None else NOW - source * MINUTE
    return BlamedLine(line=number, text=text, checkpoint=source, timestamp=time, **others)


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (happened("task", "session_started", {"title": "Login"}), "task        fix-login begun: Login"),
        (happened("task", "session_ended", {"reason": "done\x1b"}), "task        fix-login ended: done\\x1b"),
        (
            happened("task", "session_forked", {"new_root": "/other"}),
            "task        fix-login forked into /other",
        ),
        (
            happened("task", "session_forked", {"new_root": "/other"}, session=None, checkpoint=4),
            "task        checkpoint 4 forked into /other",
        ),
        (
            happened("chat", "conversation_rewound", {"turn": 4, "before": True, "turns_restored": []}),
            "chat        fix-login went back to before turn 4",
        ),
        (
            happened("chat", "conversation_rewound", {"turn": 4, "turns_restored": [5, 6]}),
            "chat        fix-login has its turns again: 5, 6",
        ),
        (happened("task", "session_resumed"), "task        fix-login resumed"),
        (happened("task", "session_deleted"), "task        fix-login deleted"),
        (
            happened("chat", "turn_started", {"turn": 4, "prompt": "Add\na test"}),
            "chat        fix-login turn 4 begun: Add a test",
        ),
        (
            happened("chat", "turn_ended", {"turn": 4, "after": 9}),
            "chat        fix-login turn 4 done, checkpoint 9",
        ),
        (
            happened("chat", "conversation_saved", {"message_count": 1}),
            "chat        conversation of fix-login recorded: 1 message",
        ),
        (
            happened("phase", "phase_changed", {"phase": "testing"}),
            "phase       fix-login is in phase testing",
        ),
        (
            happened("checkpoint", "checkpoint_created", {"kind": "agent", "message": "m\nn"}, checkpoint=4),
            "checkpoint  4  agent  m",
        ),
        (happened("file", "added", path="src/a.py", checkpoint=4), "file        A  src/a.py  checkpoint 4"),
        (happened("chat", "later_invention", checkpoint=4), "chat        later invention 4"),
    ],
)
def test_every_line_of_the_timeline_says_when_and_what(one: HistoryEvent, told: str) -> None:
    """One list of everything, also of what is invented later."""
    assert history.timeline([one], screen()) == f"14:29:00  {told}\n"


def test_an_empty_timeline_says_so() -> None:
    """A filter may have been too narrow."""
    assert history.timeline([], screen()) == "Nothing of that kind happened.\n"


def test_the_log_of_a_file_says_what_each_change_was_for() -> None:
    """Who asked for this change, and with which words?"""
    versions = [
        version(12, session="fix-login", turn=4, prompt="Add a test\n" + "please " * 30),
        version(9, status="renamed", old_path="app.py"),
        version(2, status="added", insertions=None, deletions=None),
    ]
    lines = history.file_history(FileHistory(path="src/app.py", versions=versions), screen()).splitlines()
    assert lines[0] == "12  12 minutes ago  agent  M  +3 −1"
    assert lines[1].startswith("    fix-login#4  Add a test please please")
    assert lines[2] == " 9  9 minutes ago   agent  R  app.py → src/app.py  +3 −1"
    assert lines[3] == "    saved"
    assert max(map(width, lines)) <= 80
    assert (
        history.file_history(FileHistory(path="x", versions=[]), screen()) == "No checkpoint has changed x.\n"
    )


def test_every_line_of_a_file_stands_behind_where_it_is_from() -> None:
    """The text keeps its columns, and can't play tricks with the terminal."""
    lines = [
        line(1, "import os\n", 2),
        line(2, "\tx = 1\r\n", 12, session="fix-login", turn=4),
        line(3, "\x1b", None),
    ]
    assert history.blame(Blame(path="a.py", lines=lines), screen()) == (
        "  2  2 minutes ago                1) import os\n"
        " 12  12 minutes ago  fix-login#4  2)     x = 1\n"
        "now  not saved                    3) \\x1b\n"
    )
    assert history.blame(Blame(path="a.py", lines=[]), screen()) == "a.py is empty.\n"


def test_what_was_found_is_shown_where_it_is() -> None:
    """The words are marked where they were found, whatever has to be written out before them."""
    said = SearchHit(
        found="message",
        time=NOW - MINUTE,
        snippet="\x1b[2J the login\ntest",
        marks=[(9, 14)],
        session="fix-login",
        turn=2,
        message=3,
        role="user",
        rewound=True,
    )
    path = SearchHit(found="path", time=NOW - MINUTE, snippet="src/login.py", marks=[(4, 9)], checkpoint=4)
    result = SearchResult(hits=[said, path])
    assert history.search_result(result, screen()) == (
        "1 minute ago  fix-login#2  message 4  user  rewound\n"
        "    \\x1b[2J the login test\n"
        "1 minute ago  checkpoint 4  path\n"
        "    src/login.py\n"
    )
    assert "the \x1b[1;33mlogin\x1b[0m test" in history.search_result(result, screen(colour=True))
    assert history.search_result(SearchResult(hits=[]), screen()) == "Nothing was found.\n"


def test_an_explanation_has_what_was_asked_what_was_done_and_which_files() -> None:
    """The three questions about a change that I did not make myself."""
    tools = [ToolUse(name="Edit", input='{"path":\n"a"}', started=NOW - MINUTE), ToolUse(name="Bash")]
    asked = TurnOfSession(session="fix-login", agent="claude", title="", turn=turn(tools=tools))
    found = checkpoint(
        42, change("src/app.py", insertions=2, deletions=1), kind="agent", message="done\nmore"
    )
    text = explanations.explanation(Explanation(checkpoint=found, turns=[asked]), screen())
    assert text == (
        "Checkpoint 42  agent  2 minutes ago: done\n"
        "\n"
        "Asked in turn 4 of fix-login (claude)\n"
        "  Add a test\n"
        "Done\n"
        '  14:29:00  Edit  {"path": "a"}\n'
        "  Bash\n"
        "\n"
        "Files\n"
        "  M  src/app.py  +2 −1\n"
        "  1 file changed  +3 −1\n"
    )
    alone = explanations.explanation(Explanation(checkpoint=checkpoint(1), turns=[]), screen())
    assert "It was made outside of all turns" in alone
    orphan = explanations.explanation(
        Explanation(checkpoint=checkpoint(1, session="gone"), turns=[]), screen()
    )
    assert "the session gone, but to no turn that is known" in orphan


@pytest.mark.parametrize(
    ("number", "of", "expected"),
    [
        (40, {}, False),  # the state before it
        (41, {}, True),
        (42, {}, True),
        (43, {}, False),
        (43, {"after": None, "ended": None}, True),  # under way
        (43, {"after": None}, False),  # ended without a checkpoint before this one was made
        (41, {"before": None}, True),
        (41, {"before": None, "started": NOW}, False),
        (42, {"before": 50}, True),  # its end, whatever else was recorded
    ],
)
def test_a_turn_led_to_the_checkpoints_that_were_made_in_it(
    number: int, of: dict[str, Any], expected: bool
) -> None:
    """Automatic checkpoints in the middle of a turn belong to what was asked, too."""
    made = checkpoint(number, timestamp=NOW - timedelta(seconds=30) if number > 42 else NOW - 2 * MINUTE)
    assert led_to(turn(**of), "fix-login", made) is expected


def test_a_turn_that_never_ended_has_no_part_in_what_others_saved() -> None:
    """An agent crashed last week; its turn is still open, and must not explain everything since."""
    unfinished = turn(after=None, ended=None)
    assert led_to(unfinished, "fix-login", checkpoint(43, session="fix-login"))
    assert not led_to(unfinished, "fix-login", checkpoint(43, session="other"))


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        ({}, True),
        ({"created": NOW}, False),
        ({"status": "ended", "updated": NOW - 3 * MINUTE}, False),
        ({"status": "ended", "updated": NOW}, True),
        ({"session": "mine", "created": NOW}, True),
    ],
)
def test_only_sessions_of_that_time_are_looked_at(of: dict[str, Any], expected: bool) -> None:
    """A thousand old sessions must not be read to explain one checkpoint."""
    known: dict[str, Any] = {
        "session": "s",
        "agent": "",
        "title": "",
        "phase": "",
        "status": "active",
        "turn_count": 0,
    }
    lineage = {"parent": None, "forked_from": None, "forked_at": None, "metadata": {}}
    times = {"created": NOW - 9 * MINUTE, "updated": NOW - 3 * MINUTE}
    session = SessionSummary(**{**known, **lineage, **times, **of})
    assert at_work(session, checkpoint(42, session="mine")) is expected


def test_a_timeline_says_where_the_log_begins():
    """What is not shown did happen: the first line is not where the story begins."""
    told = history.timeline([], screen(), first=1234)
    assert told.splitlines()[0] == "Events before number 1,234 are not kept any more."
