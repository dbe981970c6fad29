"""What changed between two states, told the way git tells it: renames, line counts, one-line summaries.

Content comes in through `ContentSource`; nothing here touches a disk.
"""

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from msgspec import Struct

from backtrail import pathtext
from backtraild.model import SYMLINK_MODE, Changes, Entry, FileChange, ObjectId, Path, Status
from backtraild.store.patch import Comparing, ContentSource, Pair, compare, load
from backtraild.store.text import count_lines, is_binary

MAX_SIMILAR_FILES = 100
MAX_SIMILAR_BYTES = 1024 * 1024
# Bytes looked at over all pairs of one comparison: about a second at worst, and rarely near it.
MAX_SIMILARITY_WORK = 64 * 1024 * 1024

# Git counts similarity in sixty-thousandths; the same unit gives the same rounding and the same percentage.
_WHOLE, _HALF = 60_000, 30_000
_CHUNK = re.compile(rb"[^\n]{0,63}\n|[^\n]{1,64}")
_SUMMARY_WIDTH = 100


class Description(Struct, frozen=True):
    """A list of changes for people, and the sums of its line counts."""

    files: tuple[FileChange, ...]  # all of them, or the first
    statuses: Mapping[Status, int]  # how many changes of each, like the sums for all of them
    insertions: int
    deletions: int

    @property
    def count(self) -> int:
        """How many changes there are, named or not."""
        return sum(self.statuses.values())


def describe(changes: Changes, content: ContentSource, named: int | None = None) -> Description:
    """The changes as a sorted list with renames recognised and lines counted.

    Beyond the first `named`, they only count: a first snapshot would make a value of each of its files and drop it.
    """
    return measure(_paired(changes, content), content, named=named)


def measure(
    paired: Iterable[Pair],
    content: ContentSource,
    compare: Comparing | None = None,
    *,
    named: int | None = None,
) -> Description:
    """The same for changes that are paired already. Whoever needs their hunks, too, says how to compare."""
    pending = iter(paired)
    files = tuple(_file_change(pair, content, compare) for pair in islice(pending, named))
    statuses = Counter(file.status for file in files)
    insertions = sum(file.insertions or 0 for file in files)
    deletions = sum(file.deletions or 0 for file in files)
    for pair in pending:
        statuses[_status(pair)] += 1
        gained, lost = _line_counts(pair, content) or (0, 0)
        insertions += gained
        deletions += lost
    return Description(files, statuses, insertions, deletions)


def pairs(changes: Changes, content: ContentSource) -> list[Pair]:
    """Every change with its two sides, sorted by path; a deletion and its addition elsewhere are one."""
    return list(_paired(changes, content))


def summary(files: Sequence[FileChange], count: int, statuses: Iterable[Status] = ()) -> str:
    """The message of an automatic checkpoint: what changed, in one line that is never long.

    `files` may be only the first of `count` changes; `statuses` are those of all of them, where they are known.
    """
    if count == 0:
        return "No files changed"
    if count == 1 and files:
        return _summary_of_one(files[0])
    found = set(statuses) or {file.status for file in files if len(files) == count}
    verb = _VERBS[found.pop()] if len(found) == 1 else "changed"
    return _with_names(f"{count:,} files {verb}", files, count)


_VERBS: Mapping[Status, str] = {
    Status.ADDED: "added",
    Status.MODIFIED: "changed",
    Status.DELETED: "deleted",
    Status.RENAMED: "renamed",
    Status.MODE: "changed mode",
}


def _paired(changes: Changes, content: ContentSource) -> Iterator[Pair]:
    renames = _renames(changes, content)
    sources = {pair.old_path for pair in renames.values()}
    for path in sorted(changes):
        if path not in sources:
            yield renames.get(path) or Pair(path, path, *changes[path])


