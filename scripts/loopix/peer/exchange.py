"""JSON lines on standard input and output, to exchange packets with another implementation.

A question is an object on one line, its answer an object on one line, in order. Bytes are lowercase hex: a secret 28 bytes big
endian, a public key 29 bytes compressed. Every question has `op`, and may have

    id            anything; comes back with the answer
    flags         "bin" (default) or "str"
    body_tag      "zero" (default) or "hmac"
    header_len    1024; sphinxmix counts 32 bytes more than the routing information has
    body_len      1024

PATH below is a list of {"public": …, "routing": …}, where `routing` is the whole packed routing string of that node, flag
included. DATAGRAM is the packed array of header and body. A destination is given and returned packed.

    {"op": "keys"}                                         -> {"secret", "public"}
    {"op": "create", "path": PATH, "destination", "message"} -> {"datagram"}
    {"op": "process", "secret", "datagram"}                -> {"kind": "relay", "routing", "replay_tag", "datagram"}
                                                            | {"kind": "destination", "routing", "replay_tag", "mac_key", "body",
                                                               "destination", "message"} or with "refused" for the last two
                                                            | {"kind": "surb", "routing", "replay_tag", "surb_id", "destination",
                                                               "body"}
    {"op": "surb", "path": PATH, "destination"}            -> {"surb_id", "keys": […], "surb": {"first", "header", "key"}}
    {"op": "reply", "surb": {…}, "message"}                -> {"first", "datagram"}
    {"op": "receive", "keys": […], "body"}                 -> {"message"}

`header` is the packed array of alpha, beta and gamma. What is refused answers {"refused": reason}: malformed, bad_point, bad_mac,
bad_routing, bad_body_tag, too_long. A question that makes no sense answers {"error": text}.

sphinxmix 0.0.7 on Python 3 makes and opens str flags with the hmac tag by itself, and that is what it is asked for there. It knows
neither bin flags nor the zero tag: for these it makes headers, encrypts and pads, and `packet` puts 16 zeros (0.0.6) or its HMAC in
front of the payload, packs the final routing string, and compares the tag at the end. A SURB's keys do not depend on the
tag, so with str flags SURBs are all its own. Processing at a hop is its own always.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from petlib.bn import Bn
from petlib.ec import EcPt
from petlib.pack import decode, encode
from sphinxmix import SphinxException
from sphinxmix.SphinxParams import SphinxParams

from . import messages, packet
from .packet import Flag, Format, Refused, Step, Surb

_SECRET_LEN = 28


def main() -> int:
    for line in sys.stdin:
        if line.strip():
            print(json.dumps(answer(line)), flush=True)
    return 0


def answer(line: str) -> dict[str, Any]:
    identity = {}
    try:
        question = json.loads(line)
        identity = {"id": question["id"]} if "id" in question else {}
        form = Format(question.get("flags", "bin"), question.get("body_tag", "zero"))
        params = _params(question.get("header_len", 1024), question.get("body_len", 1024))
        return identity | _OPS[question["op"]](question, form, params)
    except Refused as refused:
        return identity | {"refused": refused.reason}
    except SphinxException:
        return identity | {"refused": "too_long"}
    # Whatever a question leads to in petlib must not end the conversation.
    except Exception as error:
        return identity | {"error": f"{type(error).__name__}: {error}"}


@cache
def _params(header_len: int, body_len: int) -> SphinxParams:
    return SphinxParams(header_len=header_len, body_len=body_len)


def _keys(_question: dict[str, Any], _form: Format, params: SphinxParams) -> dict[str, Any]:
    secret = params.group.gensecret()
    public = params.group.expon_base([secret])
    return {"secret": secret.binary().rjust(_SECRET_LEN, b"\0").hex(), "public": public.export().hex()}


def _create(question: dict[str, Any], form: Format, params: SphinxParams) -> dict[str, Any]:
    destination, message = decode(_bytes(question, "destination")), _bytes(question, "message")
    header, body = packet.create(form, params, _path(question, params), destination, message)
    return {"datagram": messages.write_packet(header, body).hex()}


def _process(question: dict[str, Any], form: Format, params: SphinxParams) -> dict[str, Any]:
    arrived = messages.read_datagram(_bytes(question, "datagram"))
    if len(arrived) != 2 or not isinstance(arrived[0], list):
        raise Refused("malformed")
    done = packet.process(params, Bn.from_binary(_bytes(question, "secret")), *arrived)
    told = {"kind": done.flag.name.lower(), "routing": done.routing.hex(), "replay_tag": done.replay_tag.hex()}
    if done.flag is Flag.RELAY:
        return told | {"datagram": messages.write_packet(done.header, done.body).hex()}
    told["body"] = done.body.hex()
    if done.flag is Flag.SURB:
        _flag, destination, surb_id = done.command
        return told | {"surb_id": surb_id.hex(), "destination": encode(destination).hex()}
    told["mac_key"] = done.mac_key.hex()
    try:
        destination, message = packet.receive(form, params, done.mac_key, done.body)
    except Refused as refused:
        return told | {"refused": refused.reason}
    return told | {"destination": encode(destination).hex(), "message": message.hex()}


def _surb(question: dict[str, Any], form: Format, params: SphinxParams) -> dict[str, Any]:
    destination = decode(_bytes(question, "destination"))
    surb_id, kept, surb = packet.create_surb(form, params, _path(question, params), destination)
    given = {"first": surb.first.hex(), "header": encode(surb.header).hex(), "key": surb.key.hex()}
    return {"surb_id": surb_id.hex(), "keys": [key.hex() for key in kept], "surb": given}


def _reply(question: dict[str, Any], form: Format, params: SphinxParams) -> dict[str, Any]:
    given = question["surb"]
    header = messages.read_datagram(_bytes(given, "header"))
    surb = Surb(_bytes(given, "first"), header, _bytes(given, "key"))
    header, body = packet.reply(form, params, surb, _bytes(question, "message"))
    return {"first": surb.first.hex(), "datagram": messages.write_packet(header, body).hex()}


def _receive(question: dict[str, Any], form: Format, params: SphinxParams) -> dict[str, Any]:
    kept = [bytes.fromhex(key) for key in question["keys"]]
    return {"message": packet.receive_reply(form, params, kept, _bytes(question, "body")).hex()}


_OPS: dict[str, Callable[[dict[str, Any], Format, SphinxParams], dict[str, Any]]] = {
    "keys": _keys,
    "create": _create,
    "process": _process,
    "surb": _surb,
    "reply": _reply,
    "receive": _receive,
}


def _path(question: dict[str, Any], params: SphinxParams) -> list[Step]:
    group = params.group.G
    return [Step(_bytes(step, "routing"), EcPt.from_binary(_bytes(step, "public"), group)) for step in question["path"]]


def _bytes(holder: dict[str, Any], name: str) -> bytes:
    return bytes.fromhex(holder[name])
