#!/usr/bin/env python3
"""EDHOC of lakers, and primitives of cryptography, for whoever asks in JSON lines.

    scripts/setup neighbour_peer
    .venv-neighbour/bin/python scripts/neighbour/peer.py

Each question is an object with `op`, the name of a function below, and its arguments; byte strings are in hexadecimal. Each
answer is an object: what was computed, or `refused` with the reason. The end of the questions is the end of the peer.
"""

from __future__ import annotations

import json
import sys

import lakers
from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESCCM

CURVE = ec.SECP256R1()
TAG_LEN = 8


class Refused(Exception):
    """What was asked for is wrong."""


class Handshakes:
    """The one handshake that is under way."""

    def __init__(self) -> None:
        self.side: lakers.EdhocInitiator | lakers.EdhocResponder | None = None

    def begin(self, connection: bytes, ead: int | None = None) -> dict:
        """message_1 of a new initiator."""
        self.side = lakers.EdhocInitiator()
        return {"message": self.side.prepare_message_1(connection, items(ead))}

    def finish(self, message: bytes, key: bytes, own: bytes, peer: bytes, by_value: bool, ead: int | None = None) -> dict:
        """message_3, if message_2 is by this peer."""
        connection, name, found = self.side.parse_message_2(message)
        self.side.verify_message_2(key, lakers.Credential(own), lakers.Credential(peer))
        message_3, _ = self.side.prepare_message_3(transfer(by_value), items(ead))
        return {"message": message_3, "connection": connection, "name": name, "ead": labels(found)}

    def confirm(self, message: bytes) -> dict:
        """Takes message_4."""
        return {"ead": labels(self.side.process_message_4(message))}

    def answer(
        self, message: bytes, key: bytes, own: bytes, connection: bytes, by_value: bool, ead: int | None = None
    ) -> dict:
        """message_2 of a new responder."""
        self.side = lakers.EdhocResponder(key, lakers.Credential(own))
        peer_connection, found = self.side.process_message_1(message)
        message_2 = self.side.prepare_message_2(transfer(by_value), connection, items(ead))
        return {"message": message_2, "connection": peer_connection, "ead": labels(found)}

    def accept(self, message: bytes, peer: bytes) -> dict:
        """message_4, if message_3 is by this peer."""
        name, found = self.side.parse_message_3(message)
        self.side.verify_message_3(lakers.Credential(peer))
        return {"message": self.side.prepare_message_4([]), "name": name, "ead": labels(found)}

    def export(self, label: int, context: bytes, length: int) -> dict:
        """A key of the session."""
        return {"key": self.side.edhoc_exporter(label, context, length)}

    def update(self, context: bytes) -> dict:
        """New keys for the session."""
        self.side.edhoc_key_update(context)
        return {}


def items(label: int | None) -> list:
    return [] if label is None else [lakers.EADItem(label, False, b"motemix")]


def labels(found) -> list:
    return [item.label() for item in found or []]


def transfer(by_value: bool) -> lakers.CredentialTransfer:
    return lakers.CredentialTransfer.ByValue if by_value else lakers.CredentialTransfer.ByReference


def private_key(scalar: bytes) -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(int.from_bytes(scalar, "big"), CURVE)


def public_key(point: bytes) -> ec.EllipticCurvePublicKey:
    try:
        return ec.EllipticCurvePublicKey.from_encoded_point(CURVE, point)
    except ValueError as wrong:
        raise Refused("no point") from wrong


def coordinates(key: bytes) -> dict:
    """The public key of a private one: x and y."""
    numbers = private_key(key).public_key().public_numbers()
    return {"point": numbers.x.to_bytes(32, "big") + numbers.y.to_bytes(32, "big")}


def agree(key: bytes, point: bytes) -> dict:
    """ECDH with P-256."""
    return {"secret": private_key(key).exchange(ec.ECDH(), public_key(point))}


def sign(key: bytes, message: bytes) -> dict:
    """ECDSA with P-256 and SHA-256: r and s."""
    r, s = utils.decode_dss_signature(private_key(key).sign(message, ec.ECDSA(hashes.SHA256())))
    return {"signature": r.to_bytes(32, "big") + s.to_bytes(32, "big")}


def verify(point: bytes, message: bytes, signature: bytes) -> dict:
    """Takes a signature."""
    r, s = (int.from_bytes(half, "big") for half in (signature[:32], signature[32:]))
    try:
        public_key(point).verify(utils.encode_dss_signature(r, s), message, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature as wrong:
        raise Refused("signature") from wrong
    return {}


def encrypt(key: bytes, block: bytes) -> dict:
    """One block of AES-128."""
    encryptor = Cipher(algorithms.AES128(key), modes.ECB()).encryptor()
    return {"block": encryptor.update(block) + encryptor.finalize()}


def seal(key: bytes, nonce: bytes, associated: bytes, message: bytes) -> dict:
    """AES-CCM-16-64-128: ciphertext and tag."""
    return {"sealed": AESCCM(key, TAG_LEN).encrypt(nonce, message, associated)}


def open_sealed(key: bytes, nonce: bytes, associated: bytes, sealed: bytes) -> dict:
    """The inverse."""
    try:
        return {"message": AESCCM(key, TAG_LEN).decrypt(nonce, sealed, associated)}
    except InvalidTag as wrong:
        raise Refused("tag") from wrong


def main() -> None:
    handshakes = Handshakes()
    own = [coordinates, agree, sign, verify, encrypt, seal, open_sealed]
    theirs = [
        handshakes.begin,
        handshakes.finish,
        handshakes.confirm,
        handshakes.answer,
        handshakes.accept,
        handshakes.export,
        handshakes.update,
    ]
    operations = {operation.__name__: operation for operation in own + theirs}
    for line in sys.stdin:
        question = {
            name: bytes.fromhex(value) if isinstance(value, str) and name != "op" else value
            for name, value in json.loads(line).items()
        }
        try:
            answer = operations[question.pop("op")](**question)
        # A ValueError is lakers' for whatever it refuses, with the name of its own error.
        except (Refused, ValueError) as refused:
            answer = {"refused": str(refused)}
        print(json.dumps({k: v.hex() if isinstance(v, bytes) else v for k, v in answer.items()}), flush=True)


if __name__ == "__main__":
    main()
