"""Sphinx packets as sphinxmix makes them, with the two things chosen that its versions disagree on.

The flag in front of a routing string is a native string literal in the package: msgpack bin where it ran on Python 2, str on
Python 3. The 16 bytes before the payload are zeros up to 0.0.6 and an HMAC in 0.0.7. Loopix is the first of both.

The package's own functions cover str flags with an HMAC entirely. For the other formats they still make the header
(`create_header`, which takes the final routing string as bytes), peel layers (`sphinx_process`, which looks at neither flag nor
tag), pad, and encrypt bodies; only the body's tag and the final routing string are put together here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from os import urandom
from typing import Any, NamedTuple

from petlib.bn import Bn
from petlib.ec import EcPt
from petlib.pack import decode, encode
from sphinxmix import SphinxClient, SphinxException
from sphinxmix.SphinxNode import sphinx_process
from sphinxmix.SphinxParams import SphinxParams


class Flag(Enum):
    """What the node that reads a routing string is to do."""

    RELAY = 0xF0
    DESTINATION = 0xF1
    SURB = 0xF2

    @classmethod
    def read(cls, written: object) -> Flag:
        """Either form: nodes meet senders of both Pythons."""
        if isinstance(written, (bytes, str)) and len(written) == 1:
            return cls(ord(written))
        raise ValueError("a flag is one character")


class Refused(Exception):
    """A datagram that a node does not process; `reason` is what it is counted as."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Format:
    """`flags` is "bin" or "str", `body_tag` "zero" or "hmac"."""

    flags: str
    body_tag: str

    def __post_init__(self) -> None:
        if self.flags not in ("bin", "str") or self.body_tag not in ("zero", "hmac"):
            raise ValueError("flags are bin or str, and the body tag is zero or hmac")

    def flag(self, flag: Flag) -> bytes | str:
        return bytes([flag.value]) if self.flags == "bin" else chr(flag.value)

    def tag(self, params: SphinxParams, key: bytes, padded: bytes) -> bytes:
        """What stands in front of the padded payload."""
        return bytes(params.k) if self.body_tag == "zero" else params.mu(key, padded)

    def open(self, params: SphinxParams, key: bytes, body: bytes) -> bytes:
        """The payload of a body with no encryption left on it."""
        tag, padded = body[: params.k], body[params.k :]
        if tag != self.tag(params, key, padded):
            raise Refused("bad_body_tag")
        return SphinxClient.unpad_body(padded)


LOOPIX = Format(flags="bin", body_tag="zero")
PACKAGE = Format(flags="str", body_tag="hmac")


class Step(NamedTuple):
    """A node on the way: its routing string as it is sent, and its key."""

    routing: bytes
    public: EcPt


@dataclass(frozen=True)
class Processed:
    """What a node learns from a packet. At a destination the header means nothing."""

    replay_tag: bytes
    routing: bytes
    flag: Flag
    command: list[Any]
    header: tuple[EcPt, bytes, bytes]
    body: bytes
    mac_key: bytes


def relay(form: Format, command: object) -> bytes:
    return encode([form.flag(Flag.RELAY), command])


def create(
    form: Format,
    params: SphinxParams,
    path: Sequence[Step],
    destination: object,
    message: bytes,
    assoc: Sequence[bytes] | None = None,
) -> tuple[tuple[EcPt, bytes, bytes], bytes]:
    """A header and a body for the first node of the path.

    Raises SphinxException if message or routing strings are too long.
    """
    routing, keys = [step.routing for step in path], [step.public for step in path]
    if form == PACKAGE:
        return SphinxClient.create_forward_message(params, routing, keys, destination, message, assoc)
    final = encode([form.flag(Flag.DESTINATION)])
    header, secrets = SphinxClient.create_header(params, routing, keys, final, assoc)
    padded = SphinxClient.pad_body(params.m - params.k, encode([destination, message]))
    body_keys = [params.hpi(secret) for secret in secrets]
    body = form.tag(params, body_keys[-1], padded) + padded
    for key in reversed(body_keys):
        body = params.pi(key, body)
    return header, body


def process(params: SphinxParams, secret: Bn, header: Sequence[Any], body: bytes, assoc: bytes = b"") -> Processed:
    """Peels one layer off, or raises Refused."""
    try:
        replay_tag, routing, (header, body), mac_key = sphinx_process(params, secret, header, body, assoc)
    except SphinxException as error:
        raise Refused("bad_mac" if "MAC" in str(error) else "bad_point") from error
    # The package asserts on lengths, and petlib raises plain exceptions and whatever a wrong type leads to.
    except Exception as error:
        raise Refused("malformed") from error
    try:
        command = decode(routing)
        flag = Flag.read(command[0])
    except Exception as error:
        raise Refused("bad_routing") from error
    return Processed(replay_tag, routing, flag, command, tuple(header), body, mac_key)


def receive(form: Format, params: SphinxParams, mac_key: bytes, body: bytes) -> tuple[Any, bytes]:
    """Destination and message of a body that reached its end, or raises Refused."""
    try:
        if form.body_tag == "hmac":
            destination, message = SphinxClient.receive_forward(params, mac_key, body)
        else:
            destination, message = decode(form.open(params, mac_key, body))
    except SphinxException as error:
        raise Refused("bad_body_tag") from error
    except Refused:
        raise
    except Exception as error:
        raise Refused("malformed") from error
    return destination, message


class Surb(NamedTuple):
    """What is given away: the first node's routing string, the header, and the key of the reply."""

    first: bytes
    header: tuple[EcPt, bytes, bytes]
    key: bytes


def create_surb(
    form: Format, params: SphinxParams, path: Sequence[Step], destination: object
) -> tuple[bytes, list[bytes], Surb]:
    """The SURB's id, the keys to keep under it, and the SURB."""
    routing, keys = [step.routing for step in path], [step.public for step in path]
    if form.flags == "str":
        surb_id, kept, surb = SphinxClient.create_surb(params, routing, keys, destination)
        return surb_id, kept, Surb(*surb)
    surb_id = urandom(params.k)
    final = encode([form.flag(Flag.SURB), destination, surb_id])
    header, secrets = SphinxClient.create_header(params, routing, keys, final)
    key = urandom(params.k)
    return surb_id, [key, *map(params.hpi, secrets)], Surb(routing[0], header, key)


def reply(form: Format, params: SphinxParams, surb: Surb, message: bytes) -> tuple[tuple[EcPt, bytes, bytes], bytes]:
    """A header and a body for the node that the SURB's first routing string names."""
    if form.body_tag == "hmac":
        return SphinxClient.package_surb(params, surb, message)
    padded = SphinxClient.pad_body(params.m - params.k, message)
    return surb.header, params.pi(surb.key, form.tag(params, surb.key, padded) + padded)


def receive_reply(form: Format, params: SphinxParams, kept: Sequence[bytes], body: bytes) -> bytes:
    """The message of a reply, or raises Refused."""
    if form.body_tag == "hmac":
        try:
            # The package takes the keys out of the list that it is given.
            return SphinxClient.receive_surb(params, list(kept), body)
        except SphinxException as error:
            raise Refused("bad_body_tag") from error
    key, *layers = kept
    # Nodes decrypted, so the creator encrypts.
    for layer in reversed(layers):
        body = params.pi(layer, body)
    return form.open(params, key, params.pii(key, body))
