"""X25519 in plain integers (RFC 7748, section 5)."""

from __future__ import annotations

PRIME = 2**255 - 19
GROUP_ORDER = 2**252 + 27742317777372353535851937790883648493
BASE_POINT = (9).to_bytes(32, "little")
_A24 = 121665  # (486662 - 2) / 4, the constant of the ladder's doubling


def clamp(scalar: bytes) -> int:
    """The integer X25519 multiplies by: a multiple of 8 in [2^254, 2^255)."""
    if len(scalar) != 32:
        raise ValueError("a scalar has 32 bytes")
    number = int.from_bytes(scalar, "little")
    number &= ~7
    number &= 2**255 - 1
    return number | 2**254


def decode_coordinate(encoded: bytes) -> int:
    """The top bit is ignored and values of p and above are taken modulo p, as the RFC demands."""
    if len(encoded) != 32:
        raise ValueError("a coordinate has 32 bytes")
    return (int.from_bytes(encoded, "little") & (2**255 - 1)) % PRIME


def ladder(multiplier: int, coordinate: int) -> int:
    """Montgomery ladder on x-coordinates; the point at infinity comes out as 0."""
    x1 = coordinate
    x2, z2 = 1, 0
    x3, z3 = coordinate, 1
    for position in range(multiplier.bit_length() - 1, -1, -1):
        bit = multiplier >> position & 1
        if bit:
            x2, z2, x3, z3 = x3, z3, x2, z2
        plus, minus = (x2 + z2) % PRIME, (x2 - z2) % PRIME
        plus_squared, minus_squared = plus * plus % PRIME, minus * minus % PRIME
        difference = (plus_squared - minus_squared) % PRIME
        cross_a = (x3 - z3) * plus % PRIME
        cross_b = (x3 + z3) * minus % PRIME
        x3 = (cross_a + cross_b) ** 2 % PRIME
        z3 = x1 * (cross_a - cross_b) ** 2 % PRIME
        x2 = plus_squared * minus_squared % PRIME
        z2 = difference * (plus_squared + _A24 * difference) % PRIME
        if bit:
            x2, z2, x3, z3 = x3, z3, x2, z2
    return x2 * pow(z2, PRIME - 2, PRIME) % PRIME


def x25519(scalar: bytes, coordinate: bytes) -> bytes:
    return ladder(clamp(scalar), decode_coordinate(coordinate)).to_bytes(32, "little")


def public_key(secret: bytes) -> bytes:
    return x25519(secret, BASE_POINT)


def clamped_representative(exponent: int) -> int:
    """The r of the specification: names the same x-coordinate as `exponent`, survives clamping.

    Writing r = 8q makes r a multiple of 8 below 8l with r = exponent (mod l) for exactly one q.
    """
    eighth = pow(8, -1, GROUP_ORDER)
    representative = 8 * (exponent * eighth % GROUP_ORDER)
    if representative < 2**254:
        # -r is the same point up to its sign, and x-coordinates do not see the sign.
        representative = 8 * GROUP_ORDER - representative
    return representative


def is_clamped(number: int) -> bool:
    return number % 8 == 0 and 2**254 <= number < 2**255
