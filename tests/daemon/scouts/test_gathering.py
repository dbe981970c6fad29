"""The daemon's side: what scouts tell, in whichever order, and what becomes of it."""

import marshal
import os
import sys

import pytest

from backtraild.scouts.gathering import Scouts
from backtraild.scouts.looking import Found
from backtraild.scouts.party import FINDING, Party

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="scouts are Linux's")

STRETCHES = [
    Found([b"", b"a"], [1, 2], [], [], [], []),
    Found([b"", b"a", b"a/b"], [1, 2, 3], [], [], [], []),
    Found([b"", b"c"], [1, 4], [], [b"c/changed"], [], []),
]


class Telling:
    """Scouts that have told what a test has them tell, and have ended."""

    def __init__(self) -> None:
        self.findings = os.memfd_create("findings")
        self.told, self._telling = os.pipe()
        _, self.held_back = os.pipe()
        self._end = 0

    def tell(self, stretch: int, finding: bytes) -> None:
        os.pwrite(self.findings, finding, self._end)
        os.write(self._telling, FINDING.pack(0, stretch, self._end, len(finding)))
        self._end += len(finding)

    def gathered(self) -> Scouts:
        """By the daemon, after they have told the last."""
        os.close(self._telling)
        plan = [("one", len(STRETCHES))]
        return Scouts(Party([], -1, self.findings, self.told, self.held_back, plan))


@pytest.fixture
def telling() -> Telling:
    return Telling()


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_folders_come_in_the_order_of_a_walk_whoever_was_back_first(
    telling: Telling, order: tuple[int, ...]
) -> None:
    """What is below a folder is found by halving: in another order, watches of other folders would be dropped."""
    for stretch in order:
        telling.tell(stretch, marshal.dumps(tuple(STRETCHES[stretch])))
    with telling.gathered().report("one", lambda: False) as report:
        assert report is not None
        assert list(report.numbers.items()) == [(b"", 1), (b"a", 2), (b"a/b", 3), (b"c", 4)]
        assert report.hints == {b"c/changed"}


def test_without_all_stretches_there_is_no_report(telling: Telling) -> None:
    """What no scout has compared would be taken for unchanged."""
    for stretch in (0, 2):
        telling.tell(stretch, marshal.dumps(tuple(STRETCHES[stretch])))
    with telling.gathered().report("one", lambda: False) as report:
        assert report is None


def test_what_can_not_be_understood_is_no_report_and_harms_nobody(
    telling: Telling, caplog: pytest.LogCaptureFixture
) -> None:
    """The start looks at everything itself."""
    for stretch in range(3):
        telling.tell(stretch, marshal.dumps(tuple(STRETCHES[stretch])) if stretch else b"\0")
    with telling.gathered().report("one", lambda: False) as report:
        assert report is None
    assert "What scouts told was not understood" in caplog.text
