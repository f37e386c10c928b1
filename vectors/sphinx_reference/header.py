"""Creating a header: the same steps for one way, round trip, loop and SURB."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from .hop_keys import HopKeys, derive_hop_keys
from .primitives import chacha20, xor
from .profile import BLOCK_LEN, MAC_LEN, Profile
from .x25519 import GROUP_ORDER, clamp, clamped_representative, is_clamped, public_key, x25519

MAX_NODE_ID = 2**14 - 1


class Command(Enum):
    FORWARD = "forward"
    TURN_ROUND = "turn-round"
    DELIVER = "deliver"
    DROP = "drop"
    YOURS = "yours"


_FORWARD_BITS, _TURN_ROUND_BITS, _TERMINAL_BITS, _YOURS_BITS = 0, 1, 2, 3
_TERMINAL_ARGUMENTS = {Command.DELIVER: 0, Command.DROP: 1}


@dataclass(frozen=True)
class PathHop:
    node_id: int
    public: bytes
    command: Command


@dataclass(frozen=True)
class SeedParts:
    x: bytes
    header_id: bytes
    surb_seed: bytes
    spare: bytes
    padding: bytes


@dataclass(frozen=True)
class HeaderHop:
    """What the creator knows about one hop."""

    scalar: int
    keys: HopKeys
    filler: bytes
    beta: bytes
    gamma: bytes


@dataclass(frozen=True)
class Header:
    seed_parts: SeedParts
    alpha: bytes
    header_id: bytes
    padding: bytes
    hops: list[HeaderHop]

    @property
    def beta(self) -> bytes:
        return self.hops[0].beta

    @property
    def gamma(self) -> bytes:
        return self.hops[0].gamma


def expand_seed(profile: Profile, seed: bytes) -> SeedParts:
    if len(seed) != 32:
        raise ValueError("a seed has 32 bytes")
    expanded = chacha20(seed, b"motemix/seed", 32 + 16 + 16 + 2 + profile.routing_info_len)
    return SeedParts(
        expanded[0:32], expanded[32:48], expanded[48:64], expanded[64:66], expanded[66:]
    )


def routing_field(bits: int, argument: int) -> bytes:
    if not 0 <= argument <= MAX_NODE_ID:
        raise ValueError("an argument has 14 bits")
    return (bits << 14 | argument).to_bytes(2, "big")


def terminal_block(argument: int) -> bytes:
    return routing_field(_TERMINAL_BITS, argument) + bytes(MAC_LEN)


def _field_towards(hop: PathHop, next_hop: PathHop) -> bytes:
    bits = {Command.FORWARD: _FORWARD_BITS, Command.TURN_ROUND: _TURN_ROUND_BITS}[hop.command]
    return routing_field(bits, next_hop.node_id)


def _last_block(command: Command, parts: SeedParts) -> bytes:
    if command is Command.YOURS:
        argument = int.from_bytes(parts.spare, "big") & MAX_NODE_ID
        return routing_field(_YOURS_BITS, argument) + parts.header_id
    return terminal_block(_TERMINAL_ARGUMENTS[command])


def derive_chain(path: list[PathHop], x: bytes) -> list[tuple[int, HopKeys]]:
    """The scalar and the keys of each hop.

    The first scalar needs no special case: clamp(x) is already its own representative.
    """
    chain = []
    exponent = clamp(x)
    for hop in path:
        scalar = clamped_representative(exponent)
        if not is_clamped(scalar):
            raise ValueError("a scalar that clamping changes; choose another seed")
        shared_secret = x25519(scalar.to_bytes(32, "little"), hop.public)
        if not any(shared_secret):
            raise ValueError("a public key of small order")
        keys = derive_hop_keys(shared_secret)
        chain.append((scalar, keys))
        exponent = exponent * clamp(keys.blinding) % GROUP_ORDER
    return chain


def make_fillers(profile: Profile, keys: list[HopKeys]) -> list[bytes]:
    fillers = [b""]
    h = profile.max_hops
    for i in range(1, len(keys)):
        stream = keys[i - 1].routing_stream(BLOCK_LEN * (h + 1))
        fillers.append(
            xor(fillers[-1] + bytes(BLOCK_LEN), stream[BLOCK_LEN * (h - i + 1) :])
        )
    return fillers


def assemble(
    profile: Profile,
    path: list[PathHop],
    parts: SeedParts,
    chain: list[tuple[int, HopKeys]],
    last_block: bytes,
    padding: bytes,
) -> Header:
    """Wrap the last block for every hop, from the last one to the first."""
    n, h = len(path), profile.max_hops
    if not 1 <= n <= h or len(last_block) != BLOCK_LEN or len(padding) != BLOCK_LEN * (h - n):
        raise ValueError("wrong length of the path, the last block or the padding")
    keys = [hop_keys for _, hop_keys in chain]
    fillers = make_fillers(profile, keys)
    betas = [b""] * n
    gammas = [b""] * n
    stream = keys[-1].routing_stream(BLOCK_LEN * (h - n + 1))
    betas[-1] = xor(last_block + padding, stream) + fillers[-1]
    gammas[-1] = keys[-1].header_mac(betas[-1])
    for i in range(n - 2, -1, -1):
        plain = _field_towards(path[i], path[i + 1]) + gammas[i + 1]
        plain += betas[i + 1][: BLOCK_LEN * (h - 1)]
        betas[i] = xor(plain, keys[i].routing_stream(profile.routing_info_len))
        gammas[i] = keys[i].header_mac(betas[i])
    hops = [
        HeaderHop(scalar, hop_keys, filler, beta, gamma)
        for (scalar, hop_keys), filler, beta, gamma in zip(chain, fillers, betas, gammas)
    ]
    return Header(parts, public_key(parts.x), last_block[2:], padding, hops)


def create_header(
    profile: Profile, seed: bytes, path: list[PathHop], last_block: bytes | None = None
) -> Header:
    """`last_block` overrides the honest one, to make headers that a node must refuse."""
    parts = expand_seed(profile, seed)
    chain = derive_chain(path, parts.x)
    if last_block is None:
        last_block = _last_block(path[-1].command, parts)
    padding = parts.padding[: BLOCK_LEN * (profile.max_hops - len(path))]
    return assemble(profile, path, parts, chain, last_block, padding)
