"""Known answers for identities: devices, groups, and what devices sign."""

from __future__ import annotations

import hashlib
from typing import Any

from identity_reference import ed25519, p256
from identity_reference.identity import (
    Device,
    group_identity,
    member_identity,
    membership,
    possession,
    qr_text,
    registration,
    request_digest,
    retirement,
    signed_request,
)


def _seed(label: str) -> bytes:
    return hashlib.sha256(f"identity/{label}".encode()).digest()


DEVICES = [
    Device("plain", "ed25519", _seed("plain")),
    Device("serial", "ed25519", _seed("serial"), ((1, b"A-17"), (2, b"motemix"), (3, "thermomètre".encode()))),
    Device("private values", "ed25519", _seed("private values"), ((128, b""), (255, bytes(range(64))))),
    Device("secure element", "es256", _seed("secure element"), ((1, b"A-18"),)),
    Device("plain secure element", "es256", _seed("plain secure element")),
]
GROUPS = [[0], [0, 1], [3, 4], [4, 1, 3, 0, 2]]
PERIODS = [0, 20417, 2**64 - 1]
AUDIENCES = ["", "plant", "é" * 32]
SUCCESSORS = [(0, 2), (1, 3), (3, 4), (4, 0)]
REQUESTS: list[tuple[int, list[str], list[str], str]] = [
    (2, ["rd"], ["ep=attic", "base=coap://[2001:db8::17]", "et=thermomètre"], "</temp>;rt=temperature"),
    (2, ["rd", "4521"], ["lt=60"], ""),
    (4, ["rd", "4521"], [], ""),
    (2, ["", ".well-known"], [""], "é" * 200),
]
SEQUENCES = [0, 23, 65536, 2**64 - 1]


def _self_test() -> None:
    """RFC 8032, section 7.1, test 1 and 2; RFC 6979, appendix A.2.5, "sample" with SHA-256."""
    seed = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    signature = (
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
        "d25bf5f0595bbe24655141438e7a100b"
    )
    key = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    if ed25519.public_key(seed).hex() != key or ed25519.sign(seed, b"").hex() != signature:
        raise AssertionError("this is not Ed25519")
    secret = bytes.fromhex("c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721")
    expected = (
        "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"
        "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8"
    )
    if p256.sign(secret, b"sample").hex() != expected:
        raise AssertionError("this is not ECDSA with the nonces of RFC 6979")


def _device(device: Device) -> dict[str, Any]:
    return {
        "name": device.name,
        "algorithm": device.algorithm,
        "secret": device.secret.hex(),
        "public": device.public.hex(),
        "others": [{"kind": kind, "value": value.hex()} for kind, value in device.others],
        "credential": device.credential.hex(),
        "identity": device.identity.hex(),
        "rfc8387_identity": device.raw_identity.hex(),
        "temporary": [
            {"period": str(period), "identity": device.temporary(period).hex()} for period in PERIODS
        ],
        "cose_key": device.cose_key.hex(),
        "thumbprint": hashlib.sha256(device.cose_key).hexdigest(),
        "qr": qr_text(device.identity),
        "qr_short": qr_text(device.identity[:16]),
    }


def _group(number: int, places: list[int]) -> dict[str, Any]:
    devices = [DEVICES[place] for place in places]
    challenge, audience = _seed(f"group {number}")[:16], AUDIENCES[number % 3]
    return {
        "devices": places,
        "identity": group_identity(devices).hex(),
        "challenge": challenge.hex(),
        "audience": audience,
        "members": [
            {
                "device": place,
                "identity": member_identity(DEVICES[place], devices).hex(),
                "membership": membership(DEVICES[place], devices, challenge, audience).hex(),
            }
            for place in places
        ],
    }


def _possession(place: int) -> dict[str, Any]:
    challenge, audience = _seed(f"possession {place}")[:16], AUDIENCES[place % 3]
    return {
        "device": place,
        "challenge": challenge.hex(),
        "audience": audience,
        "possession": possession(DEVICES[place], challenge, audience).hex(),
    }


def _request(place: int, method: int, path: list[str], query: list[str], payload: str) -> dict[str, Any]:
    device, sequence, audience = DEVICES[place + 1], SEQUENCES[place], AUDIENCES[place % 3]
    digest = request_digest(method, path, query, payload.encode())
    return {
        "device": place + 1,
        "sequence": str(sequence),
        "audience": audience,
        "method": method,
        "path": path,
        "query": query,
        "payload": payload,
        "digest": digest.hex(),
        "proof": signed_request(device, sequence, digest, audience).hex(),
    }


def build() -> dict[str, Any]:
    _self_test()
    return {
        "format": "motemix-identity-vectors/1",
        "devices": [_device(device) for device in DEVICES],
        "groups": [_group(number, places) for number, places in enumerate(GROUPS)],
        "possessions": [_possession(place) for place in range(len(DEVICES))],
        "retirements": [
            {"before": old, "after": new, "retirement": retirement(DEVICES[old], DEVICES[new]).hex()}
            for old, new in SUCCESSORS
        ],
        "registrations": [
            {
                "device": place,
                "sequence": str(sequence),
                "whole": whole,
                "audience": AUDIENCES[place % 3],
                "registration": registration(DEVICES[place], sequence, whole, AUDIENCES[place % 3]).hex(),
            }
            for place, sequence in zip([1, 2, 3, 4], SEQUENCES)
            for whole in (False, True)
        ],
        "requests": [_request(place, *request) for place, request in enumerate(REQUESTS)],
    }
