"""Other ways of keeping the states of a folder, each measured beside ours on the same folder in the same run.

A peer may leave its writes to the page cache, as most do by default; ours are on the disk when they are acknowledged.
"""

from bench.peers.borg import BORG
from bench.peers.git import GIT, TUNED_GIT
from bench.peers.peer import Absent, Kind, Opener, Peer, PeerFailed
from bench.peers.praison import PRAISON
from bench.peers.restic import RESTIC

__all__ = ["GIT", "OTHERS", "Absent", "Kind", "Opener", "Peer", "PeerFailed"]

# Git is the peer of the bars, and needed; these are compared where they can be had.
OTHERS = (TUNED_GIT, PRAISON, RESTIC, BORG)
