"""Which packs to merge, and which to write again without what nobody needs. Pure."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

WASTEFUL = 0.25  # from this part of a pack on, what nobody needs is worth a copy of the rest
MUCH_LARGER = 6  # times: a pack is not copied for the sake of less
AT_ONCE = 1000  # packs of a kind: more files would take their time to remove, and saves would have to wait


class Pack(Struct, frozen=True):
    """A pack in bytes, its index included: all its objects, those that are needed, and a copy of those."""

    name: str
    size: int
    live: int
    copy: int
    is_hasty: bool = False  # a save wrote it, and it can be made smaller

    @property
    def dead(self) -> int:
        """What would be given back."""
        return self.size - self.live


class Plan(Struct, frozen=True):
    """`removed` hold nothing that is needed. Each group becomes one pack."""

    removed: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    more: bool  # what did not fit is worth another round, for which this one makes room


def plan(packs: Iterable[Pack], room: int, urgent: bool) -> Plan:
    """What to do in one round, with copies of no more than `room` bytes at a time when the old ones are still there."""
    ordered = sorted(packs, key=lambda pack: (pack.live, pack.name))
    dead = [pack for pack in ordered if not pack.live]
    kept = ordered[len(dead) :]
    small = _geometric(kept, urgent)
    wasteful = [pack for pack in kept[len(small) :] if _is_wasteful(pack, urgent)]
    wanted: list[Sequence[Pack]] = [small[:AT_ONCE], *([pack] for pack in wasteful[:AT_ONCE])]
    groups: list[Sequence[Pack]] = []
    for group in sorted(filter(None, wanted), key=_price):
        fitting = _fitting(group, room, urgent)
        if fitting:
            groups.append(fitting)
            room -= _copy(fitting)
    removed = tuple(pack.name for pack in dead[:AT_ONCE])
    done = len(removed) + sum(map(len, groups))
    return Plan(
        removed,
        tuple(tuple(pack.name for pack in group) for group in groups),
        more=0 < done < len(dead) + len(small) + len(wasteful),
    )


def _geometric(ordered: Sequence[Pack], urgent: bool) -> Sequence[Pack]:
    """The smaller packs, up to the largest that is hasty, or at most so many times as large as all before it together.

    What is left is larger than that: so there are never many packs, and whenever an object is copied again, the pack
    that it is in has grown by a part. A file that is in two packs takes its space twice, because deltas stay within
    one: the part is what that can add to a store. A large hasty pack takes its time, for which nobody may have to wait.
    """
    smaller, end = 0, 0
    for at, pack in enumerate(ordered):
        if at and ((pack.is_hasty and not urgent) or MUCH_LARGER * smaller >= pack.live):
            end = at + 1
        smaller += pack.live
    return ordered[:end]


def _is_wasteful(pack: Pack, urgent: bool) -> bool:
    return pack.dead > 0 if urgent else pack.dead >= WASTEFUL * pack.size


def _price(group: Sequence[Pack]) -> float:
    """How many bytes are copied for each that is given back."""
    return _copy(group) / (sum(pack.dead for pack in group) or 0.5)


def _fitting(group: Sequence[Pack], room: int, urgent: bool) -> Sequence[Pack]:
    """As many of the group, from the smallest on, as there is room for; none if that would change nothing."""
    while group and _copy(group) > room:
        group = group[:-1]
    return group if len(group) > 1 or any(_is_wasteful(pack, urgent) for pack in group) else ()


def _copy(group: Sequence[Pack]) -> int:
    return sum(pack.copy for pack in group)
