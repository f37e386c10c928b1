"""SURBs: made by the owner, used by somebody else, opened by the owner."""

from __future__ import annotations

from typing import Any

from sphinx_reference.header import Command
from sphinx_reference.message import read_message, write_message
from sphinx_reference.payload import open_reply
from sphinx_reference.profile import PROFILES, Packet
from sphinx_reference.surb import create_surb, decode_surb

from .cases import SurbCase
from .material import derive, make_path, require
from .packets import describe_header, describe_path, walk_hop


def build_surb(case: SurbCase) -> dict[str, Any]:
    profile = PROFILES[case.profile]
    nodes = make_path(case.name, case.commands, case.fixed_ids)
    seed = derive(case.name, "seed", 32)
    header, secrets, encoded = create_surb(profile, seed, [node.hop for node in nodes])
    require(len(encoded) == 67 + 18 * (case.hops - 1), "length of the encoded SURB")
    require(header.beta.endswith(secrets.tail), "the header ends with the tail")

    decoded = decode_surb(profile, encoded)
    require(decoded.first_node == nodes[0].hop.node_id, "the SURB names its first node")
    require((decoded.alpha, decoded.beta, decoded.gamma)
            == (header.alpha, header.beta, header.gamma), "the header is rebuilt")
    require(decoded.secrets == secrets, "owner and user derive the same secrets")

    message_id = derive(case.name, "message id", 4)
    reply_data = derive(case.name, "reply data", case.reply_len)
    reply_plain = write_message(profile, message_id, reply_data)
    first = decoded.reply(profile, reply_plain)

    wire = [first.encode()]
    seen: set[bytes] = set()
    for i, node in enumerate(nodes):
        found = walk_hop(profile, nodes, header, i, wire[i], seen)
        if node.hop.command is Command.FORWARD:
            wire.append(found.forwarded().encode())
    require(len(seen) == len(nodes), "replay tags are distinct")
    require(len(wire) == len(nodes), "one datagram for each hop")

    arrived = Packet.decode(profile, wire[-1]).payload
    opened = open_reply(profile, header, 0, secrets.reply_keys, arrived)
    require(opened == reply_plain, "the reply opens")
    opened_id, opened_data = read_message(opened)
    require((opened_id, opened_data) == (message_id, reply_data), "the reply is the one sent")
    return {
        "name": case.name,
        "profile": case.profile,
        "seed": seed.hex(),
        "path": describe_path(nodes),
        **describe_header(header, header.header_id),
        "surb_key": secrets.surb_key.hex(),
        "tail": secrets.tail.hex(),
        "reply_keys": secrets.reply_keys.hex(),
        "encoded": encoded.hex(),
        "message_id": message_id.hex(),
        "reply_data": reply_data.hex(),
        "reply_plain": reply_plain.hex(),
        "reply_sealed": first.payload.hex(),
        "wire": [each.hex() for each in wire],
        "payload_at_sender": arrived.hex(),
        "reply_opened": opened_data.hex(),
    }
