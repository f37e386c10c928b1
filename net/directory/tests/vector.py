#!/usr/bin/env python3
"""Writes vector.hex: the document of tests/network/mod.rs, made from docs/spec/directory.md alone.

Needs the package `cryptography` for Ed25519. Run: python3 vector.py > vector.hex
"""

import hashlib
import ipaddress

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


def head(major, value):
    if value < 24:
        return bytes([major << 5 | value])
    for info, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if value < 1 << 8 * size:
            return bytes([major << 5 | info]) + value.to_bytes(size, "big")
    raise ValueError(value)


class Tagged:
    def __init__(self, tag, value):
        self.tag, self.value = tag, value


def cbor(value):
    match value:
        case None:
            return b"\xf6"
        case int():
            return head(0, value) if value >= 0 else head(1, -1 - value)
        case bytes():
            return head(2, len(value)) + value
        case str():
            return head(3, len(value)) + value.encode()
        case list():
            return head(4, len(value)) + b"".join(map(cbor, value))
        case dict():
            return head(5, len(value)) + b"".join(sorted(cbor(k) + cbor(v) for k, v in value.items()))
        case Tagged():
            return head(6, value.tag) + cbor(value.value)


def address(ip, port):
    return ipaddress.ip_address(ip).packed + port.to_bytes(2, "big")


def node(name, role, key, *more):
    return [name, role, key.to_bytes(2, "big") + b"\x09" * 30, [address("192.0.2.1", 4000), *more]]


nodes = [node(f"mix-{i}", i // 2, 100 + i) for i in range(6)]
nodes.append(node("alice", None, 7))
nodes.append(node("sensor-8", None, 8, address("2001:db8::8", 5683)))
parameters = {
    1: 2, 2: 3, 3: 200_000, 4: 150_001, 5: 4, 6: 60_000_000, 7: 0, 8: 10_000_000, 9: 120,
}  # fmt: skip
noon = 1_800_000_000
payload = cbor({1: 1, 2: "test-net", 3: 41, 4: noon, 5: noon + 3600, 6: 0, 7: parameters, 8: nodes})
protected = cbor({1: -8})
signed = cbor(["Signature1", protected, b"motemix/1 network document", payload])

signatures = []
for number in (1, 2):
    secret = Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)
    public = secret.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    key_id = hashlib.blake2s(public).digest()[:8]
    signatures.append(Tagged(18, [protected, {4: key_id}, None, secret.sign(signed)]))

text = cbor([payload, signatures]).hex()
for at in range(0, len(text), 96):
    print(text[at : at + 96])
