"""Stand-alone SURBs: made by their owner, encoded, and used by somebody else."""

from __future__ import annotations

from dataclasses import dataclass

from .header import MAX_NODE_ID, Header, PathHop, assemble, derive_chain, expand_seed
from .payload import seal_reply
from .primitives import blake2s_256, chacha20, xor
from .profile import BLOCK_LEN, GROUP_ELEMENT_LEN, MAC_LEN, Packet, Profile

_SEED_LEN = 16
_FIXED_LEN = 2 + GROUP_ELEMENT_LEN + 1 + MAC_LEN + _SEED_LEN


@dataclass(frozen=True)
class SurbSecrets:
    """What both the owner and the user of a SURB derive from its seed."""

    surb_key: bytes
    tail: bytes
    reply_keys: bytes


@dataclass(frozen=True)
class DecodedSurb:
    first_node: int
    alpha: bytes
    beta: bytes
    gamma: bytes
    secrets: SurbSecrets

    def reply(self, profile: Profile, block: bytes) -> Packet:
        payload = seal_reply(profile, self.secrets.reply_keys, block)
        return Packet(self.alpha, self.beta, self.gamma, payload)


def derive_secrets(profile: Profile, surb_seed: bytes, hop_count: int) -> SurbSecrets:
    surb_key = blake2s_256(surb_seed, b"motemix/1 surb")
    tail_len = BLOCK_LEN * (profile.max_hops - hop_count + 1) - 1
    return SurbSecrets(
        surb_key,
        chacha20(surb_key, b"motemix/tail", tail_len),
        chacha20(surb_key, b"motemix/rply", 128),
    )


def create_surb(
    profile: Profile, seed: bytes, path: list[PathHop]
) -> tuple[Header, SurbSecrets, bytes]:
    """The owner's header, the derived secrets and the encoded SURB."""
    n = len(path)
    parts = expand_seed(profile, seed)
    chain = derive_chain(path, parts.x)
    secrets = derive_secrets(profile, parts.surb_seed, n)
    width = BLOCK_LEN * (profile.max_hops - n + 1)

    # Going from hop 0 to hop n-1, the bytes that will hold the last block move forward by one
    # block at each hop and meet a later part of each earlier hop's stream.
    streams = bytes(width)
    for i, (_, keys) in enumerate(chain):
        start = BLOCK_LEN * (n - 1 - i)
        streams = xor(streams, keys.routing_stream(start + width)[start:])
    first_byte = 0xC0 | (parts.spare[0] & 0x3F)
    opened = bytes([first_byte]) + xor(secrets.tail, streams[1:])

    header = assemble(profile, path, parts, chain, opened[:BLOCK_LEN], opened[BLOCK_LEN:])
    kept = BLOCK_LEN * (n - 1) + 1
    if header.beta[kept:] != secrets.tail:
        raise AssertionError("the header does not end with the tail")
    encoded = path[0].node_id.to_bytes(2, "big") + header.alpha
    encoded += header.beta[:kept] + header.gamma + parts.surb_seed
    return header, secrets, encoded


def decode_surb(profile: Profile, encoded: bytes) -> DecodedSurb:
    more_blocks, remainder = divmod(len(encoded) - _FIXED_LEN, BLOCK_LEN)
    if remainder or not 0 <= more_blocks < profile.max_hops:
        raise ValueError("no path has a SURB of this length")
    first_node = int.from_bytes(encoded[:2], "big")
    if first_node > MAX_NODE_ID:
        raise ValueError("the top bits of the first node are set")
    beta_start = 2 + GROUP_ELEMENT_LEN
    beta_end = beta_start + BLOCK_LEN * more_blocks + 1
    secrets = derive_secrets(profile, encoded[-_SEED_LEN:], more_blocks + 1)
    return DecodedSurb(
        first_node,
        encoded[2:beta_start],
        encoded[beta_start:beta_end] + secrets.tail,
        encoded[beta_end : beta_end + MAC_LEN],
        secrets,
    )
