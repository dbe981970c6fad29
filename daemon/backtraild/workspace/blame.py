"""Where each line of a file comes from: the checkpoint, session and turn that brought it in."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from msgspec import Struct

from backtrail.errors import StoreDamaged, UnknownPath, UsageError
from backtrail.pathtext import to_text
from backtraild.model import SYMLINK_MODE, TREE_MODE, Checkpoint, Entry, Path
from backtraild.store import MAX_COMPARED_BYTES, ContentSource, count_lines, edits, is_binary
from backtraild.workspace.annals import Annals
from backtraild.workspace.history import History
from backtraild.workspace.recorder import Recorder


class Origin(Struct, frozen=True):
    """The checkpoint in which a line appeared, and what is known about it."""

    checkpoint: int
    session: str | None
    turn: int | None
    timestamp: datetime


class Line(Struct, frozen=True):
    """One line without its end; without an origin it is not saved yet. `exact` is False where it was not
    UTF-8 and has U+FFFD in the place of such bytes."""

    text: str
    origin: Origin | None
    exact: bool = True


class _Content(Struct, frozen=True):
    """A version's bytes and, line by line, where they come from."""

    text: bytes = b""
    origins: tuple[Origin | None, ...] = ()


class Blame:
    """Passes lines on from version to version, oldest first, the way git does it."""

    def __init__(self, annals: Annals, history: History, recorder: Recorder, content: ContentSource) -> None:
        self._annals = annals
        self._history = history
        self._recorder = recorder
        self._content = content

    def lines(self, path: Path, at: str | None = "@") -> list[Line]:
        """The lines of a file as a checkpoint holds it, or as it is on the disk where `at` is None."""
        if at is None:
            return self._lines_on_disk(path)
        checkpoint = self._history.find(at)
        where = f"Checkpoint {checkpoint.number}"
        _checked(self._history.entry(checkpoint, path), path, where, self._content)
        return list(_told(self._saved(path, checkpoint.number + 1)))

    def _lines_on_disk(self, path: Path) -> list[Line]:
        newest = None if self._history.newest() is None else self._history.find("@")
        saved = self._saved(path, None)
        with self._recorder.look() as look:
            captured = None if newest is None else self._history.entry(newest, path)
            entry = look.changes[path].new if path in look.changes else captured
            text = _checked(entry, path, "The workspace", look.content)
            return list(_told(_passed_on(saved, text, None)))

    def _saved(self, path: Path, before: int | None) -> _Content:
        """The newest saved version below a number."""
        versions = [(step.new, _origin(step.checkpoint)) for step in self._annals.steps(path, before)]
        content = _Content()
        for entry, origin in reversed(versions):
            content = _passed_on(content, self._text(entry), origin)
        return content

    def _text(self, entry: Entry | None) -> bytes:
        """A version to compare with. What has no lines, or is lost, has none to pass on."""
        if entry is None or entry.mode in (TREE_MODE, SYMLINK_MODE):
            return b""
        try:
            text = (
                self._content.read(entry.oid) if self._content.size(entry.oid) <= MAX_COMPARED_BYTES else b""
            )
        except StoreDamaged:
            return b""
        return b"" if is_binary(text) else text


def _passed_on(before: _Content, text: bytes, origin: Origin | None) -> _Content:
    """The next version: lines that are still there keep their origin, the others have this one."""
    found = edits(before.text, text)
    if found is None:  # too different to be compared in bounded time
        return _Content(text, (origin,) * count_lines(text))
    origins: list[Origin | None] = []
    taken = 0
    for edit in found:
        origins += before.origins[taken : edit.start]
        origins += [origin] * edit.inserted
        taken = edit.start + edit.deleted
    return _Content(text, (*origins, *before.origins[taken:]))


def _told(content: _Content) -> Iterator[Line]:
    for line, origin in zip(_split(content.text), content.origins, strict=True):
        try:
            yield Line(line.decode(), origin)
        except UnicodeDecodeError:
            yield Line(line.decode(errors="replace"), origin, exact=False)


def _split(text: bytes) -> Sequence[bytes]:
    """Lines as git counts them: only a line feed ends one."""
    lines = text.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def _origin(checkpoint: Checkpoint) -> Origin:
    return Origin(checkpoint.number, checkpoint.session, checkpoint.turn, checkpoint.timestamp)


def _checked(entry: Entry | None, path: Path, where: str, content: ContentSource) -> bytes:
    """The content whose lines are asked for, if it has lines."""
    if entry is None or entry.mode in (TREE_MODE, SYMLINK_MODE):
        what = "nothing" if entry is None else "a folder" if entry.mode == TREE_MODE else "a symlink"
        raise UnknownPath(
            f"{where} holds {what} at {to_text(path)}; only the lines of a file have an origin."
        )
    size = content.size(entry.oid)
    if size > MAX_COMPARED_BYTES:
        raise UsageError(
            f"{to_text(path)} is {size:,} bytes long; lines are followed up to {MAX_COMPARED_BYTES:,} bytes.",
            f"`backtrail log {to_text(path)}` shows its versions.",
        )
    text = content.read(entry.oid)
    if is_binary(text):
        raise UsageError(
            f"{to_text(path)} is not text, so its lines have no origin.",
            f"`backtrail log {to_text(path)}` shows its versions.",
        )
    return text
