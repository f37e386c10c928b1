"""Identities (docs/spec/identity.md, "Hashes" and "Statements")."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from . import cbor, ed25519, hpke, p256

CURVES = {"ed25519": 6, "es256": 1}
ALGORITHMS = {"ed25519": -8, "es256": -7}


def length_prefixed(value: bytes) -> bytes:
    return len(value).to_bytes(2, "big") + value


def labelled_hash(label: str, *fields: bytes) -> bytes:
    return hashlib.sha256(length_prefixed(f"motemix/1 {label}".encode()) + b"".join(fields)).digest()


@dataclass(frozen=True)
class Device:
    name: str
    algorithm: str
    secret: bytes
    others: tuple[tuple[int, bytes], ...] = ()

    @property
    def _curve(self) -> Any:
        return ed25519 if self.algorithm == "ed25519" else p256

    @property
    def public(self) -> bytes:
        return self._curve.public_key(self.secret)

    @property
    def key(self) -> bytes:
        """The key as hashes have it."""
        return bytes([CURVES[self.algorithm]]) + length_prefixed(self.public)

    @property
    def identity(self) -> bytes:
        others = [bytes([kind]) + length_prefixed(value) for kind, value in self.others]
        return labelled_hash("identity", self.key, *others)

    @property
    def raw_identity(self) -> bytes:
        return hashlib.sha256(self.public + b"".join(value for _, value in self.others)).digest()

    def temporary(self, period: int) -> bytes:
        return labelled_hash("temporary identity", self.identity, period.to_bytes(8, "big"))[:8]

    @property
    def cose_key(self) -> bytes:
        if self.algorithm == "ed25519":
            return cbor.mapping((1, cbor.integer(1)), (-1, cbor.integer(6)), (-2, cbor.string(self.public)))
        x, y = (number.to_bytes(32, "big") for number in p256.point_of(self.secret))
        return cbor.mapping(
            (1, cbor.integer(2)), (-1, cbor.integer(1)), (-2, cbor.string(x)), (-3, cbor.string(y))
        )

    @property
    def credential(self) -> bytes:
        values = [item for kind, value in self.others for item in (cbor.integer(kind), cbor.string(value))]
        return cbor.array(cbor.integer(CURVES[self.algorithm]), cbor.string(self.public), *values)

    def sign(self, message: bytes) -> bytes:
        signature = self._curve.sign(self.secret, message)
        public = self.public if self.algorithm == "ed25519" else p256.point_of(self.secret)
        if not self._curve.verify(public, message, signature):
            raise AssertionError(f"{self.name}: its own signature does not hold")
        return signature

    def sign1(self, external: bytes, payload: bytes) -> bytes:
        protected = cbor.mapping((1, cbor.integer(ALGORITHMS[self.algorithm])))
        signed = cbor.array(
            cbor.text("Signature1"), cbor.string(protected), cbor.string(external), cbor.string(payload)
        )
        signature = self.sign(signed)
        if self.algorithm == "es256":
            signature = p256.lower(signature)
        return cbor.array(cbor.string(protected), cbor.mapping(), cbor.string(payload), cbor.string(signature))


def qr_text(identity: bytes) -> str:
    return "MOTEMIX:ID:" + identity.hex().upper()


def sorted_members(devices: list[Device]) -> list[Device]:
    """Ed25519 first, then by the bytes of the key."""
    return sorted(devices, key=lambda device: (device.algorithm != "ed25519", device.public))


def group_identity(devices: list[Device]) -> bytes:
    members = sorted_members(devices)
    return labelled_hash("group", len(members).to_bytes(2, "big"), *(member.key for member in members))


def member_identity(device: Device, devices: list[Device]) -> bytes:
    rest = [member for member in sorted_members(devices) if member is not device]
    return labelled_hash(
        "group member", device.key, len(rest).to_bytes(2, "big"), *(member.key for member in rest)
    )


def external(label: str, identity: bytes, number: bytes, audience: str = "") -> bytes:
    return (
        length_prefixed(f"motemix/1 {label}".encode()) + identity + number + length_prefixed(audience.encode())
    )


def possession(device: Device, challenge: bytes, audience: str) -> bytes:
    return device.sign1(external("possession", device.identity, challenge, audience), device.credential)


def membership(device: Device, devices: list[Device], challenge: bytes, audience: str) -> bytes:
    members = sorted_members(devices)
    keys = [
        item
        for member in members
        for item in (cbor.integer(CURVES[member.algorithm]), cbor.string(member.public))
    ]
    payload = cbor.array(cbor.integer(members.index(device)), *keys)
    return device.sign1(external("membership", group_identity(devices), challenge, audience), payload)


def retirement(old: Device, new: Device) -> bytes:
    accepted = new.sign(external("successor", old.identity, new.identity))
    payload = cbor.array(old.credential, new.credential, cbor.string(accepted))
    return old.sign1(external("retirement", old.identity, new.identity), payload)


def registration(device: Device, sequence: int, whole: bool, audience: str) -> bytes:
    who = device.credential if whole else cbor.string(device.identity[:16])
    number = sequence.to_bytes(8, "big")
    return device.sign1(
        external("registration", device.identity, number, audience), cbor.array(cbor.integer(sequence), who)
    )


def request_digest(method: int, path: list[str], query: list[str], payload: bytes) -> bytes:
    """Everything that a request asks for."""

    def strings(values: list[str]) -> bytes:
        return len(values).to_bytes(2, "big") + b"".join(length_prefixed(value.encode()) for value in values)

    return labelled_hash(
        "request", bytes([method]), strings(path), strings(query), len(payload).to_bytes(4, "big"), payload
    )


def signed_request(device: Device, sequence: int, digest: bytes, audience: str) -> bytes:
    number = sequence.to_bytes(8, "big") + digest
    return device.sign1(
        external("signed request", device.identity, number, audience),
        cbor.array(cbor.integer(sequence), cbor.string(device.identity[:16])),
    )


def pairing(
    server: Device, device: Device, sequence: int, audience: str, place: str, purpose: str, ephemeral: bytes
) -> bytes:
    """docs/spec/pairing.md, "Pairing"."""
    number = sequence.to_bytes(8, "big")
    texts = [cbor.text(text) for text in (audience, place, purpose)]
    signed = server.sign1(
        external("pairing", device.identity, number, audience),
        cbor.array(cbor.integer(sequence), *texts, server.credential),
    )
    enc = hpke.kem_public(device.algorithm, ephemeral)
    kem = cbor.integer(hpke.KEMS[device.algorithm])
    head = cbor.head(4, 3) + kem + cbor.string(enc) + cbor.head(2, len(signed) + 16)
    info = length_prefixed(b"motemix/1 sealed pairing") + device.identity
    receiver = hpke.agreement_public(device.algorithm, device.public)
    return head + hpke.seal(device.algorithm, ephemeral, receiver, info, head, signed)


def command(
    server: Device, device: Device, sequence: int, whole: bool, audience: str, senml: bytes
) -> bytes:
    """docs/spec/pairing.md, "Commands"."""
    who = server.credential if whole else cbor.string(server.identity[:4])
    number = sequence.to_bytes(8, "big")
    return server.sign1(
        external("command", device.identity, number, audience),
        cbor.array(cbor.integer(sequence), who, cbor.string(senml)),
    )
