#!/usr/bin/env python3
"""Makes nist.json: what NIST's validation programs (CAVP) have for P-256, AES-128 and AES-CCM-16-64-128.

    pip install cryptography-vectors==50.0.2
    python3 vectors/nist.py FOLDER          # where the package cryptography_vectors is

The files are CAVS's own: ECDSAVS, the ECC key agreement validity test, AESAVS and CCMVS. Only the parameters that
motemix-neighbour has are taken.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ECDSA = "asymmetric/ECDSA/FIPS_186-3"
ECDH = "asymmetric/ECDH/KASValidityTest_ECCStaticUnified_NOKC_ZZOnly_{role}.fax"
AES = "ciphers/AES/ECB/ECB{name}128.rsp"
CCM = "ciphers/AES/CCM/VTT128.rsp"
AES_FILES = ("GFSbox", "KeySbox", "VarKey", "VarTxt", "MMT")


def sections(path: Path) -> dict[str, list[dict[str, str]]]:
    """The cases of each part in brackets: their fields by name, in lower case."""
    parts: dict[str, list[dict[str, str]]] = {}
    part, case = "", {}
    for line in [*path.read_text().splitlines(), ""]:
        if line.startswith("["):
            part, case = line.strip("[] "), {}
        elif "=" in line and not line.startswith("#"):
            name, value = (side.strip() for side in line.split("=", 1))
            if not case:
                parts.setdefault(part, []).append(case)
            case[name.lower()] = value
        elif not line.strip():
            case = {}
    return parts


def number(digits: str) -> str:
    """Some numbers lack leading zeros; those that are too long stay so."""
    return digits.rjust(64, "0")


def point(case: dict[str, str], x: str = "qx", y: str = "qy") -> dict[str, str]:
    return {"x": number(case[x]), "y": number(case[y])}


def signature(case: dict[str, str]) -> str:
    return number(case["r"]) + number(case["s"])


def is_right(case: dict[str, str]) -> bool:
    return case["result"].startswith("P")


def agreements(folder: Path) -> list[dict]:
    """Each side's key pair with the other's public key, and SHA-256 of the shared x."""
    found = []
    for role in ("init", "resp"):
        for case in sections(folder / ECDH.format(role=role))["EC - SHA256"]:
            own = point(case, "qsiutx", "qsiuty")
            found.append(
                {
                    "private": number(case["dsiut"]),
                    "own_x": own["x"],
                    "own_y": own["y"],
                    **point(case, "qscavsx", "qscavsy"),
                    "hashed_secret": case["cavshashzz"],
                    "is_right": is_right(case),
                    "why": case["result"],
                }
            )
    return found


def main() -> None:
    folder = Path(sys.argv[1])
    pairs = key_pairs(folder / ECDSA / "KeyPair.rsp")
    signing = sections(folder / ECDSA / "SigGen.txt")["P-256,SHA-256"]
    verifying = sections(folder / ECDSA / "SigVer.rsp")["P-256,SHA-256"]
    validity = sections(folder / ECDSA / "PKV.rsp")["P-256"]
    blocks = []
    for name in AES_FILES:
        for case in sections(folder / AES.format(name=name))["ENCRYPT"]:
            blocks.append([case["key"], case["plaintext"], case["ciphertext"]])
    vectors = {
        "format": "motemix-nist-vectors/1",
        "source": "NIST CAVP (ECDSAVS, KASVS, AESAVS, CCMVS), from the Python package cryptography-vectors 50.0.2",
        "key_pairs": [{"private": number(case["d"]), **point(case)} for case in pairs],
        "public_keys": [{**point(case), "is_right": is_right(case), "why": case["result"]} for case in validity],
        "agreements": agreements(folder),
        "signed": [
            {"message": case["msg"], "private": number(case["d"]), **point(case), "signature": signature(case)}
            for case in signing
        ],
        "signatures": [
            {
                "message": case["msg"],
                **point(case),
                "signature": signature(case),
                "is_right": is_right(case),
                "why": case["result"],
            }
            for case in verifying
        ],
        "blocks": blocks,
        "ccm": ccm(folder / CCM),
    }
    text = json.dumps(vectors, indent=None, separators=(",", ":"))
    # A case a line, so that a difference is one.
    Path(__file__).with_name("nist.json").write_text(text.replace('},{', '},\n{').replace('],[', '],\n[') + "\n")


def key_pairs(path: Path) -> list[dict[str, str]]:
    """The curves of this file have parts of their own within, each with the same names: those of P-256."""
    text = path.read_text()
    begin = text.index("[P-256]")
    part = text[begin : text.index("[P-384]", begin)]
    cases, case = [], {}
    for line in [*part.splitlines(), ""]:
        if " = " in line:
            name, value = (side.strip() for side in line.split("=", 1))
            case[name.lower()] = value
        else:
            if "d" in case:
                cases.append(case)
            case = {}
    return cases


def ccm(path: Path) -> list[dict[str, str]]:
    """Those with a tag of 8 bytes; the nonces of all have 13. Key and nonce stand once, before the cases."""
    lines = path.read_text().splitlines()
    begin = lines.index("[Tlen = 8]")
    fields: dict[str, str] = {}
    cases = []
    for line in lines[begin + 1 :]:
        if line.startswith("["):
            break
        if " = " in line:
            name, value = line.split(" = ")
            fields[name.lower()] = value
            if name == "CT":
                cases.append({name: fields[name] for name in ("key", "nonce", "adata", "payload", "ct")})
    return cases


if __name__ == "__main__":
    main()
