"""Known answers for pairings and commands, between the devices of identity.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from identity_reference import hpke
from identity_reference.identity import command, pairing

from .identities import AUDIENCES, DEVICES, SEQUENCES, _seed

PAIRS = [(0, 1), (1, 3), (3, 4), (4, 2)]
PLACES = ["", "cellar", "Dachgeschoß"]
# [{"n": "v", "vb": true}]
SENML = bytes.fromhex("81a200617604f5")


def _self_test() -> None:
    """The values of RFC 9180, appendix A, in hpke.json."""
    path = Path(__file__).resolve().parent.parent / "hpke.json"
    for case in json.loads(path.read_text(encoding="utf-8"))["cases"]:
        (algorithm,) = [name for name, kem in hpke.KEMS.items() if kem == case["kem_id"]]
        value = {name: bytes.fromhex(text) for name, text in case.items() if isinstance(text, str) and name != "section"}
        enc = hpke.kem_public(algorithm, value["skEm"])
        shared = hpke.shared_secret(algorithm, value["skEm"], value["pkRm"], enc, value["pkRm"])
        sealed = hpke.seal(
            algorithm, value["skEm"], value["pkRm"], value["info"], value["aad"], value["pt"]
        )
        if (enc, shared, sealed) != (value["enc"], value["shared_secret"], value["ct"]):
            raise AssertionError(f"this is not HPKE: {case['section']}")
    for device in DEVICES:
        secret = hpke.agreement_secret(device.algorithm, device.secret)
        public = hpke.agreement_public(device.algorithm, device.public)
        if hpke.kem_public(device.algorithm, secret) != public:
            raise AssertionError(f"{device.name}: the other form of its key is another key")


def _pairing(number: int, server: int, device: int) -> dict[str, Any]:
    audience, place = AUDIENCES[number % 3], PLACES[number % 3]
    ephemeral, sequence = _seed(f"ephemeral {number}"), SEQUENCES[number]
    message = pairing(DEVICES[server], DEVICES[device], sequence, audience, place, "valve", ephemeral)
    return {
        "server": server,
        "device": device,
        "sequence": str(sequence),
        "audience": audience,
        "place": place,
        "purpose": "valve",
        "ephemeral": ephemeral.hex(),
        "pairing": message.hex(),
    }


def _command(number: int, server: int, device: int, whole: bool) -> dict[str, Any]:
    audience, sequence = AUDIENCES[number % 3], SEQUENCES[number]
    return {
        "server": server,
        "device": device,
        "sequence": str(sequence),
        "whole": whole,
        "audience": audience,
        "senml": SENML.hex(),
        "command": command(DEVICES[server], DEVICES[device], sequence, whole, audience, SENML).hex(),
    }


def build() -> dict[str, Any]:
    _self_test()
    return {
        "format": "motemix-pairing-vectors/1",
        "pairings": [_pairing(number, *pair) for number, pair in enumerate(PAIRS)],
        "commands": [
            _command(number, *pair, whole) for number, pair in enumerate(PAIRS) for whole in (False, True)
        ],
    }
