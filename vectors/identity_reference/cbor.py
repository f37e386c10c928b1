"""As much of deterministic CBOR as is needed (RFC 8949, section 4.2.1)."""

from __future__ import annotations


def head(kind: int, number: int) -> bytes:
    for extra, length in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if number < 24:
            return bytes([kind << 5 | number])
        if number < 256**length:
            return bytes([kind << 5 | extra]) + number.to_bytes(length, "big")
    raise ValueError("too large")


def integer(number: int) -> bytes:
    return head(0, number) if number >= 0 else head(1, -1 - number)


def string(value: bytes) -> bytes:
    return head(2, len(value)) + value


def text(value: str) -> bytes:
    return head(3, len(value.encode())) + value.encode()


def array(*items: bytes) -> bytes:
    return head(4, len(items)) + b"".join(items)


def mapping(*pairs: tuple[int, bytes]) -> bytes:
    """Of integers, in ascending order of their encoding."""
    encoded = sorted((integer(key), value) for key, value in pairs)
    return head(5, len(pairs)) + b"".join(key + value for key, value in encoded)
