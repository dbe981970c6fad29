"""What a checkpoint's name means: numbers, ids, `@`, times. Pure: `History` says which checkpoints exist."""

import re
from calendar import monthrange
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Protocol

from msgspec import Struct

from backtrail import pathtext
from backtrail.errors import AmbiguousCheckpoint, UnknownCheckpoint, UsageError
from backtraild.model import Path

MIN_PREFIX = 4

_NAME_FORMS = (
    "A checkpoint is named by its number (42), by 4 or more characters of its id, by @ (the newest), "
    "@~3 (three before it), @{10 minutes ago} or @{2026-11-15 14:03}; `backtrail list` shows them."
)
_TIME_FORMS = (
    "Times look like: now, 10 minutes ago, 2h ago, an hour ago, yesterday, yesterday 14:03, 14:03, "
    "2026-11-15, 2026-11-15 14:03, 2026-11-15T14:03:22Z."
)
# SQLite's integers end at 19 digits, and no workspace has that many checkpoints: longer ones are ids.
_NUMBER = r"[1-9][0-9]{0,17}"
_HEX = r"[0-9a-f]+"
_BACK = r"@(?:~([0-9]{0,18}))?"
_AT = r"@\{([^}]*)\}"
_SHORT_ID = 12
_SHOWN_CANDIDATES = 5


class History(Protocol):
    """The checkpoints that exist, as far as names need them."""

    def newest(self, skip: int) -> int | None:
        """The number of the newest checkpoint after leaving out `skip` newer ones."""
        ...

    def oldest(self) -> int | None:
        """The lowest number there is."""
        ...

    def has(self, number: int) -> bool:
        """Does this number exist (still)?"""
        ...

    def by_prefix(self, prefix: str) -> Sequence[tuple[int, str]]:
        """Number and hex id of those whose id starts with this lower-case prefix."""
        ...

    def newest_at(self, time: datetime) -> int | None:
        """The newest checkpoint made at or before this time."""
        ...


class Name(Struct, frozen=True):
    """A name as it was typed, taken apart: which checkpoint, and which file in it if one is named."""

    checkpoint: str
    path: Path | None = None


def split(text: str) -> Name:
    """Take `42:src/app.py` apart. A colon inside `@{14:03}` belongs to the time."""
    text = text.strip()
    at = re.match(_AT, text)
    end = at.end() if at else len(text.partition(":")[0])
    checkpoint, rest = text[:end], text[end:]
    if not rest:
        return Name(checkpoint)
    if not rest.startswith(":"):
        raise UsageError(f"“{_shown(text)}” is not the name of a checkpoint.", _NAME_FORMS)
    return Name(checkpoint, _path(rest[1:], text))


def resolve(text: str, history: History, now: datetime, zone: tzinfo | None = None) -> int:
    """The number of the checkpoint that goes by this name.

    All digits are a number if that number exists, and otherwise the beginning of an id. With a leading zero
    they are never a number: `0042` was copied from an id, and taking it for 42 would be the wrong checkpoint.
    """
    name = split(text)
    if name.path is not None:
        raise UsageError(
            f"“{_shown(text)}” names a file, but a checkpoint is wanted here.",
            f"Use “{_shown(name.checkpoint)}”.",
        )
    if not name.checkpoint:
        raise UsageError("The name of the checkpoint is empty.", _NAME_FORMS)
    if name.checkpoint.startswith("@"):
        return _resolve_at(name.checkpoint, history, now, zone)
    return _resolve_plain(name.checkpoint, history)


