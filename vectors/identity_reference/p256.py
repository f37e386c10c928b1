"""ECDSA over P-256 with SHA-256 in plain integers (FIPS 186-5, section 6), with the nonces of RFC 6979."""

from __future__ import annotations

import hashlib
import hmac
from typing import Optional

PRIME = 2**256 - 2**224 + 2**192 + 2**96 - 1
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
Point = Optional[tuple[int, int]]
BASE: Point = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)


def add(one: Point, other: Point) -> Point:
    if one is None or other is None:
        return one or other
    (x1, y1), (x2, y2) = one, other
    if x1 == x2:
        if (y1 + y2) % PRIME == 0:
            return None
        slope = 3 * (x1 * x1 - 1) * pow(2 * y1, -1, PRIME)
    else:
        slope = (y2 - y1) * pow(x2 - x1, -1, PRIME)
    x = (slope * slope - x1 - x2) % PRIME
    return x, (slope * (x1 - x) - y1) % PRIME


def multiply(scalar: int, point: Point) -> Point:
    result: Point = None
    while scalar:
        if scalar & 1:
            result = add(result, point)
        point = add(point, point)
        scalar >>= 1
    return result


def point_of(secret: bytes) -> tuple[int, int]:
    scalar = int.from_bytes(secret, "big")
    point = multiply(scalar, BASE)
    if not 0 < scalar < ORDER or point is None:
        raise ValueError("not a scalar of the curve")
    return point


def public_key(secret: bytes) -> bytes:
    """Compressed (SEC 1, section 2.3.3)."""
    x, y = point_of(secret)
    return bytes([2 + (y & 1)]) + x.to_bytes(32, "big")


def nonce(secret: bytes, digest: bytes) -> int:
    """RFC 6979, section 3.2."""
    reduced = (int.from_bytes(digest, "big") % ORDER).to_bytes(32, "big")
    value, key = b"\x01" * 32, bytes(32)
    for separator in (b"\x00", b"\x01"):
        key = hmac.digest(key, value + separator + secret + reduced, "sha256")
        value = hmac.digest(key, value, "sha256")
    while True:
        value = hmac.digest(key, value, "sha256")
        candidate = int.from_bytes(value, "big")
        if 0 < candidate < ORDER:
            return candidate
        key = hmac.digest(key, value + b"\x00", "sha256")
        value = hmac.digest(key, value, "sha256")


def sign(secret: bytes, message: bytes) -> bytes:
    digest = hashlib.sha256(message).digest()
    k = nonce(secret, digest)
    point = multiply(k, BASE)
    if point is None:
        raise AssertionError("the order is prime")
    r = point[0] % ORDER
    s = pow(k, -1, ORDER) * (int.from_bytes(digest, "big") + r * int.from_bytes(secret, "big")) % ORDER
    if not r or not s:
        raise AssertionError("this happens once in 2^256")
    return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def lower(signature: bytes) -> bytes:
    """Of the two signatures that hold, the one of objects (docs/spec/reading.md, "Bytes")."""
    r, s = signature[:32], int.from_bytes(signature[32:], "big")
    return r + min(s, ORDER - s).to_bytes(32, "big")


def verify(point: Point, message: bytes, signature: bytes) -> bool:
    r, s = (int.from_bytes(part, "big") for part in (signature[:32], signature[32:]))
    digest = int.from_bytes(hashlib.sha256(message).digest(), "big")
    inverse = pow(s, -1, ORDER)
    sum_ = add(multiply(digest * inverse % ORDER, BASE), multiply(r * inverse % ORDER, point))
    return sum_ is not None and sum_[0] % ORDER == r
