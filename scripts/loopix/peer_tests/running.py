"""Commands of the peer as processes."""

from __future__ import annotations

import json
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
from contextlib import ExitStack
from pathlib import Path
from typing import Any

PEER = Path(__file__).resolve().parents[1]
# For a machine that does much else; nothing asserts that anything is quick.
PATIENCE = 120.0


class Running:
    """A command of the peer's as a process, and what it has said."""

    def __init__(self, test: unittest.TestCase, *words: str) -> None:
        self.process = subprocess.Popen([sys.executable, "-m", "peer", *words], cwd=PEER, text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._said: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        test.addCleanup(self._end)

    def _read(self) -> None:
        for line in self.process.stdout:
            self._said.put(json.loads(line))
        self._said.put(None)

    def tell(self, line: str) -> None:
        print(line, file=self.process.stdin, flush=True)

    def hear(self, event: str) -> dict[str, Any]:
        """The next event of this kind; others before it are passed over."""
        deadline = time.monotonic() + PATIENCE
        while True:
            said = self._said.get(timeout=max(0.0, deadline - time.monotonic()))
            if said is None:
                raise AssertionError(f"ended with {self.process.wait()} before it said {event}")
            if said["event"] == event:
                return said

    def stop(self) -> dict[str, Any]:
        self.process.send_signal(signal.SIGTERM)
        counters = self.hear("counters")
        if self.process.wait(PATIENCE) != 0:
            raise AssertionError(f"ended with {self.process.returncode}")
        return counters

    def _end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        self.process.stdin.close()
        self.process.stdout.close()


def free_ports(count: int) -> list[int]:
    """Ports that the system chose; all are held until the last is known, so that none comes twice."""
    with ExitStack() as stack:
        bound = [stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(count)]
        for each in bound:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in bound]
