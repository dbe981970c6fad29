"""Loose objects: Backtrail writes none, but git commands run on a store by hand may."""

import os
import zlib

from backtrail.errors import StoreDamaged
from backtraild.model import ObjectId
from backtraild.store.objects import ObjectType, hash_prefix

MAX_SIZE = 1024 * 1024 * 1024


def read(objects_folder: str, oid: ObjectId, kind: ObjectType) -> bytes | None:
    """The content of a loose object, not yet checked against its id; None if there is none."""
    name = oid.hex()
    try:
        with open(os.path.join(objects_folder, name[:2], name[2:]), "rb") as file:
            packed = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreDamaged(f"Object {name} in the store can't be read: {error.strerror}.") from error
    inflate = zlib.decompressobj()
    try:
        content = inflate.decompress(packed, MAX_SIZE)
    except zlib.error as error:
        raise StoreDamaged(f"Object {name} in the store can't be used: {error}.") from error
    header, separator, body = content.partition(b"\0")
    if not inflate.eof or not separator or header + separator != hash_prefix(kind, len(body)):
        raise StoreDamaged(f"Object {name} in the store is cut off or has another type than expected.")
    return body