def _renames(changes: Changes, content: ContentSource) -> dict[Path, Pair]:
    """By their new paths. Where nothing was deleted, nothing was renamed."""
    found: dict[Path, Pair] = {}
    deleted = dict(sorted((path, old) for path, (old, new) in changes.items() if old and not new))
    if deleted:
        added = dict(sorted((path, new) for path, (old, new) in changes.items() if new and not old))
        _take(found, _exact_renames(deleted, added), deleted, added)
        _take(found, _similar_renames(deleted, added, content), deleted, added)
    return found


def _take(
    renames: dict[Path, Pair], found: Iterable[Pair], deleted: dict[Path, Entry], added: dict[Path, Entry]
) -> None:
    for pair in list(found):
        renames[pair.path] = pair
        del deleted[pair.old_path], added[pair.path]


def _exact_renames(deleted: Mapping[Path, Entry], added: Mapping[Path, Entry]) -> Iterator[Pair]:
    """Same content, other path. A file that kept its name in another folder goes before one that did not."""
    left: dict[Path, Entry] = dict(added)
    gone = dict(deleted)
    for by_name in (True, False):
        sources: dict[tuple[ObjectId, bool, Path], deque[Path]] = defaultdict(deque)
        for path, entry in gone.items():
            sources[_identity(path, entry, by_name)].append(path)
        for path, entry in list(left.items()):
            candidates = sources.get(_identity(path, entry, by_name))
            if candidates:
                old_path = candidates.popleft()
                del left[path]
                yield Pair(path, old_path, gone.pop(old_path), entry)


def _identity(path: Path, entry: Entry, by_name: bool) -> tuple[ObjectId, bool, Path]:
    return entry.oid, entry.mode == SYMLINK_MODE, _basename(path) if by_name else b""


def _basename(path: Path) -> bytes:
    return path.rpartition(b"/")[2]


