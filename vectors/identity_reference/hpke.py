"""HPKE (RFC 9180) in base mode with HKDF-SHA256 and ChaCha20-Poly1305, for one message."""

from __future__ import annotations

import hashlib
import hmac

from sphinx_reference.primitives import chacha20, chacha20_block
from sphinx_reference.x25519 import public_key as x25519_public_key
from sphinx_reference.x25519 import x25519

from . import ed25519, p256

KEMS = {"ed25519": 0x20, "es256": 0x10}
KDF, AEAD = 1, 3


def poly1305(key: bytes, message: bytes) -> bytes:
    """RFC 8439, section 2.5.1."""
    r = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    sum_ = 0
    for at in range(0, len(message), 16):
        block = message[at : at + 16] + b"\x01"
        sum_ = (sum_ + int.from_bytes(block, "little")) * r % (2**130 - 5)
    return ((sum_ + int.from_bytes(key[16:], "little")) % 2**128).to_bytes(16, "little")


def aead_seal(key: bytes, nonce: bytes, associated: bytes, plain: bytes) -> bytes:
    """RFC 8439, section 2.8."""
    stream = chacha20(key, nonce, len(plain), 1)
    cipher = bytes(one ^ other for one, other in zip(plain, stream))
    padded = b"".join(part + bytes(-len(part) % 16) for part in (associated, cipher))
    lengths = len(associated).to_bytes(8, "little") + len(cipher).to_bytes(8, "little")
    return cipher + poly1305(chacha20_block(key, 0, nonce)[:32], padded + lengths)


def extract(suite: bytes, salt: bytes, label: bytes, ikm: bytes) -> bytes:
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + ikm, "sha256")


def expand(suite: bytes, prk: bytes, label: bytes, info: bytes, length: int) -> bytes:
    """For up to one hash."""
    labelled = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    return hmac.digest(prk, labelled + b"\x01", "sha256")[:length]


def uncompressed(point: p256.Point) -> bytes:
    if point is None:
        raise AssertionError("the neutral point has no coordinates")
    return b"\x04" + b"".join(number.to_bytes(32, "big") for number in point)


def agreement_public(algorithm: str, public: bytes) -> bytes:
    """The public key of a device as the KEM has it."""
    if algorithm == "ed25519":
        _, y = ed25519.decode(public)
        prime = ed25519.PRIME
        return ((1 + y) * pow(1 - y, -1, prime) % prime).to_bytes(32, "little")
    x = int.from_bytes(public[1:], "big")
    prime = p256.PRIME
    b = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
    y = pow(x**3 - 3 * x + b, (prime + 1) // 4, prime)
    return uncompressed((x, y if y & 1 == public[0] & 1 else prime - y))


def agreement_secret(algorithm: str, secret: bytes) -> bytes:
    return hashlib.sha512(secret).digest()[:32] if algorithm == "ed25519" else secret


def kem_public(algorithm: str, secret: bytes) -> bytes:
    return x25519_public_key(secret) if algorithm == "ed25519" else uncompressed(p256.point_of(secret))


def agree(algorithm: str, secret: bytes, public: bytes) -> bytes:
    if algorithm == "ed25519":
        return x25519(secret, public)
    x, y = (int.from_bytes(part, "big") for part in (public[1:33], public[33:]))
    return uncompressed(p256.multiply(int.from_bytes(secret, "big"), (x, y)))[1:33]


def key_and_nonce(algorithm: str, shared: bytes, info: bytes) -> tuple[bytes, bytes]:
    suite = b"HPKE" + b"".join(number.to_bytes(2, "big") for number in (KEMS[algorithm], KDF, AEAD))
    context = (
        b"\x00" + extract(suite, b"", b"psk_id_hash", b"") + extract(suite, b"", b"info_hash", info)
    )
    secret = extract(suite, shared, b"secret", b"")
    return expand(suite, secret, b"key", context, 32), expand(suite, secret, b"base_nonce", context, 12)


def shared_secret(algorithm: str, own: bytes, public: bytes, enc: bytes, receiver: bytes) -> bytes:
    suite = b"KEM" + KEMS[algorithm].to_bytes(2, "big")
    prk = extract(suite, b"", b"eae_prk", agree(algorithm, own, public))
    return expand(suite, prk, b"shared_secret", enc + receiver, 32)


def seal(
    algorithm: str, ephemeral: bytes, receiver: bytes, info: bytes, associated: bytes, plain: bytes
) -> bytes:
    """`receiver` is the public key as the KEM has it."""
    enc = kem_public(algorithm, ephemeral)
    shared = shared_secret(algorithm, ephemeral, receiver, enc, receiver)
    key, nonce = key_and_nonce(algorithm, shared, info)
    return aead_seal(key, nonce, associated, plain)
