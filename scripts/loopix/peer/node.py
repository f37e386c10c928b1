"""What nodes have in common, and the mix: one process, one thread, one socket each.

They do what the nodes of 2017 and 2018 did with a datagram, and leave out two habits that lose packets: waiting 20 s before the
first is looked at, which a client does if it is told for how long, and the controller that deletes the oldest under load.
"""

from __future__ import annotations

import json
import socket
import time
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import files, messages, packet
from .files import PARAMS, BadFiles
from .loop import Loop
from .messages import Command, Profile
from .packet import Flag, Processed, Refused
from .paths import Sealed, Sender

_RECEIVE_BUFFER = 4 * 2**20
_LONGEST_DATAGRAM = 65_535
# Datagrams; the kernel drops what comes beyond these.
_QUEUE_LEN = 20_000


class Node:
    """What the three have in common. `start` after making one, then `run`."""

    role: str
    # Counted from the beginning, so that a reader finds them at 0.
    counted = ("received", "forwarded", "loops_sent", "loops_returned")

    def __init__(self, folder: Path, profile: Profile) -> None:
        self.profile = profile
        self.config = files.read_config(folder, self.role)
        self.own = files.read_public(folder, self.role)
        self.network = files.read_network(folder / self.config.database)
        self.sender = Sender(profile, self.config, self.network, self.own)
        self.loop = Loop()
        self.counters = Counter(dict.fromkeys(self.counted, 0))
        self.drops: Counter[str] = Counter()
        self._secret = files.read_secret(folder, self.role)
        self._queue: deque[bytes] = deque()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
        self._socket.bind((self.own.host, self.own.port))

    def start(self) -> None:
        self.loop.stop_on_signals()
        self.loop.watch(self._socket, self._fill_queue)
        self.say("ready", port=self.own.port, name=self.own.name, role=self.role)
        self.begin()

    def begin(self) -> None:
        """What a node does without being sent anything."""
        self.stream(self.config.loop_mean, self._send_loop)

    def run(self) -> None:
        self.loop.run(self._work)
        left = {"waiting": len(self._queue), "cpu_seconds": time.process_time()}
        self.say("counters", **self.counters, dropped=dict(self.drops), **left)
        self.close()

    def close(self) -> None:
        self._socket.close()

    def say(self, event: str, **more: Any) -> None:
        print(json.dumps({"event": event, **more}), flush=True)

    def stream(self, mean: float, act: Callable[[], None]) -> None:
        """Acts now and then at exponentially distributed intervals."""

        def again() -> None:
            act()
            self.loop.after(self.sender.wait(mean), again)

        again()

    def send(self, datagram: bytes, host: str, port: int) -> bool:
        """A lost datagram is counted; nobody sends it again, as on any network."""
        try:
            self._socket.sendto(datagram, (host, port))
        # UnicodeError is what names come to that no resolver would take.
        except (OSError, UnicodeError):
            self.drop("unsendable")
            return False
        return True

    def send_sealed(self, sealed: Sealed) -> None:
        self.send(sealed.datagram, sealed.first.host, sealed.first.port)

    def drop(self, reason: str) -> None:
        self.drops[reason] += 1

    def handle(self, message: list[Any]) -> None:
        """Whatever a datagram held. May raise Refused."""
        raise NotImplementedError

    def process(self, message: list[Any]) -> Processed:
        if len(message) != 2 or not isinstance(message[0], list):
            raise Refused("malformed")
        return packet.process(PARAMS, self._secret, *message)

    def receive(self, processed: Processed) -> bytes:
        """The message of a packet that is for this node."""
        receiver, message = packet.receive(packet.LOOPIX, PARAMS, processed.mac_key, processed.body)
        if not messages.is_for(self.own, receiver):
            raise Refused("not_for_us")
        if not isinstance(message, bytes):
            raise Refused("malformed")
        return message

    def forward(self, processed: Processed, to: Command) -> None:
        datagram = messages.write_packet(processed.header, processed.body)

        def go() -> None:
            if self.send(datagram, to.host, to.port):
                self.counters["forwarded"] += 1

        if to.delay > 0:
            self.loop.after(to.delay, go)
        else:
            go()

    def _send_loop(self) -> None:
        self.send_sealed(self.sender.loop())
        self.counters["loops_sent"] += 1

    def _fill_queue(self) -> None:
        while len(self._queue) < _QUEUE_LEN:
            try:
                self._queue.append(self._socket.recv(_LONGEST_DATAGRAM))
            # Nothing more for now; whatever else it was, the loop comes back while there is something to read.
            except OSError:
                return

    def _work(self) -> bool:
        if self._queue:
            self.counters["received"] += 1
            try:
                self.handle(messages.read_datagram(self._queue.popleft()))
            except Refused as refused:
                self.drop(refused.reason)
        return bool(self._queue)


class Relay(Node):
    """What mix and provider do alike with a packet."""

    def handle(self, message: list[Any]) -> None:
        processed = self.process(message)
        if processed.flag is Flag.RELAY:
            if len(processed.command) != 2:
                raise Refused("bad_routing")
            self.relay(processed, messages.read_command(processed.command[1]))
        elif processed.flag is Flag.DESTINATION:
            if not self.receive(processed).startswith(messages.LOOP_PREFIX):
                raise Refused("not_a_loop")
            self.counters["loops_returned"] += 1
            self.say("loop")
        else:
            raise Refused("surb")

    def relay(self, processed: Processed, to: Command) -> None:
        raise NotImplementedError


class Mix(Relay):
    role = "mix"

    def __init__(self, folder: Path, profile: Profile) -> None:
        super().__init__(folder, profile)
        if not self.network.providers or self.own.layer not in [layer[0].layer for layer in self.network.layers]:
            raise BadFiles(f"{folder}: a mix's loops need a provider and its own layer in the directory")

    def relay(self, processed: Processed, to: Command) -> None:
        """To whoever it says, even if it says that it is to be dropped."""
        self.forward(processed, to)
