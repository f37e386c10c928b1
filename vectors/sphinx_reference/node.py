"""Processing a packet as the node that receives it."""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from . import wide_block
from .header import MAX_NODE_ID, Command
from .hop_keys import HopKeys, derive_hop_keys
from .message import BadPayload, read_message
from .payload import seal_reply
from .primitives import xor
from .profile import BLOCK_LEN, Packet, Profile
from .x25519 import x25519


class Refused(Exception):
    """A packet the node drops; `verdict` names the first check that failed."""

    def __init__(self, verdict: str) -> None:
        super().__init__(verdict)
        self.verdict = verdict


@dataclass(frozen=True)
class Processed:
    command: Command
    argument: int
    keys: HopKeys
    header_id: bytes | None
    next_alpha: bytes | None
    next_beta: bytes
    next_gamma: bytes
    payload: bytes  # decrypted, except for `yours`

    def forwarded(self) -> Packet:
        return self._onward(self.payload)

    def turned(self, profile: Profile, reply_block: bytes) -> Packet:
        keys = self.keys.turn_keys()
        return self._onward(seal_reply(profile, keys, reply_block))

    def _onward(self, payload: bytes) -> Packet:
        if self.next_alpha is None:
            raise ValueError("the path ends at this hop")
        return Packet(self.next_alpha, self.next_beta, self.next_gamma, payload)


def _command(bits: int, argument: int) -> Command:
    if bits != 2:
        return {0: Command.FORWARD, 1: Command.TURN_ROUND, 3: Command.YOURS}[bits]
    if argument == 0:
        return Command.DELIVER
    if argument == 1:
        return Command.DROP
    raise Refused("unknown-command")


def process(
    profile: Profile, secret: bytes, datagram: bytes, seen: set[bytes] | None = None
) -> Processed:
    if len(datagram) != profile.packet_len:
        raise Refused("wrong-length")
    packet = Packet.decode(profile, datagram)
    shared_secret = x25519(secret, packet.alpha)
    if not any(shared_secret):
        raise Refused("non-contributory")
    keys = derive_hop_keys(shared_secret)
    if not hmac.compare_digest(packet.gamma, keys.header_mac(packet.beta)):
        raise Refused("bad-header-mac")
    if seen is not None:
        if keys.replay_tag in seen:
            raise Refused("replay")
        seen.add(keys.replay_tag)
    stream = keys.routing_stream(BLOCK_LEN * (profile.max_hops + 1))
    opened = xor(packet.beta + bytes(BLOCK_LEN), stream)
    field = int.from_bytes(opened[:2], "big")
    bits, argument = field >> 14, field & MAX_NODE_ID
    command = _command(bits, argument)
    next_alpha = None
    if command in (Command.FORWARD, Command.TURN_ROUND):
        next_alpha = x25519(keys.blinding, packet.alpha)
        if not any(next_alpha):
            raise Refused("non-contributory")
    payload = packet.payload
    if command is not Command.YOURS:
        payload = wide_block.decrypt(profile.wide_block_hash, keys.payload_keys, payload)
    if command in (Command.DELIVER, Command.TURN_ROUND):
        try:
            read_message(payload)
        except BadPayload as error:
            raise Refused("bad-payload") from error
    return Processed(
        command=command,
        argument=argument,
        keys=keys,
        header_id=opened[2:BLOCK_LEN] if command is Command.YOURS else None,
        next_alpha=next_alpha,
        next_beta=opened[BLOCK_LEN:],
        next_gamma=opened[2:BLOCK_LEN],
        payload=payload,
    )
