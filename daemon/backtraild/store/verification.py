"""Checking all checkpoints and conversations of a repository that somebody else may be writing to.

Nothing is changed and nothing is shared with the writer: files are opened for reading only, by readers of its
own. What is let go in the meantime is no problem, and what is made in the meantime is not looked at.
"""

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from backtrail.errors import StoreDamaged, StoreFailed
from backtraild.model import Path
from backtraild.store import mending, record
from backtraild.store.examiner import SOUND, UNLISTED, Examiner, Stopped
from backtraild.store.numbering import HIGHEST
from backtraild.store.pins import PINNED
from backtraild.store.reader import Objects
from backtraild.store.refs import CHECKPOINTS, Refs, numbers_among

# Where sessions and what was said in them hang.
CONVERSATIONS = ("refs/sessions", "refs/transcripts")


class Problem(Struct, frozen=True):
    """Something that is wrong, and the checkpoints it is wrong for; none where it concerns the store itself.

    The path is one at which these checkpoints hold what is damaged, where it is a file or a folder.
    """

    checkpoints: tuple[int, ...]
    path: Path | None
    message: str


class Verification(Struct, frozen=True):
    """What a check found. `whole` and `damaged` are all that were checked; without `complete`, not all were.

    `unlisted` counts the problems beyond those that are listed. `healed` are those of the whole ones that were
    damaged until what they lack was stored again; the problems are those that were found before.
    """

    whole: tuple[int, ...]
    damaged: tuple[int, ...]
    objects: int
    bytes: int
    problems: tuple[Problem, ...]
    unlisted: int
    complete: bool
    healed: tuple[int, ...] = ()

    def healed_by(self, after: "Verification") -> "Verification":
        """What is to be told once everything was checked again after a healing."""
        healed = tuple(sorted(set(self.damaged) & set(after.whole)))
        whole = tuple(sorted((set(self.whole) & set(after.whole)) | set(healed)))
        damaged = tuple(sorted({*self.whole, *self.damaged}.difference(whole)))
        return replace(self, whole=whole, damaged=damaged, healed=healed)


def verify(
    git_dir: str,
    listed: Callable[[], Collection[int]],
    stop: Callable[[], bool],
    progress: Callable[[int], None],
) -> Verification:
    """Read everything that checkpoints and conversations lead to and check it. Damage is told, never raised.

    `listed` gives the numbers known from elsewhere: a checkpoint among them without a ref has lost it.
    """
    refs = Refs(git_dir)
    try:
        numbers = _numbers(refs, listed)
        # Before the packs are opened: what a ref held by then is in them.
        talks = _conversations(refs)
    except OSError as error:
        return _hopeless(listed(), f"The references of the store can't be read: {_reason(error)}.")
    try:
        objects = Objects(git_dir)
    except OSError as error:
        return _hopeless(numbers, f"The packs of the store can't be read: {_reason(error)}.")
    check = _Check(refs, objects, Examiner(objects, stop, progress))
    damage, complete = check.checkpoints(numbers)
    spoken, said_all = check.conversations(talks)
    try:
        present = _numbers(refs, listed)
    except OSError:  # it went away in the meantime, and everything that was found is to be told
        present = numbers
    left = {number: found for number, found in sorted(damage.items()) if number in present}
    problems = [
        *_without_folder(git_dir),
        *check.pins(),
        *check.packed(),
        *check.highest(),
        *check.problems(left),
        *spoken,
    ]
    if not problems:  # else it is told by what is missing because of it
        problems = list(_packs(git_dir))
    return Verification(
        whole=tuple(number for number, found in left.items() if found == SOUND),
        damaged=tuple(number for number, found in left.items() if found != SOUND),
        objects=check.examiner.objects,
        bytes=check.examiner.bytes,
        problems=tuple(problems),
        unlisted=check.examiner.unlisted if any(found & UNLISTED for found in left.values()) else 0,
        complete=complete and said_all,
    )


