#!/usr/bin/env python3
"""COSE of pycose, JWS of joserfc and SenML of kpn-senml, for whoever asks in JSON lines.

    scripts/setup objects_peer
    .venv-objects/bin/python scripts/objects/peer.py

Each question is an object with `op`, the name of a function below, and its arguments; byte strings are in hexadecimal, and
arguments whose names end with `_text` are texts. Each answer is an object: what was computed, or `refused` with the reason.
The end of the questions is the end of the peer.
"""

from __future__ import annotations

import base64
import builtins
import json
import sys

import cbor2
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey
from joserfc.registry import HeaderParameter
from pycose.algorithms import EdDSA, Es256
from pycose.exceptions import CoseException
from pycose.headers import KID, Algorithm
from pycose.keys import EC2Key as CoseEC2Key
from pycose.keys import OKPKey as CoseOKPKey
from pycose.keys.curves import P256, Ed25519
from pycose.messages import Sign1Message

# kpn-senml names a type of Python 2 for texts.
builtins.basestring = str
from kpn_senml import SenmlPack, SenmlRecord  # noqa: E402

CONTEXT = "motemix/1 context"
P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


class Refused(Exception):
    """What was asked for is wrong."""


def coordinates(key: bytes, private: bool) -> tuple[bytes, bytes]:
    """x and y of a key of P-256: of its scalar, or of its compressed point."""
    if private:
        public = ec.derive_private_key(int.from_bytes(key, "big"), ec.SECP256R1()).public_key()
    else:
        public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), key)
    numbers = public.public_numbers()
    return numbers.x.to_bytes(32, "big"), numbers.y.to_bytes(32, "big")


def edwards(key: bytes, private: bool) -> bytes:
    """The public key of a seed, or itself."""
    if not private:
        return key
    raw = serialization.Encoding.Raw, serialization.PublicFormat.Raw
    return ed25519.Ed25519PrivateKey.from_private_bytes(key).public_key().public_bytes(*raw)


def cose_key(algorithm: str, key: bytes, private: bool):
    if algorithm == "ed25519":
        return CoseOKPKey(crv=Ed25519, x=edwards(key, private), d=key if private else b"")
    x, y = coordinates(key, private)
    return CoseEC2Key(crv=P256, x=x, y=y, d=key if private else b"")


def cose_verify(algorithm_text: str, key: bytes, message: bytes, external: bytes) -> dict:
    """The payload and the key id of a COSE_Sign1, tagged or not."""
    item = cbor2.loads(message)
    if isinstance(item, list):
        message = cbor2.dumps(cbor2.CBORTag(18, item))
    decoded = Sign1Message.decode(message)
    decoded.external_aad = external
    decoded.key = cose_key(algorithm_text, key, False)
    if not decoded.verify_signature():
        raise Refused("signature")
    return {"payload": decoded.payload, "key_id": decoded.phdr[KID]}


def cose_sign(algorithm_text: str, key: bytes, payload: bytes, external: bytes, key_id: bytes, tag: bool) -> dict:
    """A COSE_Sign1."""
    algorithm = EdDSA if algorithm_text == "ed25519" else Es256
    message = Sign1Message(phdr={Algorithm: algorithm, KID: key_id}, payload=payload, external_aad=external)
    message.key = cose_key(algorithm_text, key, True)
    return {"message": message.encode(tag=tag)}


def url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def jose_key(algorithm: str, key: bytes, private: bool):
    secret = {"d": url(key)} if private else {}
    if algorithm == "ed25519":
        return OKPKey.import_key({"kty": "OKP", "crv": "Ed25519", "x": url(edwards(key, private)), **secret})
    x, y = coordinates(key, private)
    return ECKey.import_key({"kty": "EC", "crv": "P-256", "x": url(x), "y": url(y), **secret})


def registry(understood: bool) -> jws.JWSRegistry:
    """joserfc asks to be told which parameters are understood, and which algorithms are wanted."""
    own = {CONTEXT: HeaderParameter("What a reading is bound to", "str")} if understood else {}
    return jws.JWSRegistry(own, algorithms=["EdDSA", "Ed25519", "ES256"])


def jws_verify(algorithm_text: str, key: bytes, jws_text: str, understood: bool) -> dict:
    """Header and payload of a JWS."""
    opened = jws.deserialize_compact(jws_text, jose_key(algorithm_text, key, False), registry=registry(understood))
    return {"header_text": json.dumps(opened.headers()), "payload": opened.payload}


def jws_sign(algorithm_text: str, key: bytes, header_text: str, payload: bytes) -> dict:
    """A JWS. joserfc writes either of two signatures of ES256: readings have the one whose s is the smaller."""
    header, private = json.loads(header_text), jose_key(algorithm_text, key, True)
    while True:
        text = jws.serialize_compact(header, payload, private, registry=registry(True))
        s = base64.urlsafe_b64decode(text.rsplit(".", 1)[1] + "==")[32:]
        if algorithm_text == "ed25519" or int.from_bytes(s, "big") <= P256_ORDER // 2:
            return {"jws_text": text}


def senml_read(name_text: str, pack: bytes, form_text: str) -> dict:
    """Names and values of a pack, as kpn-senml tells them."""
    read = SenmlPack(name_text)
    if form_text == "json":
        read.from_json(pack.decode())
    else:
        read.from_cbor(pack)
    return {"records": [[record.name, record.value] for record in read._data]}


def senml_write(name_text: str, records: list, time: float, form_text: str) -> dict:
    """A pack that kpn-senml writes."""
    pack = SenmlPack(name_text)
    pack.base_time = time
    for name, value, unit in records:
        pack.add(SenmlRecord(name, value=value, unit=unit))
    return {"pack": pack.to_json().encode() if form_text == "json" else pack.to_cbor()}


def main() -> None:
    own = [cose_verify, cose_sign, jws_verify, jws_sign, senml_read, senml_write]
    operations = {operation.__name__: operation for operation in own}
    for line in sys.stdin:
        question = json.loads(line)
        operation = operations[question.pop("op")]
        arguments = {
            name: bytes.fromhex(value) if isinstance(value, str) and not name.endswith("_text") else value
            for name, value in question.items()
        }
        try:
            answer = operation(**arguments)
        # A ValueError is for bytes that are no CBOR, no JSON, or no key.
        except (Refused, CoseException, JoseError, cbor2.CBORDecodeError, ValueError) as refused:
            answer = {"refused": f"{type(refused).__name__}: {refused}"}
        print(json.dumps({k: v.hex() if isinstance(v, bytes) else v for k, v in answer.items()}), flush=True)


if __name__ == "__main__":
    main()
