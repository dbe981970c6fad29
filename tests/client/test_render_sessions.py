"""Conversations and going back as a person sees them."""

from datetime import timedelta
from typing import Any

import pytest

from backtrail.cli.characters import width
from backtrail.cli.render import rewinds, sessions
from backtrail.cli.spoken import Spoken, spoken
from backtrail.session_values import (
    Branched,
    ConversationSnapshot,
    DeletedSession,
    Forked,
    Resumption,
    RewindResult,
    Session,
    SessionPage,
    SessionSummary,
    ToolUse,
    Turn,
)
from backtrail.values import Conflict, Followed
from support.answers import NOW, screen, summary

MINUTE = timedelta(minutes=1)
TARGET = "the state before turn 4 of fix-login"


def turn(number: int, **others: Any) -> Turn:
    return Turn(
        **{
            "turn": number,
            "ordinal": number,
            "role": "user",
            "prompt": "Add a test",
            "started": NOW - (30 - number) * MINUTE,
            "ended": NOW - (29 - number) * MINUTE,
            "tools": [],
            "before": number + 3,
            "after": number + 4,
            "rewound": False,
            "interrupted": False,
            "messages": 2 * number,
            "metadata": {},
            **others,
        }
    )


def facts(name: str, **others: Any) -> dict[str, Any]:
    return {
        "session": name,
        "agent": "claude",
        "title": "Repair the login",
        "phase": "",
        "status": "active",
        "parent": None,
        "forked_from": None,
        "forked_at": None,
        "created": NOW - 120 * MINUTE,
        "updated": NOW - 3 * MINUTE,
        "turn_count": 3,
        "metadata": {},
        **others,
    }


def listed(name: str, **others: Any) -> SessionSummary:
    return SessionSummary(**facts(name, **others))


def session(*turns: Turn, **others: Any) -> Session:
    return Session(**facts("fix-login", **{"turns": list(turns), "snapshots": [], **others}))


def snapshot(**others: Any) -> ConversationSnapshot:
    known = {
        "number": 1,
        "generation": 1,
        "type": "checkpoint",
        "bytes": 99,
        "content_hash": "h",
        "created": NOW,
    }
    return ConversationSnapshot(**{**known, "message_count": 12, "redacted": {}, "metadata": {}, **others})


def rewound(**others: Any) -> RewindResult:
    return RewindResult(
        **{
            "session": "fix-login",
            "turn": 4,
            "scope": "both",
            "checkpoint": summary(9),
            "safety_checkpoint": None,
            "requires_confirmation": True,
            "plan": "p",
            "written": ["a.py", "esc\x1b.py"],
            "deleted": ["new.py"],
            "unchanged": 3,
            "conflicts": [Conflict(path="big.iso", reason="no checkpoint holds it")],
            "turns_rewound": [4, 5, 6],
            "messages_removed": 9,
            "message_count": 6,
            "conversation": [],
            "session_conflicts": [Conflict(path="both.py", reason="another session changed it too")],
            **others,
        }
    )


def test_a_list_of_sessions_has_a_line_for_each() -> None:
    """I look for the conversation of this morning, by its title, its agent or its time."""
    page = SessionPage(
        sessions=[listed("fix-login"), listed("sub", status="ended", agent="", phase="testing")]
    )
    assert sessions.session_list(page, screen(100)) == (
        "● active  fix-login  claude  3 minutes ago  3 turns  Repair the login\n"
        "○ ended   sub                3 minutes ago  3 turns  [testing] Repair the login\n"
    )
    assert sessions.session_list(SessionPage(sessions=[]), screen()) == "There are no such sessions.\n"


def test_an_id_is_never_cut_and_titles_give_way() -> None:
    """An id has to be typed or copied; half of a UUID is of no use."""
    name = "3f2c1a9e-12aa-4b7a-9a83-aaaabbbbcccc"
    page = SessionPage(sessions=[listed(name, title="T" * 200)], next="more")
    lines = sessions.session_list(page, screen(80)).splitlines()
    assert name in lines[0]
    assert lines[1].strip().startswith("TTT")
    assert max(map(width, lines)) <= 80
    assert "-n NUMBER" in lines[2]


