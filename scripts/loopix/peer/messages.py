"""What is in a datagram: packets, routing commands, and a client's messages to its provider.

Text is msgpack bin or str on this wire, depending on where the Python 2 sender had it from; receivers do not care, so everything
read is turned into str, and `files.Place` knows how each kind of node is written.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgpack
from petlib.ec import EcGroup, EcPt
from petlib.pack import decode, encode

from .files import Place
from .packet import Refused

LOOP_PREFIX, DUMMY_PREFIX = b"HT", b"HD"
_PLAIN_DUMMY_LEN = 500
_CURVES = frozenset(EcGroup.list_curves())
_POINT_TYPES = (1, 2)


@dataclass(frozen=True)
class Profile:
    """Where the original of 2017 and its fork of 2018 differ."""

    name: str
    # Readable by every hop, and nil in the original.
    kinds: dict[str, bytes | None]
    sends_key: bool
    sphinx_dummies: bool
    may_push: bool


UCL_2017 = Profile("ucl-2017", {"real": None, "drop": None, "loop": None}, False, False, False)
FORK_2018 = Profile("fork-2018", {"real": b"\x01", "drop": b"\x02", "loop": b"\x03"}, True, True, True)
PROFILES = {profile.name: profile for profile in (UCL_2017, FORK_2018)}


def text(written: object) -> str:
    if isinstance(written, bytes):
        return written.decode()
    if isinstance(written, str):
        return written
    raise ValueError("neither bin nor str")


class Command(NamedTuple):
    """Where a relay sends a packet, and after how many seconds."""

    host: str
    port: int
    drop: bool
    delay: float
    name: str


def command(profile: Profile, place: Place, kind: str, delay: float, drop: bool = False) -> list[Any]:
    return [[place.wire_host, place.port], drop, profile.kinds[kind], delay, place.wire_name]


def read_command(written: object) -> Command:
    """Raises Refused for what the originals fail on after all their work, and for delays that are no time to wait."""
    try:
        (host, port), drop, _kind, delay, name = written
        said = Command(text(host), port, bool(drop), delay, text(name))
    except (TypeError, ValueError) as error:
        raise Refused("bad_routing") from error
    if type(port) is not int or not 0 < port < 65536:
        raise Refused("bad_routing")
    if type(delay) not in (int, float) or not math.isfinite(delay) or delay < 0:
        raise Refused("bad_delay")
    return said


def destination(place: Place) -> list[Any]:
    return [place.wire_host, place.port, place.wire_name]


def is_for(place: Place, written: object) -> bool:
    try:
        host, port, name = written
        return (text(host), port, text(name)) == (place.host, place.port, place.name)
    except (TypeError, ValueError):
        return False


def write_packet(header: tuple[EcPt, bytes, bytes], body: bytes) -> bytes:
    return encode([header, body])


def read_datagram(datagram: bytes) -> list[Any]:
    """The array in a datagram, or raises Refused."""
    try:
        # petlib asks OpenSSL for whatever curve is named and does not look at the answer, which kills the process. So the names
        # are looked at first; then petlib reads everything again, because its cost is part of what is measured.
        msgpack.unpackb(datagram, ext_hook=_known_curve, encoding="utf-8")
        message = decode(datagram)
    # petlib raises plain exceptions.
    except Exception as error:
        raise Refused("malformed") from error
    if not isinstance(message, list) or not message:
        raise Refused("malformed")
    return message


def _known_curve(code: int, data: bytes) -> None:
    if code in _POINT_TYPES:
        content = msgpack.unpackb(data)
        if (content if code == 1 else content[0]) not in _CURVES:
            raise ValueError("no such curve")


def says(message: list[Any], word: bytes) -> bool:
    return message[0] in (word, word.decode())


def subscribe(profile: Profile, place: Place) -> bytes:
    key = [place.public] if profile.sends_key else []
    return encode([b"SUBSCRIBE", place.name.encode(), place.host.encode(), place.port, *key])


class Subscription(NamedTuple):
    name: str
    host: str
    port: int
    public: EcPt | None


def read_subscribe(profile: Profile, message: list[Any]) -> Subscription:
    """A provider takes its own version's number of elements and no other."""
    try:
        if profile.sends_key:
            _word, name, host, port, public = message
        else:
            (_word, name, host, port), public = message, None
        said = Subscription(text(name), text(host), port, public)
    except ValueError as error:
        raise Refused("bad_control") from error
    if type(port) is not int or not 0 < port < 65536 or (profile.sends_key and not isinstance(public, EcPt)):
        raise Refused("bad_control")
    return said


def pull(name: str) -> bytes:
    return encode([b"PULL", name.encode()])


def read_pull(message: list[Any]) -> str:
    try:
        _word, name = message
        return text(name)
    except ValueError as error:
        raise Refused("bad_control") from error


def plain_dummy(noise: Callable[[int], bytes]) -> bytes:
    """What a provider of 2017 sends where it has nothing; `noise` makes so many random bytes."""
    return encode([b"DUMMY", noise(_PLAIN_DUMMY_LEN), noise(_PLAIN_DUMMY_LEN)])
