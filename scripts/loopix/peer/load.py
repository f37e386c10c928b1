"""Loads one mix with valid packets at a rate, and counts what it forwards.

Packets go by way of the mix to a socket of this program's. They are made before the clock starts, each of its own secret, so that
a mix that remembers replay tags works as hard as it would; the delay in them is 0. Senders are processes of their own, and
what they and the counting took of the processor is part of the result: where that nears the time that passed, the tool was
the limit and the figures are not the mix's.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import socket
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from petlib.bn import Bn
from petlib.ec import EcPt

from . import files, messages, packet
from .files import PARAMS, BadFiles, Place
from .messages import PROFILES, UCL_2017, Profile
from .packet import Flag, Refused, Step

_BUFFER = 16 * 2**20
_MESSAGE = b"load" + bytes(500)
# Of the packets that come out, one in so many is opened afterwards.
_CHECK_ONE_IN, _CHECK_AT_MOST = 50, 200
# Seconds without a packet after which none is expected.
_QUIET = 1.0
_CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


def add_arguments(words: argparse.ArgumentParser) -> None:
    words.add_argument("host")
    words.add_argument("port", type=int)
    words.add_argument("--rate", type=float, required=True, help="packets per second, of all senders together")
    words.add_argument("--seconds", type=float, required=True)
    key = words.add_mutually_exclusive_group(required=True)
    key.add_argument("--public", help="the mix's public key: 58 hexadecimal digits")
    key.add_argument("--mix", type=Path, metavar="DIR", help="a folder with its publicMixnode.bin")
    words.add_argument("--sink", type=Path, metavar="DIR",
                       help="key files of the node to count at, for mixes that send only to nodes in the directory")
    words.add_argument("--profile", choices=sorted(PROFILES), default=UCL_2017.name)
    words.add_argument("--senders", type=int, default=1, help="processes that make and send packets")
    words.add_argument("--distinct", type=int, help="make only so many packets and send them again and again; "
                       "for mixes that do not look for replays")
    words.add_argument("--pid", type=int, help="of the mix, to say how much processor time it took")
    words.set_defaults(act=run)


@dataclass(frozen=True)
class Sink:
    """The node that packets are for: this program."""

    place: Place
    secret: Bn
    socket: socket.socket


def run(said: argparse.Namespace) -> int:
    mix_key = _mix_key(said)
    sink = _open_sink(said.sink)
    total = round(said.rate * said.seconds)
    shares = [total * (n + 1) // said.senders - total * n // said.senders for n in range(said.senders)]
    if not all(shares):
        raise BadFiles("fewer packets than senders")
    context = multiprocessing.get_context("fork")
    ready, pipes, senders = context.Barrier(said.senders + 1), [], []
    for share in shares:
        distinct = share if said.distinct is None else max(1, min(share, said.distinct // said.senders))
        outcome, theirs = context.Pipe(duplex=False)
        work = (ready, theirs, sink.place, mix_key, PROFILES[said.profile], (said.host, said.port), share, distinct, said.seconds)
        senders.append(context.Process(target=_send, args=work, daemon=True))
        senders[-1].start()
        # So that the end of a sender that failed is seen here.
        theirs.close()
        pipes.append(outcome)
    began = time.monotonic()
    try:
        ready.wait()
    except threading.BrokenBarrierError as error:
        raise BadFiles("a sender could not make its packets") from error
    built_in = time.monotonic() - began
    before = _Meter.read(said, sink)
    counted = _count(sink, pipes)
    after = _Meter.read(said, sink)
    for sender in senders:
        sender.join()
    wrong = _check(sink, counted.sample)
    print(json.dumps(_result(said, counted, before, after, wrong, built_in)), flush=True)
    return 1 if wrong else 0


def _mix_key(said: argparse.Namespace) -> EcPt:
    if said.mix is not None:
        return files.read_public(said.mix, "mix").public
    try:
        return EcPt.from_binary(bytes.fromhex(said.public), PARAMS.group.G)
    # petlib raises plain exceptions.
    except Exception as error:
        raise BadFiles(f"--public: {error}") from error


def _open_sink(folder: Path | None) -> Sink:
    bound = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
    if folder is None:
        bound.bind(("127.0.0.1", 0))
        secret = PARAMS.group.gensecret()
        host, port = bound.getsockname()
        return Sink(Place("client", "Sink", host, port, PARAMS.group.expon_base([secret])), secret, bound)
    role = files.role_in(folder)
    place = replace(files.read_public(folder, role), origin="directory")
    bound.bind((place.host, place.port))
    return Sink(place, files.read_secret(folder, role), bound)


def _send(
    ready: Any,
    outcome: Any,
    sink: Place,
    mix_key: EcPt,
    profile: Profile,
    to: tuple[str, int],
    share: int,
    distinct: int,
    seconds: float,
) -> None:
    """A sender: makes its packets, waits for the others, sends each at its time."""
    try:
        made = [_make(sink, mix_key, profile) for _ in range(distinct)]
    except BaseException:
        # Or everyone would wait for this sender for ever.
        ready.abort()
        raise
    gc.disable()
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    ready.wait()
    cpu, began, sent = time.process_time(), time.monotonic(), 0
    while sent < share:
        due = min(share, int((time.monotonic() - began) * share / seconds) + 1)
        for number in range(sent, due):
            out.sendto(made[number % distinct], to)
        sent = max(sent, due)
        if sent < share:
            time.sleep(max(0.0, began + sent * seconds / share - time.monotonic()))
    ended = time.monotonic()
    outcome.send({"sent": sent, "began": began, "ended": ended, "cpu": time.process_time() - cpu})


def _make(sink: Place, mix_key: EcPt, profile: Profile) -> bytes:
    # The mix reads the command that was made for the second node. The first is never sent.
    routing = packet.relay(packet.LOOPIX, messages.command(profile, sink, "real", 0.0))
    path = [Step(routing, mix_key), Step(routing, sink.public)]
    return messages.write_packet(*packet.create(packet.LOOPIX, PARAMS, path, messages.destination(sink), _MESSAGE))


@dataclass(frozen=True)
class _Counted:
    """`in_time` came out while packets were still going in."""

    senders: list[dict[str, Any]]
    received: int
    in_time: int
    first: float
    sample: list[bytes]
    cpu: float


def _count(sink: Sink, pipes: list[Any]) -> _Counted:
    sink.socket.settimeout(0.1)
    finished: list[dict[str, Any]] = []
    received = in_time = 0
    first, sample, cpu = 0.0, [], time.process_time()
    quiet_since = looked = time.monotonic()
    while len(finished) < len(pipes) or time.monotonic() - quiet_since < _QUIET:
        try:
            datagram = sink.socket.recv(4096)
        except TimeoutError:
            now = time.monotonic()
        else:
            now = quiet_since = time.monotonic()
            first = first or now
            received += 1
            if received % _CHECK_ONE_IN == 1 and len(sample) < _CHECK_AT_MOST:
                sample.append(datagram)
        # Looking costs more than counting.
        if len(finished) < len(pipes) and now - looked > 0.01:
            looked = now
            finished += _finished(pipes[len(finished) :])
            if len(finished) == len(pipes):
                in_time, quiet_since = received, now
    return _Counted(finished, received, in_time, first, sample, time.process_time() - cpu)


def _finished(pipes: list[Any]) -> list[dict[str, Any]]:
    """In their order, so that those not yet finished are the rest."""
    told = []
    for pipe in pipes:
        if not pipe.poll():
            break
        try:
            told.append(pipe.recv())
        except EOFError as error:
            raise BadFiles("a sender failed") from error
    return told


def _check(sink: Sink, sample: list[bytes]) -> int:
    """How many of them are not what was sent."""
    wrong = 0
    for datagram in sample:
        try:
            arrived = packet.process(PARAMS, sink.secret, *messages.read_datagram(datagram))
            received = packet.receive(packet.LOOPIX, PARAMS, arrived.mac_key, arrived.body)
            wrong += arrived.flag is not Flag.DESTINATION or received[1] != _MESSAGE
        except (Refused, TypeError):
            wrong += 1
    return wrong


@dataclass(frozen=True)
class _Meter:
    """What the system says about others; None where it says nothing."""

    mix_drops: int | None
    sink_drops: int | None
    mix_cpu: float | None

    @classmethod
    def read(cls, said: argparse.Namespace, sink: Sink) -> _Meter:
        cpu = None
        if said.pid is not None:
            # The command's name, in parentheses, may hold spaces.
            fields = Path(f"/proc/{said.pid}/stat").read_text().rpartition(")")[2].split()
            cpu = (int(fields[11]) + int(fields[12])) / _CLOCK_TICKS
        return cls(_socket_drops(said.port), _socket_drops(sink.place.port), cpu)

    def since(self, before: _Meter) -> dict[str, Any]:
        names = ("mix_drops", "sink_drops", "mix_cpu")
        pairs = {name: (getattr(before, name), getattr(self, name)) for name in names}
        return {name: None if None in pair else round(pair[1] - pair[0], 3) for name, pair in pairs.items()}


def _socket_drops(port: int) -> int | None:
    """Datagrams that this machine's sockets with the port had no room for (proc(5), /proc/net/udp)."""
    found = None
    for table in ("udp", "udp6"):
        path = Path("/proc/net", table)
        for row in path.read_text().splitlines()[1:] if path.exists() else ():
            columns = row.split()
            if int(columns[1].rpartition(":")[2], 16) == port:
                found = (found or 0) + int(columns[-1])
    return found


def _result(said: argparse.Namespace, counted: _Counted, before: _Meter, after: _Meter, wrong: int, built_in: float) -> dict[str, Any]:
    sent = sum(sender["sent"] for sender in counted.senders)
    began = min(sender["began"] for sender in counted.senders)
    ended = max(sender["ended"] for sender in counted.senders)
    sending = max(ended - began, 1e-9)
    counting = max(ended - counted.first, 1e-9) if counted.in_time else 1e-9
    return {
        "rate": said.rate,
        "seconds": said.seconds,
        "built_in_seconds": round(built_in, 2),
        "sent": sent,
        "sent_per_second": round(sent / sending, 1),
        "received": counted.received,
        # Out of a mix that keeps up, this is the rate in; of one that does not, its capacity.
        "out_per_second": round(counted.in_time / counting, 1) if counted.in_time else 0.0,
        "lost": sent - counted.received,
        "checked": len(counted.sample),
        "wrong": wrong,
        "sender_cpu": [round(sender["cpu"], 3) for sender in counted.senders],
        "sink_cpu": round(counted.cpu, 3),
        **after.since(before),
    }
