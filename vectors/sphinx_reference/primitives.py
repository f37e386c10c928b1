"""ChaCha20 (RFC 8439) and keyed BLAKE2 (RFC 7693), as the specification calls them."""

from __future__ import annotations

import hashlib
import struct

_MASK = 0xFFFFFFFF
_CONSTANTS = struct.unpack("<4L", b"expand 32-byte k")
_COLUMNS = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15))
_DIAGONALS = ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))


def _rotate(word: int, count: int) -> int:
    return (word << count & _MASK) | word >> 32 - count


def _quarter_round(state: list[int], a: int, b: int, c: int, d: int) -> None:
    state[a] = (state[a] + state[b]) & _MASK
    state[d] = _rotate(state[d] ^ state[a], 16)
    state[c] = (state[c] + state[d]) & _MASK
    state[b] = _rotate(state[b] ^ state[c], 12)
    state[a] = (state[a] + state[b]) & _MASK
    state[d] = _rotate(state[d] ^ state[a], 8)
    state[c] = (state[c] + state[d]) & _MASK
    state[b] = _rotate(state[b] ^ state[c], 7)


def chacha20_block(key: bytes, counter: int, nonce: bytes) -> bytes:
    initial = [*_CONSTANTS, *struct.unpack("<8L", key), counter, *struct.unpack("<3L", nonce)]
    state = list(initial)
    for _ in range(10):
        for indices in _COLUMNS + _DIAGONALS:
            _quarter_round(state, *indices)
    return struct.pack("<16L", *((s + i) & _MASK for s, i in zip(state, initial)))


def chacha20(key: bytes, nonce: bytes, length: int, first_counter: int = 0) -> bytes:
    """The first `length` bytes of keystream. The packet format always counts from 0."""
    if len(key) != 32 or len(nonce) != 12:
        raise ValueError("ChaCha20 takes a key of 32 and a nonce of 12 bytes")
    stream = bytearray()
    counter = first_counter
    while len(stream) < length:
        stream += chacha20_block(key, counter, nonce)
        counter += 1
    return bytes(stream[:length])


def blake2s_256(key: bytes, message: bytes) -> bytes:
    return hashlib.blake2s(message, key=key, digest_size=32).digest()


def blake2s_128(key: bytes, message: bytes) -> bytes:
    return hashlib.blake2s(message, key=key, digest_size=16).digest()


def blake2b_256(key: bytes, message: bytes) -> bytes:
    return hashlib.blake2b(message, key=key, digest_size=32).digest()


def xor(left: bytes, right: bytes) -> bytes:
    """Refuses unequal lengths: silently dropping bytes would hide a wrong offset."""
    if len(left) != len(right):
        raise ValueError(f"exclusive or of {len(left)} and {len(right)} bytes")
    return bytes(a ^ b for a, b in zip(left, right))