def parse_time(text: str, now: datetime, zone: tzinfo | None = None, *, last: bool = True) -> datetime:
    """The instant, in UTC, that a person means by a time such as `10 minutes ago` or `2026-11-15 14:03`.

    What was said stands for the whole of it: `14:03` for that minute, `2026-11-15` and `yesterday` for that
    day. `last` picks its last instant, for “at or before” and --until; otherwise its first, for --since. So
    `@{14:03}` finds the checkpoint that a list shows at 14:03, and `@{2026-11-15}` the last one of that day.
    A time without an offset is in `zone`, or else in the machine's own with its rules for summer time. An
    hour that comes twice in autumn counts from its first beginning to its second end.
    """
    try:
        return _instant(" ".join(text.lower().split()), now, zone, last)
    except (
        ValueError,
        LookupError,
        OverflowError,
        OSError,
    ):  # no such day, unit or year; beyond the C library
        raise UsageError(f"“{_shown(text)}” is not a time that Backtrail understands.", _TIME_FORMS) from None


def _path(text: str, name: str) -> Path:
    try:
        path = pathtext.from_text(text)
    except ValueError:
        raise UsageError(f"The path in “{_shown(name)}” cannot be read.", "") from None
    parts = [part for part in path.split(b"/") if part not in (b"", b".")]
    if path.startswith(b"/") or b".." in parts or b"\0" in path or not parts:
        raise UsageError(
            f"“{_shown(name)}” does not name a file in the workspace.",
            "After the colon comes a path relative to the workspace's root, as in 42:src/app.py.",
        )
    return b"/".join(parts)


def _resolve_at(name: str, history: History, now: datetime, zone: tzinfo | None) -> int:
    if at := re.fullmatch(_AT, name):
        time = parse_time(at[1], now, zone)
        found = history.newest_at(time)
        missing = f"There is no checkpoint at or before {time.astimezone(zone):%Y-%m-%d %H:%M:%S}."
    elif back := re.fullmatch(_BACK, name):
        skip = 0 if name == "@" else int(back[1] or 1)
        found = history.newest(skip)
        missing = f"There are not enough checkpoints for “{name}”." if skip else "There is no checkpoint yet."
    else:
        raise UsageError(f"“{_shown(name)}” is not the name of a checkpoint.", _NAME_FORMS)
    if found is None:
        raise UnknownCheckpoint(missing, _existing(history))
    return found


def _resolve_plain(name: str, history: History) -> int:
    if re.fullmatch(_NUMBER, name) and history.has(int(name)):
        return int(name)
    prefix = name.lower()
    if not re.fullmatch(_HEX, prefix):
        raise UnknownCheckpoint(f"No checkpoint is called “{_shown(name)}”.", _NAME_FORMS)
    if len(prefix) < MIN_PREFIX and not re.fullmatch(_NUMBER, name):
        raise UnknownCheckpoint(
            f"“{name}” is too short for an id.",
            f"Give {MIN_PREFIX} or more characters of it. {_existing(history)}",
        )
    found = history.by_prefix(prefix) if len(prefix) >= MIN_PREFIX else []
    if not found:
        raise UnknownCheckpoint(f"There is no checkpoint {_shown(name)}.", _existing(history))
    if len(found) > 1:
        raise _ambiguous(name, found)
    return found[0][0]


def _ambiguous(name: str, found: Sequence[tuple[int, str]]) -> AmbiguousCheckpoint:
    candidates = [f"{number} ({hex_id[:_SHORT_ID]})" for number, hex_id in sorted(found, reverse=True)]
    more = f" and {len(found) - _SHOWN_CANDIDATES} more" if len(found) > _SHOWN_CANDIDATES else ""
    return AmbiguousCheckpoint(
        f"“{name}” could be {len(found)} checkpoints: {', '.join(candidates[:_SHOWN_CANDIDATES])}{more}.",
        "Give more characters of the id, or the number.",
    )


def _existing(history: History) -> str:
    oldest, newest = history.oldest(), history.newest(0)
    if oldest is None or newest is None:
        return "This workspace has no checkpoints yet; `backtrail save` makes one."
    if oldest == newest:
        return f"The only checkpoint is {newest}."
    return (
        f"Checkpoints go from {oldest} to {newest}, some may have been deleted; `backtrail list` shows them."
    )


