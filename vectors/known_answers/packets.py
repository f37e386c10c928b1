"""Packets as their creator makes them and as every hop finds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sphinx_reference.delay import delay_us, exponential
from sphinx_reference.header import Command, Header, create_header
from sphinx_reference.message import read_message, write_message
from sphinx_reference.node import Processed, process
from sphinx_reference.payload import open_reply, seal
from sphinx_reference.profile import PROFILES, Packet, Profile
from sphinx_reference.x25519 import BASE_POINT, x25519

from .cases import PacketCase
from .material import MEAN_US, Node, derive, make_path, require


def describe_path(nodes: list[Node]) -> list[dict[str, Any]]:
    return [
        {
            "id": node.hop.node_id,
            "secret": node.secret.hex(),
            "public": node.hop.public.hex(),
            "command": node.hop.command.value,
        }
        for node in nodes
    ]


def describe_hops(header: Header) -> list[dict[str, Any]]:
    described = []
    for hop in header.hops:
        keys = hop.keys
        seed = keys.delay_seed_number()
        described.append({
            "scalar": hop.scalar.to_bytes(32, "little").hex(),
            "shared_secret": keys.shared_secret.hex(),
            "hop_key": keys.hop_key.hex(),
            "header_mac_key": keys.header_mac_key.hex(),
            "routing_key": keys.routing_key.hex(),
            "blinding": keys.blinding.hex(),
            "replay_tag": keys.replay_tag.hex(),
            "delay_seed": keys.delay_seed.hex(),
            "exponential": exponential(seed),
            "delay_us": delay_us(seed, MEAN_US),
            "payload_keys": keys.payload_keys.hex(),
            "filler": hop.filler.hex(),
            "beta": hop.beta.hex(),
            "gamma": hop.gamma.hex(),
        })
    return described


def describe_header(header: Header, header_id: bytes) -> dict[str, Any]:
    parts = header.seed_parts
    return {
        "x": parts.x.hex(),
        "header_id": header_id.hex(),
        "surb_seed": parts.surb_seed.hex(),
        "spare": parts.spare.hex(),
        "padding": header.padding.hex(),
        "alpha0": header.alpha.hex(),
        "hops": describe_hops(header),
    }


def walk_hop(
    profile: Profile, nodes: list[Node], header: Header, i: int, datagram: bytes, seen: set[bytes]
) -> Processed:
    """Process the datagram at hop i and compare everything with what the creator computed."""
    require(len(datagram) == profile.packet_len, "the datagram has the profile's length")
    arrived = Packet.decode(profile, datagram)
    hop = header.hops[i]
    require(arrived.beta == hop.beta and arrived.gamma == hop.gamma, f"hop {i}: header")
    alpha = x25519(hop.scalar.to_bytes(32, "little"), BASE_POINT)
    require(arrived.alpha == alpha, f"hop {i}: the scalar gives the group element")
    require(len(hop.filler) == 18 * i, f"hop {i}: length of the filler")
    found = process(profile, nodes[i].secret, datagram, seen)
    require(found.keys == hop.keys, f"hop {i}: keys")
    require(found.command is nodes[i].hop.command, f"hop {i}: command")
    if found.command in (Command.FORWARD, Command.TURN_ROUND):
        require(found.argument == nodes[i + 1].hop.node_id, f"hop {i}: next node")
    if found.command is Command.YOURS:
        require(found.header_id == header.header_id, f"hop {i}: header id")
    return found


@dataclass(frozen=True)
class _Reply:
    """What the turn-round hop puts into the packet, and under which keys."""

    hop: int
    keys: bytes
    data: bytes
    block: bytes


def _make_reply(
    case: PacketCase, profile: Profile, header: Header, message_id: bytes
) -> _Reply | None:
    if case.shape != "round-trip":
        return None
    hop = case.commands.index(Command.TURN_ROUND)
    data = derive(case.name, "reply data", case.reply_len or 0)
    block = write_message(profile, message_id, data)
    return _Reply(hop, header.hops[hop].keys.turn_keys(), data, block)


def _describe_reply(
    profile: Profile, header: Header, reply: _Reply | None, message_id: bytes, arrived: bytes
) -> dict[str, str | None]:
    """Open the reply as the sender does; other shapes have the same fields, but null."""
    if reply is None:
        fields = ("turn_keys", "reply_data", "reply_plain", "payload_at_sender", "reply_opened")
        return dict.fromkeys(fields)
    opened = open_reply(profile, header, reply.hop + 1, reply.keys, arrived)
    require(opened == reply.block, "the reply opens")
    opened_id, opened_data = read_message(opened)
    require((opened_id, opened_data) == (message_id, reply.data), "the reply is the one sent")
    return {
        "turn_keys": reply.keys.hex(),
        "reply_data": reply.data.hex(),
        "reply_plain": reply.block.hex(),
        "payload_at_sender": arrived.hex(),
        "reply_opened": opened_data.hex(),
    }


def build_packet(case: PacketCase) -> dict[str, Any]:
    profile = PROFILES[case.profile]
    nodes = make_path(case.name, case.commands, case.fixed_ids)
    seed = derive(case.name, "seed", 32)
    header = create_header(profile, seed, [node.hop for node in nodes])
    last = len(nodes) - 1
    is_loop = case.shape == "loop"

    message_id = derive(case.name, "message id", 4)
    data = derive(case.name, "data", case.data_len or 0)
    reply = _make_reply(case, profile, header, message_id)
    if is_loop:
        plain = derive(case.name, "loop content", profile.payload_len)
        last_sealed = last - 1
    else:
        plain = write_message(profile, message_id, data)
        last_sealed = last if reply is None else reply.hop
    sealed = seal(profile, header, last_sealed, plain)
    wire = [Packet(header.alpha, header.beta, header.gamma, sealed).encode()]

    seen: set[bytes] = set()
    for i in range(len(nodes)):
        found = walk_hop(profile, nodes, header, i, wire[i], seen)
        if i == last_sealed and not is_loop:
            require(read_message(found.payload) == (message_id, data), "the message arrives")
        if reply is not None and i == reply.hop:
            wire.append(found.turned(profile, reply.block).encode())
        elif i != last:
            wire.append(found.forwarded().encode())
    require(len(seen) == len(wire) == len(nodes), "one replay tag and one datagram for each hop")
    arrived = Packet.decode(profile, wire[last]).payload
    require(arrived == plain or not is_loop, "the loop comes home")

    return {
        "name": case.name,
        "profile": case.profile,
        "shape": case.shape,
        "seed": seed.hex(),
        "path": describe_path(nodes),
        "turn_round_hop": None if reply is None else reply.hop,
        **describe_header(header, header.seed_parts.header_id),
        "message_id": None if is_loop else message_id.hex(),
        "data": None if is_loop else data.hex(),
        "loop_content": plain.hex() if is_loop else None,
        "payload_plain": plain.hex(),
        "payload_sealed": sealed.hex(),
        "packet": wire[0].hex(),
        "wire": [each.hex() for each in wire],
        **_describe_reply(profile, header, reply, message_id, arrived),
    }
