"""Sessions as the full screen gets them, with only what a test is about said."""

from datetime import timedelta
from typing import Any

from backtrail.cli.browse.model import State, opened
from backtrail.session_values import ConversationSnapshot, RewindResult, Session, Turn
from support.answers import NOW

MINUTE = timedelta(minutes=1)


def turn(number: int, **others: Any) -> Turn:
    known = {
        "turn": number,
        "ordinal": number,
        "role": "user",
        "prompt": f"ask for {number}",
        "started": NOW - MINUTE,
        "ended": NOW,
        "tools": [],
        "before": number,
        "after": number + 1,
        "rewound": False,
        "interrupted": False,
        "messages": 2 * number,
        "metadata": {},
    }
    return Turn(**{**known, **others})


def snapshot(number: int, **others: Any) -> ConversationSnapshot:
    known = {
        "number": number,
        "generation": 1,
        "type": "checkpoint",
        "message_count": 2 * number,
        "bytes": 100,
        "content_hash": "0" * 64,
        "created": NOW,
        "redacted": {},
        "metadata": {},
        "turn": number,
    }
    return ConversationSnapshot(**{**known, **others})


def session(*turns: Turn, **others: Any) -> Session:
    known = {
        "session": "fix-login",
        "agent": "claude",
        "title": "Repair the login",
        "phase": "",
        "status": "active",
        "parent": None,
        "forked_from": None,
        "forked_at": None,
        "created": NOW,
        "updated": NOW,
        "turn_count": len(turns),
        "metadata": {},
        "turns": list(turns),
        "snapshots": [],
    }
    return Session(**{**known, **others})


def rewind(number: int, **others: Any) -> RewindResult:
    known = {
        "session": "fix-login",
        "turn": number,
        "scope": "both",
        "checkpoint": None,
        "safety_checkpoint": None,
        "requires_confirmation": True,
        "plan": "agreed",
        "written": ["src/app.py"],
        "deleted": ["src/new.py", "src/newer.py"],
        "unchanged": 1,
        "conflicts": [],
        "turns_rewound": [number],
        "messages_removed": 4,
        "message_count": 2,
        "conversation": [],
    }
    return RewindResult(**{**known, **others})


def looking(turns: int = 3, lines: int = 24, columns: int = 80) -> State:
    """A session of so many turns, just opened; each changed as many files as its checkpoint's number says."""
    found = session(*(turn(number) for number in range(1, turns + 1)))
    return opened(found, {number: number for number in range(1, turns + 2)}, lines, columns)
