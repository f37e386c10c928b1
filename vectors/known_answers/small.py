"""Vectors of the wide block, the delay and the clamped scalars."""

from __future__ import annotations

from typing import Any

from sphinx_reference import wide_block
from sphinx_reference.delay import delay_us, exponential
from sphinx_reference.profile import PROFILES
from sphinx_reference.x25519 import (
    GROUP_ORDER,
    clamp,
    clamped_representative,
    is_clamped,
    public_key,
)

from .material import derive, require

_EDGE_SEEDS = [0, 1, 2, 3, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1]
_EDGE_MEANS = [0, 1, 1_000_000, 2**32 - 1]


def wide_block_vectors() -> list[dict[str, Any]]:
    vectors = []
    for profile in PROFILES.values():
        derived = f"wide block {profile.name}"
        length = profile.payload_len
        for keys, plain in (
            (derive(derived, "keys", 128), derive(derived, "plain", length)),
            (bytes(128), bytes(length)),
        ):
            cipher = wide_block.encrypt(profile.wide_block_hash, keys, plain)
            opened = wide_block.decrypt(profile.wide_block_hash, keys, cipher)
            require(opened == plain, "the wide block opens")
            vectors.append({
                "hash": profile.wide_block_hash,
                "keys": keys.hex(),
                "plain": plain.hex(),
                "cipher": cipher.hex(),
            })
    return vectors


def delay_vectors() -> list[dict[str, Any]]:
    pairs = [(seed, mean) for seed in _EDGE_SEEDS for mean in _EDGE_MEANS]
    for i in range(20):
        seed = int.from_bytes(derive("delay", f"seed {i}", 8), "big")
        mean = int.from_bytes(derive("delay", f"mean {i}", 4), "big") >> (i % 16)
        pairs.append((seed, mean))
    return [
        {
            "seed_u64": f"{seed:016x}",
            "mean_us": mean,
            "exponential": exponential(seed),
            "delay_us": delay_us(seed, mean),
        }
        for seed, mean in pairs
    ]


def clamped_scalar_vectors() -> list[dict[str, Any]]:
    # Both sides of the threshold at 2^254, the upper end, then values from everywhere. Those few
    # whose representative reaches 2^255 are left out: clamping would change them.
    multiples_of_8 = [2**254, 2**254 - 8, 2**254 + 8, 2**255 - 8, 2**253]
    exponents = [r % GROUP_ORDER for r in multiples_of_8]
    exponents += [1, 2, 3, GROUP_ORDER - 1, GROUP_ORDER - 2]
    exponents += [clamp(derive("scalar", f"clamped {i}", 32)) % GROUP_ORDER for i in range(4)]
    exponents += [
        int.from_bytes(derive("scalar", f"product {i}", 64), "little") % GROUP_ORDER
        for i in range(8)
    ]
    vectors = []
    for e in exponents:
        r = clamped_representative(e)
        encoded = r.to_bytes(32, "little")
        require(is_clamped(r) and clamp(encoded) == r, "clamping leaves the scalar alone")
        require(r % GROUP_ORDER in (e, GROUP_ORDER - e), "the scalar is e up to its sign")
        opposite = clamped_representative(GROUP_ORDER - e).to_bytes(32, "little")
        require(public_key(encoded) == public_key(opposite), "e and -e name one coordinate")
        vectors.append({"e": e.to_bytes(32, "little").hex(), "r": encoded.hex()})
    return vectors
