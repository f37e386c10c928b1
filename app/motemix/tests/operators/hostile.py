#!/usr/bin/env python3
"""A hostile network: between machines it loses frames, holds each up for a time of its own, so that they
overtake each other, records every UDP datagram, and sends each again a few times.

    hostile.py [LOSS [DELAY [MOST]]]      in the namespace of the bridge, as root, until SIGTERM

LOSS is a share, DELAY the mean in seconds, and MOST the longest. Without them nothing is lost or held up.
Source addresses are the true ones. It says "carries" when it does. When it ends it prints, in JSON, how
many frames it carried, lost and let be overtaken, how many datagrams it recorded and sent again, and whose
packets left twice: machines that send one group element (the first 32 bytes of a packet on a plain link) in
two datagrams. A packet that is unwrapped a second time gives the same one again.
"""

import heapq
import itertools
import json
import random
import selectors
import signal
import socket
import sys
import time
from collections import Counter
from pathlib import Path

# Of linux/if_ether.h and linux/if_packet.h. A bridge takes its frames before sockets of one protocol see them.
ETH_P_ALL, PACKET_OUTGOING, SOL_PACKET, PACKET_VNET_HDR = 3, 4, 263, 15
# Before each frame stands what a card would still have to do with it: its checksum, and cutting it up.
TO_DO = 10
BROADCAST = 1  # the bit of an Ethernet address
# Seconds after which it is sent again: at once, when whoever was killed is back, and in the next epoch.
AGAIN = (0.5, 2.0, 5.0, 11.0)
# What was sent so long ago cannot come out of a node any more; the keys are gone.
REMEMBERED = 40


class Frame:
    """An Ethernet frame, which may have a UDP datagram without IP options."""

    def __init__(self, with_to_do):
        self.with_to_do = with_to_do
        self.bytes = with_to_do[TO_DO:]

    def destination(self):
        return self.bytes[:6]

    def source(self):
        return self.bytes[6:12]

    def is_for_all(self):
        return self.bytes[0] & BROADCAST

    def is_udp(self):
        whole = len(self.bytes) >= 14 + 20 + 8 + 32
        return whole and self.bytes[12:15] == b"\x08\x00\x45" and self.bytes[23] == socket.IPPROTO_UDP

    def sender(self):
        return socket.inet_ntoa(self.bytes[26:30])

    def group_element(self):
        return self.bytes[42:74]


class Network:
    def __init__(self, loss=0.0, delay=0.0, most=1.0):
        self.loss, self.delay, self.most = loss, delay, most
        self.ports = {}  # by name: a socket on this end of a machine's cable
        self.machines = {}  # by Ethernet address: the port
        self.waiting = []  # (when, number, port, frame)
        self.numbers = itertools.count()
        self.last = Counter()  # by port: the number of the latest frame that left
        self.seen, self.seen_before, self.forgotten_at = set(), set(), time.monotonic()
        self.told = Counter(carried=0, lost=0, overtaken=0, recorded=0, sent_again=0)
        self.twice = Counter()
        self.selector = selectors.DefaultSelector()

    def look_for_machines(self):
        for place in Path("/sys/class/net").iterdir():
            if place.name not in self.ports and (place / "brport").exists():
                port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, ETH_P_ALL)
                port.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
                port.bind((place.name, ETH_P_ALL))
                # From here on the bridge carries nothing from this cable to another like it.
                (place / "brport/isolated").write_text("1")
                self.ports[place.name] = port
                self.selector.register(port, selectors.EVENT_READ, place.name)

    def take(self, name):
        # Errors: the cable was pulled out, or nothing is left.
        try:
            while True:
                bytes_, (_, _, kind, *_) = self.ports[name].recvfrom(80_000)
                if kind != PACKET_OUTGOING:
                    self.carry(name, Frame(bytes_))
        except OSError:
            pass

    def carry(self, name, frame):
        now = time.monotonic()
        self.machines[frame.source()] = name
        known = self.machines.get(frame.destination())
        others = [port for port in self.ports if port != name]
        to = others if frame.is_for_all() or known is None else [known]
        for port in to:
            if random.random() < self.loss:
                self.told["lost"] += 1
                continue
            held_up = min(random.expovariate(1 / self.delay), self.most) if self.delay else 0.0
            heapq.heappush(self.waiting, (now + held_up, next(self.numbers), port, frame, "carried"))
        if frame.is_udp() and known is not None:
            self.record(now, known, frame)

    def record(self, now, port, frame):
        if now - self.forgotten_at > REMEMBERED:
            self.seen, self.seen_before, self.forgotten_at = set(), self.seen, now
        element = frame.group_element()
        if element in self.seen or element in self.seen_before:
            self.twice[frame.sender()] += 1
        self.seen.add(element)
        for wait in AGAIN:
            heapq.heappush(self.waiting, (now + wait, next(self.numbers), port, frame, "sent_again"))
        self.told["recorded"] += 1

    def send(self):
        while self.waiting and self.waiting[0][0] <= time.monotonic():
            _, number, port, frame, done = heapq.heappop(self.waiting)
            try:
                self.ports[port].send(frame.with_to_do)
                self.told[done] += 1
            except OSError:
                continue  # the cable was pulled out
            if done == "carried":
                self.told["overtaken"] += number < self.last[port]
                self.last[port] = max(number, self.last[port])

    def run(self, ended):
        looked = 0
        while not ended:
            if time.monotonic() - looked > 0.2:
                self.look_for_machines()
                looked = time.monotonic()
            wait = self.waiting[0][0] - time.monotonic() if self.waiting else 1.0
            for key, _ in self.selector.select(min(max(wait, 0.0), 0.05)):
                self.take(key.data)
            self.send()


def main():
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    network = Network(*map(float, sys.argv[1:]))
    network.look_for_machines()
    print("carries", flush=True)
    network.run(ended)
    print(json.dumps({**network.told, "twice": network.twice}), flush=True)


main()
