"""Times, sizes and counts in the words of a person. Pure: what time it is comes in as an argument."""

from datetime import datetime, timedelta, tzinfo

_MINUTE = timedelta(minutes=1)
_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)


def ago(time: datetime, now: datetime, zone: tzinfo | None = None) -> str:
    """When something was: the nearer it is, the more relative. `zone` None is the machine's."""
    age = now - time
    if -_MINUTE < age < timedelta(seconds=10):  # clocks of two machines differ a little
        return "just now"
    if timedelta(0) < age < _MINUTE:
        return f"{age.seconds} seconds ago"
    if timedelta(0) < age < _HOUR:
        return f"{count(age.seconds // 60, 'minute')} ago"
    local, today = time.astimezone(zone), now.astimezone(zone).date()
    if local.date() == today:
        return f"today {local:%H:%M}"
    if local.date() == today - _DAY:
        return f"yesterday {local:%H:%M}"
    return f"{local:%Y-%m-%d %H:%M}"


def since(time: datetime, now: datetime) -> str:
    """How long something has been going on."""
    age = max(now - time, timedelta(0))
    if age < _MINUTE:
        return count(age.seconds, "second")
    if age < _HOUR:
        return count(age.seconds // 60, "minute")
    if age < 2 * _DAY:
        return count(int(age / _HOUR), "hour")
    return count(age.days, "day")


def count(number: int, noun: str, plural: str | None = None) -> str:
    """A number of things: `1 file`, `1,200 files`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def rounded(number: int) -> str:
    """A number in at most five characters: `9,999`, `12k`, `801k`, `1.2M`."""
    if number < 10_000:
        return f"{number:,}"
    if number < 999_500:
        return f"{number / 1000:.0f}k"
    return f"{number / 1_000_000:.1f}M" if number < 99_950_000 else f"{number / 1_000_000:.0f}M"


def numbers(items: list[int]) -> str:
    """Numbers in few characters: `3, 5, 7–9`."""
    runs: list[list[int]] = []
    for item in sorted(items):
        if runs and item == runs[-1][-1] + 1:
            runs[-1].append(item)
        else:
            runs.append([item])
    return ", ".join(_run(run) for run in runs)


def _run(run: list[int]) -> str:
    if len(run) < 3:
        return ", ".join(map(str, run))
    return f"{run[0]}–{run[-1]}"
