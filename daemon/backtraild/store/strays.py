"""Loose objects that are not what their names say."""

import contextlib
import os
import re
from collections.abc import Iterator

from backtrail.errors import StoreDamaged
from backtraild.model import ObjectId
from backtraild.store import loose
from backtraild.store.objects import ObjectType, object_id

_FOLDER, _FILE = re.compile("[0-9a-f]{2}"), re.compile("[0-9a-f]{38}")


def damaged(objects_folder: str) -> Iterator[str]:
    """The files of damaged loose objects."""
    for folder in sorted(name for name in os.listdir(objects_folder) if _FOLDER.fullmatch(name)):
        for name in sorted(os.listdir(os.path.join(objects_folder, folder))):
            if _FILE.fullmatch(name) and not _is_sound(objects_folder, bytes.fromhex(folder + name)):
                yield os.path.join(objects_folder, folder, name)


def _is_sound(objects_folder: str, oid: ObjectId) -> bool:
    for kind in ObjectType:
        with contextlib.suppress(StoreDamaged):
            content = loose.read(objects_folder, oid, kind)
            if content is not None and object_id(kind, content) == oid:
                return True
    return False
