#!/usr/bin/env python3
"""A hostile network: records every UDP datagram between machines, and sends each again a few times.

    again.py      in the namespace of the bridge, as root, until SIGTERM

Source addresses are the true ones. It says "records" when it does. When it ends it prints, in JSON, how many datagrams were recorded
and sent again, and whose packets left twice: machines that send one group element (the first 32 bytes of a packet on a
plain link) in two datagrams. A packet that is unwrapped a second time gives the same one again.
"""

import heapq
import json
import selectors
import signal
import socket
import time
from collections import Counter
from pathlib import Path

# Of linux/if_ether.h and linux/if_packet.h. A bridge takes its frames before sockets of one protocol see them.
ETH_P_ALL, PACKET_OUTGOING = 3, 4
# Seconds after which it is sent again: at once, when whoever was killed is back, and in the next epoch.
AGAIN = (0.5, 2.0, 5.0, 11.0)
# What was sent so long ago cannot come out of a node any more; the keys are gone.
REMEMBERED = 40


class Datagram:
    """An Ethernet frame that has one, without IP options."""

    def __init__(self, frame):
        self.frame = frame

    def is_udp(self):
        whole = len(self.frame) >= 14 + 20 + 8 + 32
        return whole and self.frame[12:15] == b"\x08\x00\x45" and self.frame[23] == socket.IPPROTO_UDP

    def source(self):
        return socket.inet_ntoa(self.frame[26:30])

    def destination(self):
        return socket.inet_ntoa(self.frame[30:34])

    def group_element(self):
        return self.frame[42:74]

    def to_send(self):
        """The kernel has left the checksum to a card that there is not. None at all is valid too (RFC 768)."""
        return self.frame[:40] + b"\x00\x00" + self.frame[42:]


class Network:
    def __init__(self):
        self.ports = {}  # by name: a socket on this end of a machine's cable
        self.machines = {}  # by address: the port
        self.waiting = []  # (when, number, datagram)
        self.seen, self.seen_before, self.forgotten_at = set(), set(), time.monotonic()
        self.recorded = self.sent_again = 0
        self.twice = Counter()
        self.selector = selectors.DefaultSelector()

    def look_for_machines(self):
        for place in Path("/sys/class/net").iterdir():
            if place.name not in self.ports and (place / "brport").exists():
                port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, ETH_P_ALL)
                port.bind((place.name, ETH_P_ALL))
                self.ports[place.name] = port
                self.selector.register(port, selectors.EVENT_READ, place.name)

    def take(self, name):
        # Errors: the cable was pulled out, or nothing is left.
        try:
            while True:
                frame, (_, _, kind, *_) = self.ports[name].recvfrom(65536)
                datagram = Datagram(frame)
                if kind != PACKET_OUTGOING and datagram.is_udp():
                    self.machines[datagram.source()] = name
                    self.record(datagram)
        except OSError:
            pass

    def record(self, datagram):
        now = time.monotonic()
        if now - self.forgotten_at > REMEMBERED:
            self.seen, self.seen_before, self.forgotten_at = set(), self.seen, now
        element = datagram.group_element()
        if element in self.seen or element in self.seen_before:
            self.twice[datagram.source()] += 1
        self.seen.add(element)
        for wait in AGAIN:
            heapq.heappush(self.waiting, (now + wait, self.recorded, wait, datagram))
        self.recorded += 1

    def send_again(self):
        while self.waiting and self.waiting[0][0] <= time.monotonic():
            *_, datagram = heapq.heappop(self.waiting)
            port = self.ports.get(self.machines.get(datagram.destination()))
            if port:
                try:
                    port.send(datagram.to_send())
                    self.sent_again += 1
                except OSError:
                    pass

    def run(self, ended):
        looked = 0
        while not ended:
            if time.monotonic() - looked > 0.2:
                self.look_for_machines()
                looked = time.monotonic()
            for key, _ in self.selector.select(0.02):
                self.take(key.data)
            self.send_again()
        for name in self.ports:
            self.take(name)


def main():
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    network = Network()
    network.look_for_machines()
    print("records", flush=True)
    network.run(ended)
    told = {"recorded": network.recorded, "sent_again": network.sent_again, "twice": network.twice}
    print(json.dumps(told), flush=True)


main()
