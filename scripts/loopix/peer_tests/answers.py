"""The known answers, and what makes the package draw what they drew."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

from petlib.bn import Bn
from petlib.ec import EcPt
from sphinxmix.SphinxParams import SphinxParams

from peer.files import PARAMS
from peer.packet import Format

VECTORS = json.loads((Path(__file__).resolve().parents[3] / "vectors" / "sphinxmix.json").read_text())
FORMATS = [Format(flags, tag) for flags in ("bin", "str") for tag in ("zero", "hmac")]


def point(written: str) -> EcPt:
    return EcPt.from_binary(bytes.fromhex(written), PARAMS.group.G)


def params_of(vector: dict[str, Any]) -> SphinxParams:
    wanted = vector["params"]
    return SphinxParams(header_len=wanted["header_len"], body_len=wanted["body_len"], assoc_len=wanted.get("assoc_len", 0))


def format_of(vector: dict[str, Any]) -> Format:
    env = vector["env"]
    return Format("str" if env.startswith("py3") else "bin", "zero" if env.endswith("0.0.6") else "hmac")


def drawing(params: SphinxParams, x: str, *drawn: str) -> ExitStack:
    """Lets the package and the peer draw these instead of randomness; each must be drawn, in order and in full length."""
    left = [bytes.fromhex(value) for value in drawn]

    def urandom(length: int) -> bytes:
        value = left.pop(0)
        assert len(value) == length, (len(value), length)
        return value

    stack = ExitStack()
    stack.enter_context(mock.patch("sphinxmix.SphinxClient.urandom", urandom))
    stack.enter_context(mock.patch("peer.packet.urandom", urandom))
    stack.enter_context(mock.patch.object(params.group, "gensecret", lambda: Bn.from_hex(x)))
    stack.callback(lambda: left and (_ for _ in ()).throw(AssertionError(f"{len(left)} values were not drawn")))
    return stack
