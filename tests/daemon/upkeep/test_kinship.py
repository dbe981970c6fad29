"""Who stands beside whom when deltas are looked for."""

from backtraild.store.objects import ObjectType
from backtraild.upkeep.kinship import Kinship, folder_number

COMMIT, TREE, BLOB = ObjectType.COMMIT, ObjectType.TREE, ObjectType.BLOB


def test_versions_follow_each_other_and_copies_elsewhere_follow_them() -> None:
    """The version before is nearly the same; a copy of the project in another folder comes next."""
    one, two = (
        folder_number(b"lib", folder_number(b"one", 0)),
        folder_number(b"lib", folder_number(b"two", 0)),
    )
    kinship = Kinship(7)
    kinship.note(6, BLOB, b"a.py", one)
    kinship.note(1, BLOB, b"README", one)
    kinship.note(2, BLOB, b"a.py", two)
    kinship.note(3, BLOB, b"a.py", folder_number(b"other", 0))
    kinship.note(0, BLOB, b"a.py", one)
    kinship.note(5, TREE, b"a.py", one)
    kinship.note(4, COMMIT, b"", 0)
    order = list(kinship.ordered(range(7)))
    assert order[:2] == [4, 5]
    assert abs(order.index(6) - order.index(0)) == 1
    assert order.index(6) < order.index(0)
    assert {order.index(2) - order.index(0), order.index(2) - order.index(6)} & {1, -1}
    assert kinship.are_versions(6, 0)
    assert not kinship.are_versions(6, 2)


def test_names_that_end_alike_are_neighbours() -> None:
    """Tests look like tests, and changelogs like changelogs."""
    kinship = Kinship(4)
    for position, name in enumerate([b"reader_test.py", b"CHANGELOG.md", b"writer_test.py", b"setup.cfg"]):
        kinship.note(position, BLOB, name, folder_number(name, 0))
    order = list(kinship.ordered(range(4)))
    assert abs(order.index(0) - order.index(2)) == 1
