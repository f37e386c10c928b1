"""Sealing a payload on its way out and opening what comes back."""

from __future__ import annotations

from . import wide_block
from .header import Header
from .profile import Profile


def seal(profile: Profile, header: Header, last_sealed_hop: int, block: bytes) -> bytes:
    """Encrypt for the hops `last_sealed_hop` down to 0."""
    for i in range(last_sealed_hop, -1, -1):
        block = wide_block.encrypt(profile.wide_block_hash, header.hops[i].keys.payload_keys, block)
    return block


def seal_reply(profile: Profile, keys: bytes, block: bytes) -> bytes:
    """Used with turn keys at the turn-round hop and with reply keys by the user of a SURB."""
    return wide_block.encrypt(profile.wide_block_hash, keys, block)


def open_reply(
    profile: Profile, header: Header, first_return_hop: int, keys: bytes, block: bytes
) -> bytes:
    """Undo the decryptions of the hops `first_return_hop` to n-2, then the reply's own seal."""
    for j in range(len(header.hops) - 2, first_return_hop - 1, -1):
        block = wide_block.encrypt(profile.wide_block_hash, header.hops[j].keys.payload_keys, block)
    return wide_block.decrypt(profile.wide_block_hash, keys, block)
