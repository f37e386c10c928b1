"""Everything a hop derives from its shared secret."""

from __future__ import annotations

from dataclasses import dataclass

from .primitives import blake2s_128, blake2s_256, chacha20


@dataclass(frozen=True)
class HopKeys:
    shared_secret: bytes
    hop_key: bytes
    header_mac_key: bytes
    routing_key: bytes
    blinding: bytes
    replay_tag: bytes
    delay_seed: bytes
    payload_keys: bytes

    def turn_keys(self) -> bytes:
        return chacha20(self.hop_key, b"motemix/turn", 128)

    def routing_stream(self, length: int) -> bytes:
        return chacha20(self.routing_key, b"motemix/path", length)

    def header_mac(self, beta: bytes) -> bytes:
        return blake2s_128(self.header_mac_key, beta)

    def delay_seed_number(self) -> int:
        return int.from_bytes(self.delay_seed, "little")


def derive_hop_keys(shared_secret: bytes) -> HopKeys:
    hop_key = blake2s_256(shared_secret, b"motemix/1 hop")
    hop_bytes = chacha20(hop_key, b"motemix/keys", 256)
    return HopKeys(
        shared_secret=shared_secret,
        hop_key=hop_key,
        header_mac_key=hop_bytes[0:32],
        routing_key=hop_bytes[32:64],
        blinding=hop_bytes[64:96],
        replay_tag=hop_bytes[96:112],
        delay_seed=hop_bytes[112:120],
        payload_keys=hop_bytes[128:256],
    )
