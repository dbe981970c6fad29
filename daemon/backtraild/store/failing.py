"""One way to say that the disk below the store failed."""

import contextlib
import os
from collections.abc import Iterator

from backtrail.errors import StoreFailed


@contextlib.contextmanager
def failing(verb: str) -> Iterator[None]:
    """Turn the operating system's errors into one that says what failed and where."""
    try:
        yield
    except OSError as error:
        where = f" ({os.fsdecode(error.filename)})" if error.filename else ""
        raise StoreFailed(
            f"The checkpoint store could not be {verb}: {error.strerror or error}{where}.",
            "Nothing was acknowledged. Look at free space and permissions, then try again.",
        ) from error
