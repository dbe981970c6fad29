"""Why an object of the store can't be had: it is damaged, or it can only not be read now."""

import errno
from collections.abc import Sequence

from backtrail.errors import BacktrailError, StoreDamaged, StoreFailed
from backtraild.model import ObjectId

# What a disk or a file system says of what it has lost; not every system knows all of these.
_LOST_BY_DISK = {
    getattr(errno, name, errno.EIO) for name in ("EIO", "EUCLEAN", "EBADMSG", "ENODATA", "EREMOTEIO")
}
# What comes of a file that is gone, of something else in its place, or of an offset that no file has.
_WRONG = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EINVAL, errno.EOVERFLOW}

_HINT = "Other checkpoints may hold an intact copy of the same files."


class DiskFailed(StoreDamaged):
    """The disk can't read it. It is lost for all that is known, but a disk may come to itself again."""


def passes(error: BaseException) -> bool:
    """Is this no damage, only a reason for which nothing can be read now, such as too many open files?"""
    if isinstance(error, OSError):
        return error.errno not in _LOST_BY_DISK | _WRONG
    return isinstance(error, StoreFailed)


def unusable(
    oid: ObjectId, troubles: Sequence[BaseException], otherwise: str = "it is missing"
) -> BacktrailError:
    """What to raise for an object, after each of its copies was some trouble.

    As long as one of them could only not be read now, nobody knows that the object is lost.
    """
    if not troubles:
        return StoreDamaged(_sentence(oid, otherwise), _HINT)
    error = min(troubles, key=_gravity)
    if isinstance(error, StoreDamaged | StoreFailed):
        return error
    if passes(error):
        return StoreFailed(
            f"Object {oid.hex()} in the store can't be read now: {_reason(error)}.",
            "Nothing is known to be lost. Look at permissions and open files, then try again.",
        )
    return _damaged(oid, error)


def _damaged(oid: ObjectId, error: BaseException) -> StoreDamaged:
    is_lost = isinstance(error, OSError) and error.errno in _LOST_BY_DISK
    return (DiskFailed if is_lost else StoreDamaged)(_sentence(oid, _reason(error)), _HINT)


def _gravity(error: BaseException) -> int:
    if passes(error):
        return 0
    is_lost = isinstance(error, DiskFailed) or (isinstance(error, OSError) and error.errno in _LOST_BY_DISK)
    return 1 if is_lost else 2


def _reason(error: BaseException) -> object:
    return error.strerror or error if isinstance(error, OSError) else error


def _sentence(oid: ObjectId, reason: object) -> str:
    return f"Object {oid.hex()} in the store can't be used: {reason}."
