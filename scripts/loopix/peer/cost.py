"""Times what a node does with one packet: to compare with another implementation that takes its turn in the same run."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

from . import messages, packet
from .files import PARAMS, Place
from .messages import UCL_2017
from .packet import Flag, Step

_HOPS = 6
_MESSAGE = b"cost" + bytes(496)


def add_arguments(words: argparse.ArgumentParser) -> None:
    words.add_argument("--seconds", type=float, default=2.0, help="for each of the two")
    words.set_defaults(act=run)


def run(said: argparse.Namespace) -> int:
    secrets = [PARAMS.group.gensecret() for _ in range(_HOPS)]
    places = [
        Place("provider", f"Node{number}", "127.0.0.1", 10_000 + number, PARAMS.group.expon_base([secret]))
        for number, secret in enumerate(secrets)
    ]
    routing = [packet.relay(packet.LOOPIX, messages.command(UCL_2017, place, "real", 0.0)) for place in places]
    path = [Step(told, place.public) for told, place in zip(routing, places)]
    receiver = messages.destination(places[-1])

    def create() -> bytes:
        return messages.write_packet(*packet.create(packet.LOOPIX, PARAMS, path, receiver, _MESSAGE))

    datagram = create()

    def hop() -> bytes:
        processed = packet.process(PARAMS, secrets[0], *messages.read_datagram(datagram))
        assert processed.flag is Flag.RELAY
        messages.read_command(processed.command[1])
        return messages.write_packet(processed.header, processed.body)

    print(json.dumps({"hop": _times(hop, said.seconds), "create": _times(create, said.seconds)}))
    return 0


def _times(work: Callable[[], Any], seconds: float) -> dict[str, float]:
    """In microseconds."""
    work()
    taken, until = [], time.perf_counter() + seconds
    while not taken or time.perf_counter() < until:
        began = time.perf_counter()
        work()
        taken.append(1e6 * (time.perf_counter() - began))
    return {"minimum": min(taken), "median": statistics.median(taken)}