class _Check:
    """One check of one repository."""

    def __init__(self, refs: Refs, objects: Objects, examiner: Examiner) -> None:
        self._refs = refs
        self._objects = objects
        self.examiner = examiner

    def checkpoints(self, numbers: Collection[int]) -> tuple[dict[int, int], bool]:
        """What is wrong with each, the newest first, and whether all were reached."""
        damage: dict[int, int] = {}
        try:
            for number in sorted(numbers, reverse=True):
                damage[number] = self._checkpoint(number)
        except Stopped:
            return damage, False
        return damage, True

    def conversations(self, talks: Mapping[str, str | None]) -> tuple[list[Problem], bool]:
        """What is wrong with sessions and transcripts, and whether all were reached."""
        found: list[Problem] = []
        try:
            for name, commit_id in talks.items():
                told = self._conversation(commit_id)
                if told is not None and self._value(name) == commit_id:  # not replaced or deleted meanwhile
                    found.append(Problem((), None, f"{name} can't be read to the end: {told}"))
        except Stopped:
            return found, False
        return found, True

    def _conversation(self, commit_id: str | None) -> str | None:
        """The first thing that is wrong; None where all is well."""
        if commit_id is None:
            return "its reference is damaged."
        try:
            content = self.examiner.commit(bytes.fromhex(commit_id))
            damage = self.examiner.tree(bytes.fromhex(content[:45].decode().removeprefix("tree ")))
        except (StoreDamaged, StoreFailed) as error:
            return error.message
        except ValueError:
            return f"commit {commit_id} names no tree."
        if damage == SOUND:
            return None
        first = (damage & -damage).bit_length() - 1
        return (
            self.examiner.flaws[first].message
            if first < len(self.examiner.flaws)
            else "an object is damaged."
        )

    def problems(self, damage: Mapping[int, int]) -> Iterator[Problem]:
        """What was found, with the checkpoints that each of it concerns."""
        for at, flaw in enumerate(self.examiner.flaws):
            affected = tuple(number for number, found in damage.items() if found >> at & 1)
            if affected:
                yield Problem(affected, flaw.path, flaw.message)

    def pins(self) -> Iterator[Problem]:
        """Pins that hold nothing, or something else. Backtrail goes by their names, but git stumbles over them."""
        for name in self._names(PINNED):
            pinned, held = self._value(f"{PINNED}/{name}"), self._value(f"{CHECKPOINTS}/{name}")
            is_other = pinned is None or (held is not None and pinned != held)
            if numbers_among([name]) and is_other and name in self._names(PINNED):
                message = f"The pin of checkpoint {name} is damaged: unpin the checkpoint and pin it again."
                yield Problem((int(name),), None, message)

    def packed(self) -> Iterator[Problem]:
        """Lines of git's file of references that say nothing."""
        damaged = [name for name, held in self._every() if held is None and name.startswith("packed-refs")]
        if damaged:
            message = f"{len(damaged):,} lines of the file packed-refs can't be read: references may be lost."
            yield Problem((), None, message)

    def _every(self) -> list[tuple[str, str | None]]:
        try:
            return list(self._refs.every())
        except OSError:
            return []

    def highest(self) -> Iterator[Problem]:
        """The number that must not be given out again."""
        folder, name = HIGHEST.rsplit("/", 1)
        if name not in self._names(folder):
            return
        try:
            int(self._objects.read_blob(bytes.fromhex(self._value(HIGHEST) or "")))
        except (StoreDamaged, StoreFailed, ValueError):
            message = "The highest number of a deleted checkpoint is lost: its number may be given out again."
            yield Problem((), None, message)

    def _checkpoint(self, number: int) -> int:
        examiner = self.examiner
        commit_id = self._value(f"{CHECKPOINTS}/{number}")
        if commit_id is None:
            return examiner.flaw(None, f"The reference of checkpoint {number} is missing or damaged.")
        try:
            content = examiner.commit(bytes.fromhex(commit_id))
            checkpoint = record.decode(commit_id, content, pinned=False)
            tree = bytes.fromhex(checkpoint.tree)
        except (StoreDamaged, StoreFailed) as error:
            return examiner.flaw(None, error.message)
        except ValueError:
            return examiner.flaw(None, f"Commit {commit_id} names no tree.")
        if checkpoint.number != number:
            message = f"The reference of checkpoint {number} leads to checkpoint {checkpoint.number}."
            return examiner.flaw(None, message)
        return examiner.tree(tree)

    def _value(self, name: str) -> str | None:
        try:
            return self._refs.read(name)
        except OSError:
            return None

    def _names(self, folder: str) -> list[str]:
        try:
            return self._refs.names(folder)
        except OSError:
            return []


def _numbers(refs: Refs, listed: Callable[[], Collection[int]]) -> set[int]:
    """All checkpoints that anything tells of. A deletion takes the row first, then the pin, then the ref."""
    known = set(listed())
    names = [*refs.names(PINNED), *refs.names(CHECKPOINTS)]
    return known | numbers_among(names)


def _conversations(refs: Refs) -> dict[str, str | None]:
    """The refs of sessions and transcripts, and the commits that they hold; None where one is damaged."""
    names = [f"{folder}/{name}" for folder in CONVERSATIONS for name in refs.names(folder)]
    return {name: refs.read(name) for name in names}


def _packs(git_dir: str) -> Iterator[Problem]:
    """Damage that hit nothing which a checkpoint needs now, but spreads to what git and upkeep make of it."""
    with contextlib.suppress(OSError):
        # A new pack has its name before its index has, and an old one loses it before that one does. Any other has
        # both, and is as damaged at a second look as at the first.
        suspects = [name for name in mending.flawed(git_dir) if _has_index(git_dir, name)]
        flaws = mending.flawed(git_dir) if suspects else {}
        for name in sorted(flaws.keys() & set(suspects)):
            yield Problem((), None, f"{name} is damaged where no checkpoint needs it: {flaws[name]}.")


def _has_index(git_dir: str, name: str) -> bool:
    return os.path.exists(os.path.join(git_dir, "objects", "pack", name + ".idx"))


def _without_folder(git_dir: str) -> Iterator[Problem]:
    """Git may pack all refs into one file and remove their folder; with neither, something else did."""
    folder = os.path.join(git_dir, CHECKPOINTS)
    if not os.path.isdir(folder) and not os.path.isfile(os.path.join(git_dir, "packed-refs")):
        yield Problem((), None, f"The folder that holds the references of checkpoints is missing: {folder}.")


def _hopeless(numbers: Collection[int], message: str) -> Verification:
    affected = tuple(sorted(numbers))
    return Verification((), affected, 0, 0, (Problem(affected, None, message),), 0, complete=True)


def _reason(error: OSError) -> str:
    where = f" ({os.fsdecode(error.filename)})" if error.filename else ""
    return f"{error.strerror or error}{where}"