def test_a_session_shows_its_turns_with_what_became_of_them() -> None:
    """Which turn to go back to is decided here."""
    tools = [ToolUse(name="Edit"), ToolUse(name="Bash"), ToolUse(name="Bash")]
    found = session(
        turn(1, tools=tools, prompt="Line one\n" + "word " * 40),
        turn(2, rewound=True),
        turn(3, ended=None, after=None),
        turn(4, interrupted=True),
        snapshots=[snapshot(redacted={"token": 2, "key": 1})],
        forked_from="other",
        forked_at="turn 5",
        metadata={"model": "x\x1b"},
    )
    lines = sessions.session(found, screen(60)).splitlines()
    assert lines[0] == "fix-login: Repair the login  ● active"
    assert "  forked from  other at turn 5" in lines
    assert "  messages     12" in lines
    assert "  taken out    3 secrets" in lines
    assert "  model        x\\x1b" in lines
    at = lines.index("  turn 1  29 minutes ago  checkpoints 4 → 5")
    assert lines[at + 1] == "      Line one"
    assert "      used Edit, Bash (2)" in lines
    assert "  turn 2  28 minutes ago  checkpoints 5 → 6  rewound" in lines
    assert "  turn 3  27 minutes ago  checkpoints 6 → ?  under way" in lines
    assert "  turn 4  26 minutes ago  checkpoints 7 → 8  interrupted" in lines
    assert max(map(width, lines)) <= 60


def test_a_very_long_prompt_does_not_bury_the_turns() -> None:
    """Somebody pasted a log file into a prompt."""
    lines = sessions.turn_rows(turn(1, prompt="line\n" * 1000), screen())
    assert lines[-1].strip() == "…"
    assert len(lines) < 10


@pytest.mark.parametrize(
    ("message", "role", "text"),
    [
        ({"role": "user", "content": "hello"}, "user", "hello"),
        ({"type": "user", "message": {"role": "user", "content": "inner"}}, "user", "inner"),
        (
            {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            "assistant",
            "a\nb",
        ),
        (
            {"role": "assistant", "content": [{"type": "tool_use", "name": "Edit", "input": {"p": 1}}]},
            "assistant",
            '[Edit] {"p":1}',
        ),
        ({"role": "user", "content": [{"type": "tool_result", "content": "out"}]}, "user", "out"),
        ({"role": "user", "content": [{"type": "image", "source": {"data": "AAAA"}}]}, "user", "[image]"),
        ({"role": "model", "parts": [{"text": "hi"}]}, "model", "hi"),
        (
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"function": {"name": "ls", "arguments": "{}"}}],
            },
            "assistant",
            "[ls] {}",
        ),
        ({"type": "summary", "leaf": 1}, "summary", '{"type":"summary","leaf":1}'),
        ("bare text", "message", "bare text"),
        ([1, None], "message", "[1,null]"),
        ({"role": 7, "content": [{}, None, 5]}, "message", "{}\nnull\n5"),
        ({"role": "user", "content": ""}, "user", '{"role":"user","content":""}'),
        ({"tool_calls": [5, {"function": 5}]}, "message", '{"tool_calls":[5,{"function":5}]}'),
    ],
)
def test_a_message_of_any_agent_says_something(message: Any, role: str, text: str) -> None:
    """Agents have shapes of their own, and new ones every month; none of them may end in an error."""
    assert spoken(message) == Spoken(role, text)


def test_a_message_that_is_nested_too_deeply_to_be_shown_is_no_bug() -> None:
    """The daemon hands on whatever JSON can be; `session export` has it as it is."""
    message: Any = "x"
    for _ in range(490):
        message = [{"type": "tool_result", "content": message}]
    shown = spoken({"role": "user", "content": message})
    assert shown == Spoken("user", "[nested too deeply to be shown]")


def test_what_was_said_is_wrapped_and_harmless() -> None:
    """A transcript holds whatever a web page said to the agent, escape sequences too."""
    said = [
        {"role": "user\x1b[2J", "content": "one\ttwo\x1b[31m\n" + "word " * 30},
        {"role": "assistant", "content": "ok"},
    ]
    lines = sessions.messages(said, 10, screen(40)).splitlines()
    assert lines[0] == "user\\x1b[2J 11"
    assert lines[1] == "  one two\\x1b[31m"
    assert lines[-3:] == ["assistant 12", "  ok", ""]
    assert max(map(width, lines)) <= 40
    piped = sessions.messages(said, 0, screen(40, terminal=False)).splitlines()
    assert piped[2] == "  " + ("word " * 30).rstrip()


