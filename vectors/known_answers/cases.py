"""Which packets and SURBs the vectors hold."""

from __future__ import annotations

from dataclasses import dataclass, field

from sphinx_reference.header import MAX_NODE_ID, Command
from sphinx_reference.profile import PROFILES

_LOWEST_THEN_HIGHEST = {0: 0, 1: MAX_NODE_ID}


@dataclass(frozen=True)
class PacketCase:
    name: str
    profile: str
    shape: str
    commands: list[Command]
    data_len: int | None
    reply_len: int | None = None
    fixed_ids: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class SurbCase:
    name: str
    profile: str
    hops: int
    reply_len: int
    fixed_ids: dict[int, int] = field(default_factory=dict)

    @property
    def commands(self) -> list[Command]:
        return [Command.FORWARD] * (self.hops - 1) + [Command.YOURS]


def _one_way(profile: str, hops: int, data_len: int, last: Command = Command.DELIVER,
             fixed_ids: dict[int, int] | None = None) -> PacketCase:
    shape = f"one-way-{last.value}"
    name = f"{profile} {shape} {hops}, {data_len} bytes"
    commands = [Command.FORWARD] * (hops - 1) + [last]
    return PacketCase(name, profile, shape, commands, data_len, None, fixed_ids or {})


def _round_trip(profile: str, there: int, back: int, data_len: int, reply_len: int,
                fixed_ids: dict[int, int] | None = None) -> PacketCase:
    name = f"{profile} round-trip {there}+{back}, {data_len} and {reply_len} bytes"
    commands = [Command.FORWARD] * (there - 1) + [Command.TURN_ROUND]
    commands += [Command.FORWARD] * (back - 1) + [Command.YOURS]
    return PacketCase(name, profile, "round-trip", commands, data_len, reply_len, fixed_ids or {})


def _loop(profile: str, hops: int) -> PacketCase:
    commands = [Command.FORWARD] * (hops - 1) + [Command.YOURS]
    return PacketCase(f"{profile} loop {hops}", profile, "loop", commands, None)


def _surb(profile: str, hops: int, reply_len: int,
          fixed_ids: dict[int, int] | None = None) -> SurbCase:
    name = f"{profile} surb {hops}, {reply_len} bytes"
    return SurbCase(name, profile, hops, reply_len, fixed_ids or {})


_MOTE = PROFILES["MOTE"].max_data
_MOTE5 = PROFILES["MOTE5"].max_data
_HOST1K = PROFILES["HOST1K"].max_data
_HOST2K = PROFILES["HOST2K"].max_data

WORKED_EXAMPLE = _round_trip("MOTE", 3, 3, 42, 17, {1: 0, 2: MAX_NODE_ID})

PACKET_CASES = [
    _one_way("MOTE", 1, 0, fixed_ids={0: 0}),
    _one_way("MOTE", 1, 1),
    _one_way("MOTE", 2, 1, fixed_ids=_LOWEST_THEN_HIGHEST),
    _one_way("MOTE", 3, _MOTE),
    _one_way("MOTE", 3, 50, fixed_ids={1: MAX_NODE_ID, 2: 0}),
    _one_way("MOTE", 6, _MOTE - 1),
    _one_way("MOTE", 1, 0, Command.DROP),
    _one_way("MOTE", 3, _MOTE, Command.DROP),
    WORKED_EXAMPLE,
    _round_trip("MOTE", 3, 3, _MOTE, _MOTE),
    _round_trip("MOTE", 2, 2, 0, 1),
    _round_trip("MOTE", 1, 1, 1, 0, _LOWEST_THEN_HIGHEST),
    _loop("MOTE", 6),
    _loop("MOTE", 2),
    _one_way("MOTE5", 5, _MOTE5),
    _round_trip("MOTE5", 3, 3, 0, _MOTE5),
    _round_trip("MOTE5", 4, 5, 64, 0),
    _round_trip("MOTE5", 5, 5, _MOTE5, 1, {4: MAX_NODE_ID, 9: 0}),
    _loop("MOTE5", 10),
    _one_way("HOST1K", 3, _HOST1K),
    _one_way("HOST1K", 5, 300, fixed_ids={3: 0, 4: MAX_NODE_ID}),
    _one_way("HOST1K", 3, 0, Command.DROP),
    _round_trip("HOST1K", 5, 5, 1, _HOST1K),
    _one_way("HOST2K", 3, 1),
    _round_trip("HOST2K", 5, 5, _HOST2K, 1500),
]

SURB_CASES = [
    _surb("MOTE", 1, 0, {0: MAX_NODE_ID}),
    _surb("MOTE", 2, 1, _LOWEST_THEN_HIGHEST),
    _surb("MOTE", 3, _MOTE),
    _surb("MOTE", 6, 33),
    _surb("MOTE5", 4, 60, {0: MAX_NODE_ID, 3: 0}),
    _surb("HOST1K", 5, 700),
]
