"""How many bytes a store needs for its checkpoints, the more important ones first."""

import os
from array import array
from collections.abc import Sequence

from backtraild.store import Objects, Weighed
from backtraild.store.packs import DAMAGE
from backtraild.store.refs import CHECKPOINTS, Refs
from backtraild.store.swapping import whole_packs
from backtraild.upkeep import listing
from backtraild.upkeep.catalogue import Catalogue
from backtraild.upkeep.listing import Listing
from backtraild.upkeep.marking import Marker
from backtraild.upkeep.orders import Weigh


def weigh(order: Weigh) -> Weighed:
    """Mark everything else, then one checkpoint after the other: what each adds is what only it needs of the rest."""
    folder = os.path.join(order.git_dir, "objects", "pack")
    names, damaged = _sound(folder)
    catalogue = Catalogue(folder, names)
    marker = Marker(Objects(order.git_dir), catalogue, _weights(folder, names, catalogue))
    asked: dict[str, str | None] = {f"{CHECKPOINTS}/{number}": None for number in order.order}
    found = set()
    for name, hex_id in Refs(order.git_dir).every():
        if name in asked:
            asked[name] = hex_id
            found.add(name)
        else:
            marker.ref(name, hex_id)
    others = marker.bytes
    cumulative = []
    for name, hex_id in asked.items():
        if name in found:
            marker.ref(name, hex_id)
        cumulative.append(marker.bytes)
    return Weighed(others, tuple(cumulative), complete=marker.flaw is None and not damaged)


def _sound(folder: str) -> tuple[list[str], bool]:
    names, damaged = [], False
    for name in whole_packs(folder):
        try:
            listing.check(folder, name)
            names.append(name)
        except DAMAGE:
            damaged = True
    return names, damaged


def _weights(folder: str, names: Sequence[str], catalogue: Catalogue) -> "array[int]":
    """The bytes of each object, by position."""
    weights = array("Q", bytes(8 * len(catalogue)))
    for name in names:
        pack = Listing(folder, name)
        for position, size in zip(catalogue.positions(pack.ids), pack.sizes(), strict=True):
            weights[position] = size
    return weights