def test_a_deleted_session_says_what_is_left() -> None:
    """The checkpoints are not gone with it."""
    gone = DeletedSession(session="fix-login", checkpoints=[3, 4, 5])
    assert "Retention decides about checkpoints 3–5." in sessions.session_deleted(gone, screen())
    assert "checkpoint" not in sessions.session_deleted(DeletedSession(session="x", checkpoints=[]), screen())


def test_the_plan_of_a_rewind_says_everything_that_would_happen() -> None:
    """I decide about my files and my conversation on the ground of this text."""
    assert rewinds.rewind_plan(rewound(), TARGET, screen()) == (
        "Going back to the state before turn 4 of fix-login would\n"
        "  write 2 files\n"
        "      a.py\n"
        "      esc\\x1b.py\n"
        "  delete 1 file\n"
        "      new.py\n"
        "  hide turns 4–6 and 9 messages\n"
        "  not touch 2 paths\n"
        "      big.iso: no checkpoint holds it\n"
        "      both.py: another session changed it too\n"
    )
    nothing = rewound(requires_confirmation=False, conflicts=[], session_conflicts=[])
    assert rewinds.rewind_plan(nothing, TARGET, screen()) == f"Everything is already in {TARGET}.\n"


def test_a_rewind_says_how_to_go_on_and_how_to_take_it_back() -> None:
    """The prompt is there to be changed and sent again."""
    done = rewound(
        safety_checkpoint=summary(12), prompt="Do this\nand that", conflicts=[], session_conflicts=[]
    )
    lines = rewinds.rewind_done(done, TARGET, screen()).splitlines()
    assert lines[0] == "Went back to the state before turn 4 of fix-login:"
    assert "  hidden turns 4–6 and 9 messages" in lines
    assert "The conversation has 6 messages." in lines
    assert lines[-4] == "The state before it is checkpoint 12; `backtrail undo` goes back to it."
    assert lines[-2:] == ["  Do this", "  and that"]


def test_a_rewind_tells_what_happens_in_every_folder_that_the_session_follows() -> None:
    """Whoever says yes says it to all of them."""
    changed = Followed(workspace="tree-1", root="/home/ann/tree", checkpoint=3, written=["x.py"])
    same = Followed(workspace="docs-1", root="/home/ann/docs", checkpoint=5)
    done = rewound(also=[changed, same])
    lines = rewinds.rewind_plan(done, TARGET, screen()).splitlines()
    assert lines[lines.index("in ~/tree") + 1] == "  write 1 file"
    assert "in ~/docs" not in lines
    assert "in ~/tree" in rewinds.rewind_done(done, TARGET, screen()).splitlines()


def test_a_resumed_session_tells_where_it_was() -> None:
    """After a crash: what was it doing, and are the files still those?"""
    said = [{"role": "user", "content": f"message {number}"} for number in range(12)]
    found = Resumption(
        session=session(turn(3)),
        last_turn=turn(3, ended=None),
        interrupted=True,
        checkpoint=summary(7),
        added_files=["n.py"],
        modified_files=["m.py"],
        deleted_files=[],
        message_count=12,
        conversation=said,
    )
    text = rewinds.resumption(found, screen())
    assert "Its last turn was interrupted:\n  turn 3" in text
    assert "Since its checkpoint 7, 2 files changed:\n  A  n.py\n  M  m.py\n`backtrail restore 7`" in text
    assert "The conversation has 12 messages; it ends:" in text
    assert text.endswith("user 12\n  message 11\n")
    assert "message 7" not in text


def test_a_fork_and_a_branch_say_what_was_taken_and_where_it_is() -> None:
    """A word may have meant a session or a checkpoint; I want to know which."""
    made = Forked(
        workspace="w-1",
        root="/home/ann/other",
        checkpoint=1,
        session="fix-login-fork-1",
        forked_from="fix-login",
        forked_at="turn 5",
        files=1200,
    )
    text = rewinds.forked(made, "the session fix-login after turn 5", screen())
    assert text.startswith(
        "~/other holds 1,200 files of the session fix-login after turn 5, and is watched.\n"
    )
    assert "The session fix-login-fork-1 goes on there" in text
    branch = Branched(repository="/home/ann/work", branch="try", commit="a" * 40, parent=None, checkpoint=42)
    assert rewinds.branched(branch, screen()).startswith(
        "The branch try of ~/work holds checkpoint 42: commit aaaaaaaaaa.\n"
    )
