"""Ed25519 in plain integers (RFC 8032, section 5.1)."""

from __future__ import annotations

import hashlib

PRIME = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, PRIME - 2, PRIME) % PRIME
Point = tuple[int, int]
NEUTRAL: Point = (0, 1)


def add(one: Point, other: Point) -> Point:
    (x1, y1), (x2, y2) = one, other
    product = D * x1 * x2 * y1 * y2 % PRIME
    x = (x1 * y2 + x2 * y1) * pow(1 + product, PRIME - 2, PRIME) % PRIME
    y = (y1 * y2 + x1 * x2) * pow(1 - product, PRIME - 2, PRIME) % PRIME
    return x, y


def multiply(scalar: int, point: Point) -> Point:
    result = NEUTRAL
    while scalar:
        if scalar & 1:
            result = add(result, point)
        point = add(point, point)
        scalar >>= 1
    return result


def recover_x(y: int, sign: int) -> int:
    square = (y * y - 1) * pow(D * y * y + 1, PRIME - 2, PRIME) % PRIME
    x = pow(square, (PRIME + 3) // 8, PRIME)
    if x * x % PRIME != square:
        x = x * pow(2, (PRIME - 1) // 4, PRIME) % PRIME
    if x * x % PRIME != square:
        raise ValueError("no point has this coordinate")
    return PRIME - x if x & 1 != sign else x


_BASE_Y = 4 * pow(5, PRIME - 2, PRIME) % PRIME
BASE: Point = (recover_x(_BASE_Y, 0), _BASE_Y)


def encode(point: Point) -> bytes:
    x, y = point
    return (y | (x & 1) << 255).to_bytes(32, "little")


def decode(encoded: bytes) -> Point:
    number = int.from_bytes(encoded, "little")
    y = number & (2**255 - 1)
    return recover_x(y, number >> 255), y


def _expand(seed: bytes) -> tuple[int, bytes]:
    digest = hashlib.sha512(seed).digest()
    scalar = int.from_bytes(digest[:32], "little")
    return scalar & ~7 & (2**254 - 1) | 2**254, digest[32:]


def _number(*parts: bytes) -> int:
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little") % ORDER


def public_key(seed: bytes) -> bytes:
    return encode(multiply(_expand(seed)[0], BASE))


def sign(seed: bytes, message: bytes) -> bytes:
    scalar, prefix = _expand(seed)
    nonce = _number(prefix, message)
    commitment = encode(multiply(nonce, BASE))
    challenge = _number(commitment, public_key(seed), message)
    return commitment + ((nonce + challenge * scalar) % ORDER).to_bytes(32, "little")


def verify(key: bytes, message: bytes, signature: bytes) -> bool:
    commitment, response = signature[:32], int.from_bytes(signature[32:], "little")
    challenge = _number(commitment, key, message)
    expected = add(decode(commitment), multiply(challenge, decode(key)))
    return response < ORDER and multiply(response, BASE) == expected
