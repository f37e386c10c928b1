"""Checks of the primitives against the examples of their sources."""

from __future__ import annotations

import hashlib
import math

from . import wide_block
from .delay import exponential
from .primitives import chacha20, chacha20_block, xor
from .x25519 import BASE_POINT, public_key, x25519


def _check(name: str, found: bytes, expected: str) -> None:
    if found.hex() != expected:
        raise AssertionError(f"{name}: {found.hex()} instead of {expected}")


def check_x25519() -> None:
    """RFC 7748, sections 5.2 and 6.1."""
    multiplications = (
        (
            "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
            "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
            "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
        ),
        (
            "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
            "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
            "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957",
        ),
    )
    for scalar_hex, coordinate_hex, product in multiplications:
        found = x25519(bytes.fromhex(scalar_hex), bytes.fromhex(coordinate_hex))
        _check("X25519", found, product)

    expected_after = {
        1: "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079",
        1000: "684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51",
    }
    scalar = coordinate = BASE_POINT
    for count in range(1, 1001):
        scalar, coordinate = x25519(scalar, coordinate), scalar
        if count in expected_after:
            _check(f"X25519 iterated {count} times", scalar, expected_after[count])

    alice = bytes.fromhex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
    bob = bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
    shared = "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"
    _check("X25519 agreement", x25519(alice, public_key(bob)), shared)
    _check("X25519 agreement", x25519(bob, public_key(alice)), shared)


def check_chacha20() -> None:
    """RFC 8439, sections 2.3.2 and 2.4.2 and appendix A.1."""
    key = bytes(range(32))
    _check(
        "ChaCha20 block",
        chacha20_block(key, 1, bytes.fromhex("000000090000004a00000000")),
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e",
    )
    _check(
        "ChaCha20 with a zero key",
        chacha20(bytes(32), bytes(12), 128),
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
    )
    plaintext = (
        b"Ladies and Gentlemen of the class of '99: If I could offer you "
        b"only one tip for the future, sunscreen would be it."
    )
    stream = chacha20(key, bytes.fromhex("000000000000004a00000000"), len(plaintext), 1)
    _check(
        "ChaCha20 encryption",
        xor(plaintext, stream),
        "6e2e359a2568f98041ba0728dd0d6981e97e7aec1d4360c20a27afccfd9fae0b"
        "f91b65c5524733ab8f593dabcd62b3571639d624e65152ab8f530c359f0861d8"
        "07ca0dbf500d6a6156a38e088a22b65e52bc514d16ccf806818ce91ab7793736"
        "5af90bbf74a35be6b40b8eedf2785e42874d",
    )


def check_blake2() -> None:
    """RFC 7693, appendix B: that hashlib has the function the specification means."""
    _check(
        "BLAKE2s",
        hashlib.blake2s(b"abc").digest(),
        "508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982",
    )


def check_wide_block() -> None:
    """Decryption undoes encryption, and one changed bit changes the whole block."""
    keys = bytes(range(128))
    block = bytes(124)
    for hash_name in ("blake2s", "blake2b"):
        cipher = wide_block.encrypt(hash_name, keys, block)
        if wide_block.decrypt(hash_name, keys, cipher) != block:
            raise AssertionError("the wide block is not invertible")
        flipped = wide_block.decrypt(hash_name, keys, cipher[:-1] + bytes([cipher[-1] ^ 1]))
        if sum(bin(byte).count("1") for byte in flipped) < 350:
            raise AssertionError("a flipped bit does not spread through the wide block")


def check_delay() -> None:
    """The integer logarithm stays within a few units of the real one."""
    for exponent in range(64):
        for offset in (0, 1, 2**exponent // 3, 2**exponent // 2):
            seed = 2**exponent + min(offset, 2**exponent - 1)
            real = -math.log((seed | 1) / 2**64) * 2**24
            if abs(exponential(seed) - real) > 3:
                raise AssertionError(f"delay seed {seed}: {exponential(seed)} is not {real}")


def run() -> None:
    check_x25519()
    check_chacha20()
    check_blake2()
    check_wide_block()
    check_delay()