def _similar_renames(
    deleted: Mapping[Path, Entry], added: Mapping[Path, Entry], content: ContentSource
) -> Iterator[Pair]:
    """Moved and edited: half of the larger file at least is found in the other, the best pairs first."""
    if len(deleted) > MAX_SIMILAR_FILES or len(added) > MAX_SIMILAR_FILES:
        return
    chunks: dict[ObjectId, Counter[bytes]] = {}
    scored = []
    for old_path, new_path, largest in _comparable(deleted, added, content):
        old, new = deleted[old_path], added[new_path]
        for oid in (old.oid, new.oid):
            if oid not in chunks:
                chunks[oid] = _chunks(content.read(oid))
        score = _shared_bytes(chunks[old.oid], chunks[new.oid]) * _WHOLE // largest
        if score >= _HALF:
            other_name = _basename(old_path) != _basename(new_path)
            scored.append((-score, other_name, new_path, old_path))
    used: set[tuple[str, Path]] = set()
    for score, _, new_path, old_path in sorted(scored):
        if used.isdisjoint({("old", old_path), ("new", new_path)}):
            used |= {("old", old_path), ("new", new_path)}
            yield Pair(new_path, old_path, deleted[old_path], added[new_path], -score * 100 // _WHOLE)


def _comparable(
    deleted: Mapping[Path, Entry], added: Mapping[Path, Entry], content: ContentSource
) -> list[tuple[Path, Path, int]]:
    """The pairs worth reading, each with its larger size: regular files, sizes within a factor of two.

    Where that is still too much work, only files that kept their name are compared.
    """
    old_sizes, new_sizes = _regular_sizes(deleted, content), _regular_sizes(added, content)
    found = [
        (old_path, new_path, max(old_size, new_size))
        for old_path, old_size in old_sizes.items()
        for new_path, new_size in new_sizes.items()
        if old_size <= 2 * new_size and new_size <= 2 * old_size
    ]
    if sum(largest for _, _, largest in found) > MAX_SIMILARITY_WORK:
        found = [pair for pair in found if _basename(pair[0]) == _basename(pair[1])]
    return found if sum(largest for _, _, largest in found) <= MAX_SIMILARITY_WORK else []


def _regular_sizes(files: Mapping[Path, Entry], content: ContentSource) -> dict[Path, int]:
    sizes = {path: content.size(entry.oid) for path, entry in files.items() if entry.mode != SYMLINK_MODE}
    return {path: size for path, size in sizes.items() if 0 < size <= MAX_SIMILAR_BYTES}


def _chunks(content: bytes) -> Counter[bytes]:
    """Git's measure of likeness: lines in any order, cut every 64 bytes; in text, CRLF is LF."""
    text = content if is_binary(content) else content.replace(b"\r\n", b"\n")
    return Counter(_CHUNK.findall(text))


def _shared_bytes(old: Counter[bytes], new: Counter[bytes]) -> int:
    return sum(len(chunk) * min(old[chunk], new[chunk]) for chunk in old.keys() & new.keys())


def _file_change(pair: Pair, content: ContentSource, compare: Comparing | None) -> FileChange:
    if compare is not None and not pair.same_content:
        size, insertions, deletions, *_ = compare(pair.old, pair.new)
    else:
        insertions, deletions = _line_counts(pair, content) or (None, None)
        size = content.size(pair.new.oid) if pair.new else 0
    old_path = pair.old_path if pair.renamed else None
    return FileChange(pair.path, _status(pair), size, old_path, insertions, deletions)


def _status(pair: Pair) -> Status:
    if pair.old is None:
        return Status.ADDED
    if pair.new is None:
        return Status.DELETED
    if pair.renamed:
        return Status.RENAMED
    return Status.MODE if pair.same_content and not pair.retyped else Status.MODIFIED


def _line_counts(pair: Pair, content: ContentSource) -> tuple[int, int] | None:
    if pair.same_content:
        return 0, 0
    if pair.old is None or pair.new is None:
        insertions = content.lines(pair.new.oid) if pair.new else 0
        deletions = content.lines(pair.old.oid) if pair.old else 0
        return None if insertions is None or deletions is None else (insertions, deletions)
    old, new = load(pair.old, content), load(pair.new, content)
    if old is None or new is None or is_binary(old) or is_binary(new):
        return None
    return _lines_only_added(old, new) or _compared(old, new)


def _lines_only_added(old: bytes, new: bytes) -> tuple[int, int] | None:
    """Where one text begins with all lines of the other, the rest is what differs, and nothing need be compared."""
    shorter, longer = sorted((old, new), key=len)
    if shorter[-1:] not in (b"", b"\n") or not longer.startswith(shorter):
        return None
    lines = count_lines(longer[len(shorter) :])
    return (lines, 0) if longer is new else (0, lines)


def _compared(old: bytes, new: bytes) -> tuple[int, int] | None:
    patch = compare(old, new, context=0)
    return patch.line_stats[1:] if patch else None


def _summary_of_one(file: FileChange) -> str:
    if file.status is Status.RENAMED and file.old_path is not None:
        width = (_SUMMARY_WIDTH - len(" renamed to ")) // 2
        return f"{_shown(file.old_path, width)} renamed to {_shown(file.path, width)}"
    verb = _VERBS[file.status]
    return f"{_shown(file.path, _SUMMARY_WIDTH - len(verb) - 1)} {verb}"


def _with_names(text: str, files: Sequence[FileChange], count: int) -> str:
    """As many names as fit; a single long one is shortened rather than left out."""
    room = _SUMMARY_WIDTH - len(", …")
    for index, file in enumerate(files):
        lead = ", " if index else ": "
        name = _shown(file.path, room if index else room - len(text) - len(lead))
        if len(text) + len(lead) + len(name) > room:
            return text + ", …"
        text += lead + name
    return text if len(files) == count else text + (", …" if files else "")


def _shown(path: Path, width: int) -> str:
    """A name that is safe on a terminal; of a long one, its end, which tells most."""
    text = "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode()
        for char in pathtext.to_text(path)
    )
    return text if len(text) <= width else "…" + text[1 - width :]
