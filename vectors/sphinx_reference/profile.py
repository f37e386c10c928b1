"""The geometry of a packet."""

from __future__ import annotations

from dataclasses import dataclass

GROUP_ELEMENT_LEN = 32
BLOCK_LEN = 18
MAC_LEN = 16
TAG_LEN = 16
MESSAGE_ID_LEN = 4


@dataclass(frozen=True)
class Profile:
    name: str
    hops_each_way: int
    max_hops: int  # H
    max_data: int  # A
    wide_block_hash: str

    @property
    def routing_info_len(self) -> int:
        return BLOCK_LEN * self.max_hops

    @property
    def payload_len(self) -> int:  # P
        return TAG_LEN + MESSAGE_ID_LEN + self.max_data + 1

    @property
    def packet_len(self) -> int:
        return GROUP_ELEMENT_LEN + self.routing_info_len + MAC_LEN + self.payload_len


PROFILES = {
    profile.name: profile
    for profile in (
        Profile("MOTE", 3, 6, 103, "blake2s"),
        Profile("MOTE5", 5, 10, 127, "blake2s"),
        Profile("HOST1K", 5, 10, 1024, "blake2b"),
        Profile("HOST2K", 5, 10, 2048, "blake2b"),
    )
}


@dataclass(frozen=True)
class Packet:
    """A datagram taken apart."""

    alpha: bytes
    beta: bytes
    gamma: bytes
    payload: bytes

    def encode(self) -> bytes:
        return self.alpha + self.beta + self.gamma + self.payload

    @staticmethod
    def decode(profile: Profile, datagram: bytes) -> Packet:
        if len(datagram) != profile.packet_len:
            raise ValueError("the datagram does not have the profile's length")
        beta_end = GROUP_ELEMENT_LEN + profile.routing_info_len
        gamma_end = beta_end + MAC_LEN
        return Packet(
            datagram[:GROUP_ELEMENT_LEN],
            datagram[GROUP_ELEMENT_LEN:beta_end],
            datagram[beta_end:gamma_end],
            datagram[gamma_end:],
        )
