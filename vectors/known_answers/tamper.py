"""Datagrams a node must refuse, and different datagrams it must recognise as one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sphinx_reference import wide_block
from sphinx_reference.header import Command, Header, create_header, terminal_block
from sphinx_reference.hop_keys import derive_hop_keys
from sphinx_reference.message import write_message
from sphinx_reference.node import Refused, process
from sphinx_reference.payload import seal
from sphinx_reference.primitives import xor
from sphinx_reference.profile import PROFILES, Packet, Profile
from sphinx_reference.x25519 import PRIME, public_key

from .material import Node, derive, make_path, require

_TOP_BIT = 2**255
_ORDER_8 = (
    325606250916557431795983626356110631294008115727848805560023387167927233504,
    39382357235489614581723060781553021112529911719440698176882885853963445705823,
)
# Every u-coordinate of order 1, 2, 4 or 8 on the curve or its twist, as far as 255 bits can write
# it, then two whose ignored top bit is set.
SMALL_ORDER = [
    ("0", 0),
    ("1", 1),
    ("first of order 8", _ORDER_8[0]),
    ("second of order 8", _ORDER_8[1]),
    ("p-1", PRIME - 1),
    ("p", PRIME),
    ("p+1", PRIME + 1),
    ("0 with the top bit", _TOP_BIT),
    ("1 with the top bit", _TOP_BIT + 1),
]


def _flip(value: bytes, bit: int) -> bytes:
    """Bit 0 is the lowest of the first byte."""
    changed = bytearray(value)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


class _Subject:
    """A valid packet of one or two hops to change."""

    def __init__(
        self, profile: Profile, commands: list[Command], argument: int | None = None
    ) -> None:
        name = f"tamper {profile.name} {[command.value for command in commands]} {argument}"
        self.profile = profile
        self.nodes: list[Node] = make_path(name, commands, {})
        path = [node.hop for node in self.nodes]
        last_block = None if argument is None else terminal_block(argument)
        self.header: Header = create_header(profile, derive(name, "seed", 32), path, last_block)
        self.plain = write_message(profile, derive(name, "id", 4), derive(name, "data", 40))
        self.secret = self.nodes[0].secret

    def packet(self, plain: bytes | None = None) -> Packet:
        block = self.plain if plain is None else plain
        sealed = seal(self.profile, self.header, 0, block)
        return Packet(self.header.alpha, self.header.beta, self.header.gamma, sealed)


class _Collector:
    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []

    def add(self, name: str, profile: Profile, secret: bytes, datagram: bytes,
            verdict: str) -> None:
        try:
            process(profile, secret, datagram)
            found = "accepted"
        except Refused as refused:
            found = refused.verdict
        require(found == verdict, f"{name}: {found} instead of {verdict}")
        self.entries.append({
            "name": name,
            "profile": profile.name,
            "hop_secret": secret.hex(),
            "datagram": datagram.hex(),
            "verdict": verdict,
        })


def _lengths(out: _Collector, subject: _Subject) -> None:
    datagram = subject.packet().encode()
    for name, changed in (
        ("empty", b""),
        ("one byte short", datagram[:-1]),
        ("one byte long", datagram + b"\0"),
        ("header only", datagram[: -subject.profile.payload_len]),
    ):
        out.add(name, subject.profile, subject.secret, changed, "wrong-length")


def _other_profile_length(out: _Collector, subject: _Subject, other: Profile) -> None:
    datagram = subject.packet().encode()
    name = f"{subject.profile.name} datagram in a {other.name} network"
    out.add(name, other, subject.secret, datagram, "wrong-length")


def _small_order(out: _Collector, profile: Profile) -> None:
    """Each header carries the MAC that follows from a zero secret, so that only the check of the
    secret refuses it."""
    keys = derive_hop_keys(bytes(32))
    for label, coordinate in SMALL_ORDER:
        name = f"small-order alpha {label}"
        secret = derive(name, "secret", 32)
        plain = write_message(profile, bytes(4), b"forged")
        block = terminal_block(0) + derive(name, "beta", profile.routing_info_len - 18)
        beta = xor(block, keys.routing_stream(profile.routing_info_len))
        payload = wide_block.encrypt(profile.wide_block_hash, keys.payload_keys, plain)
        alpha = coordinate.to_bytes(32, "little")
        datagram = Packet(alpha, beta, keys.header_mac(beta), payload).encode()
        out.add(name, profile, secret, datagram, "non-contributory")


def _header_bits(out: _Collector, subject: _Subject) -> None:
    packet = subject.packet()
    beta_bits = 8 * len(packet.beta)
    changes = [
        ("first bit of the header mac flipped", replace(packet, gamma=_flip(packet.gamma, 0))),
        ("last bit of the header mac flipped", replace(packet, gamma=_flip(packet.gamma, 127))),
        ("first bit of beta flipped", replace(packet, beta=_flip(packet.beta, 0))),
        ("middle bit of beta flipped", replace(packet, beta=_flip(packet.beta, beta_bits // 2))),
        ("last bit of beta flipped", replace(packet, beta=_flip(packet.beta, beta_bits - 1))),
        ("bit 8 of alpha flipped", replace(packet, alpha=_flip(packet.alpha, 8))),
        ("alpha of another packet", replace(packet, alpha=public_key(derive("other", "x", 32)))),
    ]
    for name, changed in changes:
        out.add(name, subject.profile, subject.secret, changed.encode(), "bad-header-mac")
    stranger = derive("stranger", "secret", 32)
    out.add("another node's packet", subject.profile, stranger, packet.encode(), "bad-header-mac")


def _reserved_arguments(out: _Collector, profile: Profile) -> None:
    for argument in (2, 3, 0x2000, 0x3FFF):
        subject = _Subject(profile, [Command.DELIVER], argument)
        name = f"terminal with argument {argument}"
        datagram = subject.packet().encode()
        out.add(name, profile, subject.secret, datagram, "unknown-command")


def _payloads(out: _Collector, subject: _Subject) -> None:
    profile, secret = subject.profile, subject.secret
    label = subject.nodes[0].hop.command.value
    packet = subject.packet()
    bits = 8 * profile.payload_len
    for where, bit in (("first", 0), ("middle", bits // 2), ("last", bits - 1)):
        changed = replace(packet, payload=_flip(packet.payload, bit))
        name = f"{label}, {where} bit of the payload flipped"
        out.add(name, profile, secret, changed.encode(), "bad-payload")
    empty = bytes(profile.payload_len)
    ending = bytes(16) + b"idid" + b"data" + b"\x81"
    for name, plain in (
        ("tag with one bit set", _flip(subject.plain, 127)),
        ("no padding", empty),
        ("0x80 in the message id only", empty[:16] + b"\x80" * 4 + empty[20:]),
        ("padding begins with 0x81", ending + bytes(profile.payload_len - len(ending))),
    ):
        datagram = subject.packet(plain).encode()
        out.add(f"{label}, {name}", profile, secret, datagram, "bad-payload")


def build_negative() -> list[dict[str, Any]]:
    out = _Collector()
    mote, host = PROFILES["MOTE"], PROFILES["HOST1K"]
    deliver = _Subject(mote, [Command.DELIVER])
    forward = _Subject(mote, [Command.FORWARD, Command.DELIVER])
    turn_round = _Subject(mote, [Command.TURN_ROUND, Command.YOURS])
    host_deliver = _Subject(host, [Command.DELIVER])
    _lengths(out, deliver)
    _other_profile_length(out, deliver, PROFILES["MOTE5"])
    _other_profile_length(out, host_deliver, mote)
    _small_order(out, mote)
    _header_bits(out, forward)
    _reserved_arguments(out, mote)
    _payloads(out, deliver)
    _payloads(out, turn_round)
    changed = host_deliver.packet()
    changed = replace(changed, payload=_flip(changed.payload, 8 * host.payload_len - 1))
    out.add("HOST1K deliver, last bit of the payload flipped", host, host_deliver.secret,
            changed.encode(), "bad-payload")
    return out.entries


def build_same_tag() -> list[dict[str, Any]]:
    """Encodings of alpha that reach the same secret. x -> 1/x adds the point of order 2."""
    profile = PROFILES["MOTE"]
    subject = _Subject(profile, [Command.FORWARD, Command.DELIVER])
    packet = subject.packet()
    alpha = int.from_bytes(packet.alpha, "little")
    entries = []
    for name, coordinate in (
        ("alpha with its top bit set", alpha | _TOP_BIT),
        ("alpha plus the point of order 2", pow(alpha, -1, PRIME)),
    ):
        other = replace(packet, alpha=coordinate.to_bytes(32, "little"))
        seen: set[bytes] = set()
        first = process(profile, subject.secret, packet.encode(), seen)
        second = process(profile, subject.secret, other.encode())
        require(first.keys == second.keys, f"{name}: the same keys")
        require(first.forwarded() == second.forwarded(), f"{name}: the same packet goes on")
        try:
            process(profile, subject.secret, other.encode(), seen)
            raise AssertionError(f"{name}: not seen as a replay")
        except Refused as refused:
            require(refused.verdict == "replay", f"{name}: {refused.verdict}")
        entries.append({
            "name": name,
            "profile": profile.name,
            "hop_secret": subject.secret.hex(),
            "datagram": packet.encode().hex(),
            "other_datagram": other.encode().hex(),
            "replay_tag": first.keys.replay_tag.hex(),
        })
    return entries
