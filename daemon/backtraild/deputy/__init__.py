"""A process that reads files for a long look at the disk: so a first snapshot keeps two processors busy.

Threads would not do: what is done for a small file takes less time than handing over the interpreter lock. The process
gets folders as open descriptors, never as paths, and reads a file as the look itself does (`scan.capture`). It writes
nothing but its answers. Whatever is not simple it leaves to the look. It ends when the daemon's end of its socket
closes, so also after a kill. If it ends before, what it has not answered is read by the look itself.
"""

from backtraild.deputy.running import Assistance

__all__ = ["Assistance"]
