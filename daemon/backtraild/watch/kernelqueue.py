"""The kernel's queue of events: read by a thread that waits for them, and by whoever needs all that is in it now."""

import fcntl
import logging
import os
import struct
import termios
import threading
import time

from watchdog.observers.inotify_c import InotifyEvent, InotifyFD

_READ_AGAIN_SECONDS = 1.0
_READ_BYTES = 80 * 1024
_COUNT = struct.Struct("i")
_FAILED = "reading events failed"
_LOOKED_AT_INSTEAD = "Reading events failed; everything is looked at instead."

_log = logging.getLogger(__name__)


class KernelQueue(InotifyFD):
    """An inotify descriptor and its thread. One thread at a time reads and marks, so none overtakes another."""

    def __init__(self, queue: int | None) -> None:
        super().__init__()
        if queue is not None:  # one with watches and events already, instead of the new one
            os.dup2(queue, self._inotify_fd)
            os.close(queue)
        os.set_inheritable(self._inotify_fd, False)
        self._emptying = threading.Lock()
        # Held by who waits for the other one: in a storm the reader would always win.
        self._next = threading.Lock()

    def handle_event(self, event: InotifyEvent) -> None:
        """Called for every event, by the thread that read it."""
        raise NotImplementedError

    def lost(self, reason: str) -> None:
        """Any change may have been missed."""
        raise NotImplementedError

    def barrier(self, seconds: float) -> bool:
        """Everything the kernel has queued before this call has been marked when it returns True.

        The caller reads the queue itself: a change is in it before the call that made it returns, and to wake the
        reading thread and to be woken by it takes longer than all the rest. If the queue has overflowed,
        everything is marked instead, which is as good.
        """
        if not self._begin_emptying(seconds):
            return False
        try:
            return self._empty()
        except Exception:
            _log.exception(_LOOKED_AT_INSTEAD)
            return True  # everything is marked
        finally:
            self._emptying.release()

    def run(self) -> None:
        """Read until stopped; a reader that has given up would be a daemon that misses everything."""
        while self.should_keep_running():
            try:
                super().run()
            except Exception:  # what was to be read is in the queue still, or was given up for lost
                _log.exception(_LOOKED_AT_INSTEAD)
                self.stopped_event.wait(_READ_AGAIN_SECONDS)

    def _check_inotify_fd(self) -> bool:
        """Wait for events, and handle them here: others may have read them first. Nothing is left to be read."""
        if super()._check_inotify_fd():
            self._begin_emptying(-1)
            try:
                self._empty()
            finally:
                self._emptying.release()
        return False

    def _close_resources(self) -> None:
        with self._emptying:  # else somebody might read a descriptor that is another file's by then
            super()._close_resources()

    def _begin_emptying(self, seconds: float) -> bool:
        give_up_at = time.monotonic() + seconds
        if not self._next.acquire(timeout=seconds):
            return False
        try:
            left = seconds if seconds < 0 else max(0.0, give_up_at - time.monotonic())
            return self._emptying.acquire(timeout=left)
        finally:
            self._next.release()

    def _empty(self) -> bool:
        """Handle what is queued now, and not what keeps coming; False if nothing is read any more."""
        if self._closed:
            return False
        try:
            left = self._queued_bytes()
            while left > 0:
                read = os.read(self._inotify_fd, _READ_BYTES)
                left -= len(read)
                for event in self._parse_event_buffer(read):
                    self.handle_event(InotifyEvent(*event))
        except Exception:
            self.lost(_FAILED)  # before anybody else reads: what was taken out and not marked is nowhere else
            raise
        return True

    def _queued_bytes(self) -> int:
        answer = fcntl.ioctl(self._inotify_fd, termios.FIONREAD, _COUNT.pack(0))
        return int(_COUNT.unpack(answer)[0])
