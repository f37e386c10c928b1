"""The worked example at the end of the specification, taken from the finished vectors."""

from __future__ import annotations

import textwrap
from typing import Any

from .cases import WORKED_EXAMPLE

BEGIN = "<!-- worked example: begin, written by vectors/generate.py -->"
END = "<!-- worked example: end -->"
_SHOWN_BYTES = 32
# As wide as every other paragraph of the documents.
_COLUMNS = 100


def _show(value: str) -> str:
    """Values of up to 32 bytes in full, longer ones by their ends and their length."""
    length = len(value) // 2
    if length == 0:
        return "(empty)"
    if length <= _SHOWN_BYTES:
        return f"`{value}`"
    return f"`{value[:32]}…{value[-32:]}` ({length} bytes)"


def render(document: dict[str, Any]) -> str:
    packet = next(each for each in document["packets"] if each["name"] == WORKED_EXAMPLE.name)
    path, hops = packet["path"], packet["hops"]
    first, turn = hops[0], packet["turn_round_hop"]
    rows: list[tuple[str, str]] = [
        ("seed", packet["seed"]),
        ("x", packet["x"]),
        ("header_id", packet["header_id"]),
        ("spare", packet["spare"]),
        ("α", packet["alpha0"]),
        ("r_0", first["scalar"]),
        ("y_0", path[0]["public"]),
        ("s_0", first["shared_secret"]),
        ("hop_key_0", first["hop_key"]),
        ("header_mac_key_0", first["header_mac_key"]),
        ("routing_key_0", first["routing_key"]),
        ("blinding_0", first["blinding"]),
        ("replay_tag_0", first["replay_tag"]),
        ("delay_seed_0", first["delay_seed"]),
        ("payload_keys_0", first["payload_keys"]),
    ]
    for i in range(1, len(hops)):
        rows += [(f"r_{i}", hops[i]["scalar"]), (f"s_{i}", hops[i]["shared_secret"])]
    rows += [(f"φ_{len(hops) - 1}", hops[-1]["filler"])]
    for i in range(len(hops) - 1, -1, -1):
        rows += [(f"β_{i}", hops[i]["beta"]), (f"γ_{i}", hops[i]["gamma"])]
    rows += [
        ("message id", packet["message_id"]),
        ("data", packet["data"]),
        ("message in its block", packet["payload_plain"]),
        ("δ, sealed", packet["payload_sealed"]),
        ("datagram to hop 0", packet["wire"][0]),
        (f"turn_keys_{turn}", packet["turn_keys"]),
        ("reply data", packet["reply_data"]),
        (f"datagram to hop {turn + 1}", packet["wire"][turn + 1]),
        (f"datagram to hop {len(hops) - 1}", packet["wire"][-1]),
    ]
    hop_list = ", ".join(f"{hop['id']} {hop['command']}" for hop in path)
    introduction = (
        f"Case “{packet['name']}” of `vectors/packet.json`, which has every value in full. "
        f"The path, as node id and command: {hop_list}. "
        f"The delay of hop 0 with a mean of one second is {first['delay_us']} µs."
    )
    lines = [
        *textwrap.wrap(introduction, _COLUMNS),
        "",
        "| value | bytes |",
        "|---|---|",
    ]
    lines += [f"| {name} | {_show(value)} |" for name, value in rows]
    return "\n".join(lines) + "\n"


def insert(specification: str, example: str) -> str:
    """The specification with the marked region replaced."""
    before, begin, rest = specification.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError("the specification has no region marked for the worked example")
    return f"{before}{BEGIN}\n{example}{END}{after}"