def _shown(text: str) -> str:
    """What was typed, made safe to print back."""
    safe = "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in text)
    return safe if len(safe) <= 60 else safe[:59] + "…"


_UNITS = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}
_MONTHS = {"month": 1, "year": 12}
_SHORT_UNITS = {"s": "second", "sec": "second", "m": "minute", "min": "minute", "h": "hour", "hr": "hour"}
_SHORT_UNITS |= {"d": "day", "w": "week", "wk": "week", "mo": "month", "y": "year", "yr": "year"}
_WORDS = r"[0-9]+|[a-z]+|[^ ,]"
_MOMENT = (
    r"(?a)(today|yesterday|[0-9]{4}-[0-9]{2}-[0-9]{2})?"
    r"(?:(?:^|t| |, ?| at )([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?)?"
    r"(?: ?(z|utc|[+-][0-9]{2}:?(?:[0-9]{2})?))?"
)


def _instant(text: str, now: datetime, zone: tzinfo | None, last: bool) -> datetime:
    if text == "now":
        return now.astimezone(UTC)
    if text.endswith(" ago"):
        return _ago(text.removesuffix(" ago"), now, zone, last)
    match = re.fullmatch(_MOMENT, text)
    if not match or not (match[1] or match[2]) or (match[6] and not match[2]):
        raise ValueError(text)
    zone = _offset(match[6]) if match[6] else zone
    start = _start(match, now.astimezone(zone).replace(tzinfo=None))
    return _universal(start + _width(match) - timedelta(microseconds=1) if last else start, zone, last)


def _start(match: re.Match[str], local: datetime) -> datetime:
    day, (hour, minute, second, fraction) = match[1], match.groups("0")[1:5]
    if day == "yesterday":
        local -= timedelta(days=1)
    elif day not in (None, "today"):
        local = datetime.fromisoformat(day)
    microsecond = int(fraction[:6].ljust(6, "0"))
    return local.replace(hour=int(hour), minute=int(minute), second=int(second), microsecond=microsecond)


def _width(match: re.Match[str]) -> timedelta:
    """How long what was said lasts: a day, a minute, a second, or the last digit of a fraction."""
    if not match[2]:
        return timedelta(days=1)
    if not match[4]:
        return timedelta(minutes=1)
    return timedelta(microseconds=10 ** max(0, 6 - len(match[5] or "")))


def _ago(text: str, now: datetime, zone: tzinfo | None, last: bool) -> datetime:
    """Hours and days are elapsed time; months and years go by the calendar, to the month's end at most."""
    tokens = [word for word in re.findall(_WORDS, text) if word != "and"]
    if not tokens:
        raise ValueError(text)
    elapsed, months = timedelta(0), 0
    for amount, word in zip(tokens[::2], tokens[1::2], strict=True):
        count = 1 if amount in ("a", "an", "one") else int(amount)
        unit = word.removesuffix("s") if len(word) > 2 else word
        unit = _SHORT_UNITS.get(unit, unit)
        if unit in _MONTHS:
            months += count * _MONTHS[unit]
        else:
            elapsed += count * _UNITS[unit]
    then = now.astimezone(UTC) - elapsed
    if not months:
        return then
    return _universal(_months_before(then.astimezone(zone).replace(tzinfo=None), months), zone, last)


def _months_before(local: datetime, months: int) -> datetime:
    year, month = divmod(local.year * 12 + local.month - 1 - months, 12)
    last_day = monthrange(year, month + 1)[1]
    return local.replace(year=year, month=month + 1, day=min(local.day, last_day))


def _offset(text: str) -> tzinfo:
    if text in ("z", "utc"):
        return UTC
    digits = text[1:].replace(":", "").ljust(4, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset)


def _universal(local: datetime, zone: tzinfo | None, last: bool) -> datetime:
    """A local time in UTC. In the hour that comes twice, or never, it has two readings, and both are fine."""
    readings = [local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)]
    return max(readings) if last else min(readings)
