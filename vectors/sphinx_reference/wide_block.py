"""The wide block: LIONESS over a whole payload."""

from __future__ import annotations

from .primitives import blake2b_256, blake2s_256, chacha20, xor

_HASHES = {"blake2s": blake2s_256, "blake2b": blake2b_256}


def _split_keys(keys: bytes) -> list[bytes]:
    if len(keys) != 128:
        raise ValueError("a wide block takes four keys of 32 bytes")
    return [keys[start : start + 32] for start in range(0, 128, 32)]


def _stream_over(right: bytes, left: bytes, key: bytes, nonce: bytes) -> bytes:
    return xor(right, chacha20(xor(left, key), nonce, len(right)))


def encrypt(hash_name: str, keys: bytes, block: bytes) -> bytes:
    k1, k2, k3, k4 = _split_keys(keys)
    keyed_hash = _HASHES[hash_name]
    left, right = block[:32], block[32:]
    right = _stream_over(right, left, k1, b"motemix/wb-1")
    left = xor(left, keyed_hash(k2, right))
    right = _stream_over(right, left, k3, b"motemix/wb-3")
    left = xor(left, keyed_hash(k4, right))
    return left + right


def decrypt(hash_name: str, keys: bytes, block: bytes) -> bytes:
    k1, k2, k3, k4 = _split_keys(keys)
    keyed_hash = _HASHES[hash_name]
    left, right = block[:32], block[32:]
    left = xor(left, keyed_hash(k4, right))
    right = _stream_over(right, left, k3, b"motemix/wb-3")
    left = xor(left, keyed_hash(k2, right))
    right = _stream_over(right, left, k1, b"motemix/wb-1")
    return left + right
