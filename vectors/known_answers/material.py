"""Deterministic inputs: everything a real creator draws at random comes from the case's name."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from sphinx_reference.header import MAX_NODE_ID, Command, PathHop
from sphinx_reference.x25519 import public_key

MEAN_US = 1_000_000


def derive(case: str, label: str, length: int) -> bytes:
    """SHA-256 in counter mode over `case/label/counter`; 32 bytes take one call."""
    stream = b""
    counter = 0
    while len(stream) < length:
        stream += hashlib.sha256(f"{case}/{label}/{counter}".encode()).digest()
        counter += 1
    return stream[:length]


@dataclass(frozen=True)
class Node:
    """A node of a case's path together with the secret only that node has."""

    hop: PathHop
    secret: bytes


def make_path(case: str, commands: list[Command], fixed_ids: dict[int, int]) -> list[Node]:
    nodes = []
    used = set(fixed_ids.values())
    for position, command in enumerate(commands):
        secret = derive(case, f"secret {position}", 32)
        node_id = fixed_ids.get(position)
        if node_id is None:
            node_id = int.from_bytes(derive(case, f"id {position}", 2), "big") & MAX_NODE_ID
            while node_id in used:
                node_id = (node_id + 1) & MAX_NODE_ID
            used.add(node_id)
        nodes.append(Node(PathHop(node_id, public_key(secret), command), secret))
    return nodes


def require(condition: bool, what: str) -> None:
    """Unlike `assert`, this also runs under `python3 -O`."""
    if not condition:
        raise AssertionError(what)
