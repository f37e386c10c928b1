"""Ed25519 in plain integers (RFC 8032, section 5.1)."""

from __future__ import annotations

import hashlib

PRIME = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, PRIME - 2, PRIME) % PRIME
Point = tuple[int, int]
NEUTRAL: Point = (0, 1)


def _add(one: tuple[int, int, int], other: tuple[int, int, int]) -> tuple[int, int, int]:
    """The law of the curve, with one denominator for both coordinates: inverses are slow."""
    (x1, y1, z1), (x2, y2, z2) = one, other
    z = z1 * z2 % PRIME
    across, along = x1 * x2 % PRIME, y1 * y2 % PRIME
    product = D * across * along % PRIME
    minus, plus = z * z - product, z * z + product
    x = z * minus * (x1 * y2 + x2 * y1) % PRIME
    return x, z * plus * (along + across) % PRIME, minus * plus % PRIME


def _affine(point: tuple[int, int, int]) -> Point:
    x, y, z = point
    inverse = pow(z, -1, PRIME)
    return x * inverse % PRIME, y * inverse % PRIME


def add(one: Point, other: Point) -> Point:
    return _affine(_add((*one, 1), (*other, 1)))


def multiply(scalar: int, point: Point) -> Point:
    result, power = (*NEUTRAL, 1), (*point, 1)
    while scalar:
        if scalar & 1:
            result = _add(result, power)
        power = _add(power, power)
        scalar >>= 1
    return _affine(result)


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
