"""The client: three streams of packets, and what a person types."""

from __future__ import annotations

import os
import struct
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

from sphinxmix import SphinxException

from . import messages
from .files import BadFiles
from .messages import Profile
from .node import Node
from .packet import Flag, Refused
from .paths import Sealed


_PROBE = b"probe "


class Client(Node):
    """Sends what standard input says: `send NAME TEXT`."""

    role = "client"
    counted = ("received", "loops_sent", "loops_returned", "drops_sent", "real_sent", "real_received", "dummies_received")

    def __init__(self, folder: Path, profile: Profile, probe: bool = False, deaf: float = 0.0) -> None:
        super().__init__(folder, profile)
        self._deaf = deaf
        self._probe = probe
        self._began = time.monotonic()
        needed = {self.own.provider, *(user.provider for user in self.network.users.values())}
        if missing := needed - self.network.providers.keys():
            raise BadFiles(f"{folder}: providers of clients that the directory lacks: {', '.join(sorted(missing))}")
        if not self.network.users:
            raise BadFiles(f"{folder}: the directory has no users to send cover to")
        self._to_send: deque[Sealed] = deque()
        self._typed = b""

    def begin(self) -> None:
        self.loop.watch(sys.stdin, self._read_input)
        if self._deaf > 0:
            self.loop.after(self._deaf, self._listen)
        # First, so that the provider knows where its client is before the first loop comes back.
        self._keep_in_touch()
        super().begin()
        self.stream(self.config.drop_mean, self._send_drop)
        self.stream(self.config.payload_mean, self._send_payload)

    def handle(self, message: list[Any]) -> None:
        if not self.profile.sphinx_dummies and messages.says(message, b"DUMMY"):
            self.counters["dummies_received"] += 1
            return
        processed = self.process(message)
        if processed.flag is not Flag.DESTINATION:
            raise Refused("not_for_us")
        received = self.receive(processed)
        # The originals' clients do not tell these apart. The exact length does, unless someone writes just that.
        is_cover = len(received) == len(messages.LOOP_PREFIX) + self.config.noise_len
        if is_cover and received.startswith(messages.LOOP_PREFIX):
            self.counters["loops_returned"] += 1
            self.say("loop")
        elif is_cover and received.startswith(messages.DUMMY_PREFIX):
            self.counters["dummies_received"] += 1
        elif self._probe and received.startswith(_PROBE):
            (left,) = struct.unpack(">d", received.removeprefix(_PROBE))
            self.say("probe", left=left, took=time.monotonic() - self._began - left)
        else:
            self.counters["real_received"] += 1
            self.say("received", text=received.decode(errors="replace"), hex=received.hex())

    def _work(self) -> bool:
        # As the originals, which take nothing from their queue after their start.
        return self._deaf == 0 and super()._work()

    def _listen(self) -> None:
        """Begins to look at what comes; the originals' controller deletes nearly all that came before."""
        self._deaf = 0.0
        for _ in self._queue:
            super().drop("deleted")
        self._queue.clear()

    def drop(self, reason: str) -> None:
        super().drop(reason)
        self.say("dropped", reason=reason)

    def _keep_in_touch(self) -> None:
        provider = self.sender.provider()
        self.send(messages.subscribe(self.profile, self.own), provider.host, provider.port)
        self.send(messages.pull(self.own.name), provider.host, provider.port)
        self.loop.after(self.config.pull_every, self._keep_in_touch)

    def _send_drop(self) -> None:
        self.send_sealed(self.sender.drop())
        self.counters["drops_sent"] += 1

    def _send_payload(self) -> None:
        if not self._to_send and self._probe:
            # Made when it leaves, so that the wait for its turn is not part of the time.
            left = time.monotonic() - self._began
            self._to_send.append(self.sender.real(self.own, _PROBE + struct.pack(">d", left)))
        if not self._to_send:
            return self._send_drop()
        self.send_sealed(self._to_send.popleft())
        self.counters["real_sent"] += 1
        self.say("sent")

    def _read_input(self) -> None:
        typed = os.read(sys.stdin.fileno(), 65_536)
        if not typed:
            # A client goes on receiving when nobody has more to say. The last line may lack its end.
            self.loop.unwatch(sys.stdin)
            typed = b"\n"
        *lines, self._typed = (self._typed + typed).split(b"\n")
        for line in lines:
            if line.strip():
                self._obey(line)

    def _obey(self, line: bytes) -> None:
        word, _, rest = line.partition(b" ")
        name, _, said = rest.partition(b" ")
        receiver = self.network.users.get(name.decode(errors="replace"))
        if word != b"send" or receiver is None:
            self.say("refused", reason="no such command" if word != b"send" else "no such user")
            return
        try:
            # Way and delays are chosen now and not when its turn comes, as the originals do.
            self._to_send.append(self.sender.real(receiver, said))
        except SphinxException:
            self.say("refused", reason="too long")
        else:
            self.say("queued", to=receiver.name)
