#!/usr/bin/env python3
"""Write the known-answer vectors of motemix, or compare them with what is there."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True  # running the generator leaves no files but the vectors

from known_answers import identities, pairings, small, worked_example  # noqa: E402
from known_answers.cases import PACKET_CASES, SURB_CASES  # noqa: E402
from known_answers.packets import build_packet  # noqa: E402
from known_answers.surbs import build_surb  # noqa: E402
from known_answers.tamper import build_negative, build_same_tag  # noqa: E402
from sphinx_reference import self_test  # noqa: E402
from sphinx_reference.profile import PROFILES  # noqa: E402

VECTORS = Path(__file__).resolve().parent
SPECIFICATION = VECTORS.parent / "docs" / "spec" / "packet.md"

DESCRIPTION = """\
Writes vectors/packet.json, vectors/tamper.json and the worked example in
docs/spec/packet.md, from the Python implementation in vectors/sphinx_reference,
and vectors/identity.json and vectors/pairing.json, from that in
vectors/identity_reference.

Before writing, the primitives are checked against their RFCs, and every packet
is processed hop by hop and compared with what its creator computed. The output
depends on nothing but the code: seeds are SHA-256 hashes of the cases' names.
"""


def build_profiles() -> dict[str, Any]:
    return {
        profile.name: {
            "hops_each_way": profile.hops_each_way,
            "H": profile.max_hops,
            "A": profile.max_data,
            "P": profile.payload_len,
            "packet_len": profile.packet_len,
            "hash": profile.wide_block_hash,
        }
        for profile in PROFILES.values()
    }


def build_document() -> dict[str, Any]:
    return {
        "format": "motemix-packet-vectors/1",
        "profiles": build_profiles(),
        "wide_block": small.wide_block_vectors(),
        "delay": small.delay_vectors(),
        "clamped_scalar": small.clamped_scalar_vectors(),
        "packets": [build_packet(case) for case in PACKET_CASES],
        "surbs": [build_surb(case) for case in SURB_CASES],
    }


def build_tamper_document() -> dict[str, Any]:
    return {
        "format": "motemix-tamper-vectors/1",
        "negative": build_negative(),
        "same_tag": build_same_tag(),
    }


def encode(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1) + "\n"


def generate() -> dict[Path, str]:
    """The whole content of every file this program is responsible for."""
    names = [case.name for case in PACKET_CASES] + [case.name for case in SURB_CASES]
    if len(set(names)) != len(names):
        raise AssertionError("two cases have one name, and so one seed")
    self_test.run()
    document = build_document()
    specification = SPECIFICATION.read_text(encoding="utf-8")
    example = worked_example.render(document)
    return {
        VECTORS / "packet.json": encode(document),
        VECTORS / "tamper.json": encode(build_tamper_document()),
        VECTORS / "identity.json": encode(identities.build()),
        VECTORS / "pairing.json": encode(pairings.build()),
        SPECIFICATION: worked_example.insert(specification, example),
    }


def check(files: dict[Path, str]) -> int:
    different = 0
    for path, content in files.items():
        relative = path.relative_to(VECTORS.parent)
        if path.exists() and path.read_bytes() == content.encode("utf-8"):
            print(f"{relative}: the same")
        else:
            print(f"{relative}: different", file=sys.stderr)
            different = 1
    return different


def write(files: dict[Path, str]) -> None:
    for path, content in files.items():
        path.write_bytes(content.encode("utf-8"))
        print(f"{path.relative_to(VECTORS.parent)}: written, {len(content.encode('utf-8'))} bytes")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; compare byte for byte with the files and exit with 1 on a difference",
    )
    arguments = parser.parse_args()
    files = generate()
    if arguments.check:
        return check(files)
    write(files)
    return 0


if __name__ == "__main__":
    sys.exit(main())
