"""Waits for a socket, for other files, for times and for signals, in one thread."""

from __future__ import annotations

import heapq
import itertools
import selectors
import signal
import socket
import time
from collections.abc import Callable
from typing import Any


class Loop:
    """Timers, readers, and work that goes on whenever there is some."""

    def __init__(self) -> None:
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        # Timers for the same moment go off in the order in which they were set.
        self._order = itertools.count()
        # Not epoll, which refuses the plain files that standard input may be.
        self._readers = selectors.SelectSelector()
        self._stopped = False

    def now(self) -> float:
        return time.monotonic()

    def at(self, when: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._timers, (when, next(self._order), act))

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        self.at(self.now() + seconds, act)

    def watch(self, file: Any, act: Callable[[], None]) -> None:
        self._readers.register(file, selectors.EVENT_READ, act)

    def unwatch(self, file: Any) -> None:
        self._readers.unregister(file)

    def stop(self) -> None:
        self._stopped = True

    def stop_on_signals(self) -> None:
        """SIGTERM and SIGINT end `run` in order. The byte that Python writes for a signal ends the waiting for one that comes
        just before it."""
        woken, wakes = socket.socketpair()
        for end in (woken, wakes):
            end.setblocking(False)
        self.watch(woken, lambda: woken.recv(64))
        signal.set_wakeup_fd(wakes.fileno())
        # Held so that they are not closed.
        self._wakers = (woken, wakes)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stop())

    def run(self, work: Callable[[], bool]) -> None:
        """`work` does one piece and says whether more is left; timers and readers get their turn after each piece."""
        left = False
        while not self._stopped:
            for key, _events in self._readers.select(0 if left else self._until_timer()):
                key.data()
            now = self.now()
            while self._timers and self._timers[0][0] <= now and not self._stopped:
                heapq.heappop(self._timers)[2]()
            left = work()

    def _until_timer(self) -> float | None:
        # Far timers are looked at again every hour: select takes no number of seconds that is too large.
        return max(0.0, min(self._timers[0][0] - self.now(), 3600.0)) if self._timers else None
