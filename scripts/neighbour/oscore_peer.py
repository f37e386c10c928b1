#!/usr/bin/env python3
"""OSCORE of aiocoap on loopback, with preshared contexts and with EDHOC, for whoever asks in JSON lines.

    scripts/setup neighbour_peer
    .venv-neighbour/bin/python scripts/neighbour/oscore_peer.py

Questions and answers have the form of peer.py. The server has one resource, /value, under OSCORE alone: GET and observation give
what was PUT there last. coap_peer.py says what is to be known about aiocoap.

A preshared context is a folder in the form of aiocoap's FilesystemSecurityContext, which one process uses at a time.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import sys

import aiocoap
import cbor2
from aiocoap import error, oscore, resource
from aiocoap.credentials import CredentialsMap
from aiocoap.transports.oscore import OSCOREAddress
from coap_peer import LOOPBACK, Site, credentials


class Value(resource.ObservableResource):
    """What was put there last, for whoever asks under OSCORE."""

    def __init__(self) -> None:
        super().__init__()
        self.value = b"nothing yet"

    def set(self, value: bytes) -> None:
        self.value = value
        self.updated_state()

    async def render_get(self, request: aiocoap.Message) -> aiocoap.Message:
        self.check(request)
        return aiocoap.Message(code=aiocoap.CONTENT, payload=self.value)

    async def render_put(self, request: aiocoap.Message) -> aiocoap.Message:
        self.check(request)
        self.set(request.payload)
        return aiocoap.Message(code=aiocoap.CHANGED)

    @staticmethod
    def check(request: aiocoap.Message) -> None:
        if not isinstance(request.remote, OSCOREAddress):
            raise error.Unauthorized


class Derived(oscore.CanProtect, oscore.CanUnprotect, oscore.SecurityContextUtils):
    """A context of what both sides were given, under an ID Context of its own."""

    def __init__(self, id_context: bytes, secret: bytes, salt: bytes, sender: bytes, recipient: bytes) -> None:
        self.alg_aead = oscore.algorithms[oscore.DEFAULT_ALGORITHM]
        self.hashfun = oscore.hashfunctions[oscore.DEFAULT_HASHFUNCTION]
        self.id_context, self.sender_id, self.recipient_id = id_context, sender, recipient
        self.derive_keys(salt, secret)
        self.sender_sequence_number = 0
        self.recipient_replay_window = oscore.ReplayWindow(32, lambda: None)
        self.recipient_replay_window.initialize_empty()

    def post_seqnoincrease(self) -> None:
        """Nothing is kept: the context ends with the process."""


class Peer:
    """A server and a client."""

    async def start(self) -> Peer:
        inner = resource.Site()
        self.value = Value()
        inner.add_resource(["value"], self.value)
        self.site = Site(inner, CredentialsMap())
        transports = ["simplesocketserver"]
        server = await aiocoap.Context.create_server_context(self.site, bind=(LOOPBACK, 0), transports=transports)
        # No public name leads to the port that the system chose.
        socket = server.request_interfaces[0].token_interface.message_interface._pool
        self.server, self.name = server, socket.hostinfo_local
        self.port = socket._transport.get_extra_info("sockname")[1]
        self.client = await aiocoap.Context.create_client_context(transports=["oscore", "simple6"])
        self.observation = None
        return self

    async def serve(self, folder: str | None = None, **keys) -> dict:
        """Answers under one context, or whoever makes one by EDHOC."""
        known = CredentialsMap()
        if folder is None:
            known[f"coap://{self.name}/*"] = credentials(**keys)
        else:
            known[":door"] = oscore.FilesystemSecurityContext(folder)
        self.site.server_credentials = known
        return {"port": self.port}

    async def introduce(self, port: int, folder: str | None = None, **keys) -> dict:
        """Who the client is towards a port."""
        self.base = f"coap://{LOOPBACK}:{port}"
        known = CredentialsMap()
        known[f"{self.base}/*"] = credentials(**keys) if folder is None else oscore.FilesystemSecurityContext(folder)
        self.client.client_credentials = known
        return {}

    async def set(self, payload: bytes) -> dict:
        """A new value, of which those who observe are told."""
        self.value.set(payload)
        return {}

    def message(self, **fields) -> aiocoap.Message:
        return aiocoap.Message(uri=f"{self.base}/value", **fields)

    async def get(self) -> dict:
        return self.told(await self.client.request(self.message(code=aiocoap.GET)).response)

    async def put(self, payload: bytes) -> dict:
        return self.told(await self.client.request(self.message(code=aiocoap.PUT, payload=payload)).response)

    async def renew(self, port: int, payload: bytes, **given) -> dict:
        """A client that has lost its context (RFC 8613, appendix B.2): two exchanges, then further requests."""
        self.base = f"coap://{LOOPBACK}:{port}"
        first, last = secrets.token_bytes(8), secrets.token_bytes(8)
        response, request = await self.under(Derived(first, **given), b"lost", cbor2.dumps(first))
        name = oscore.verify_start(response)[oscore.COSE_KID_CONTEXT]
        second = cbor2.loads(name)
        context = Derived(second + first, **given)
        # aiocoap wants the name of a response's context to be its ID Context.
        context.id_context = name
        refused, _ = context.unprotect(response, request)
        codes = [int(refused.code)]
        new = Derived(second + last, **given)
        # Named in CBOR, as it stands, and not at all.
        for name in (cbor2.dumps(second + last), second + last, False):
            response, request = await self.under(new, payload, name)
            answer, _ = new.unprotect(response, request)
            codes.append(int(answer.code))
        return {"codes": codes}

    async def under(self, context: Derived, payload: bytes, kid_context: bytes | bool) -> tuple:
        message = self.message(code=aiocoap.PUT, payload=payload)
        protected, request = context.protect(message, kid_context=kid_context)
        protected.set_request_uri(self.base, set_uri_host=False)
        return await self.client.request(protected).response, request

    async def observe(self) -> dict:
        self.observation = self.client.request(self.message(code=aiocoap.GET, observe=0))
        told = self.told(await self.observation.response)
        self.notifications = aiter(self.observation.observation)
        return told

    async def notified(self) -> dict:
        return self.told(await anext(self.notifications))

    @staticmethod
    def told(response: aiocoap.Message) -> dict:
        return {
            "code": int(response.code),
            "payload": response.payload,
            "is_protected": isinstance(response.remote, OSCOREAddress),
        }

    async def end(self) -> None:
        if self.observation is not None:
            self.observation.observation.cancel()
        await self.client.shutdown()
        await self.server.shutdown()


async def main() -> None:
    # What is refused is told in the answer.
    logging.disable()
    questions = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(questions), sys.stdin)
    peer = await Peer().start()
    names = ["serve", "introduce", "set", "get", "put", "renew", "observe", "notified"]
    operations = {name: getattr(peer, name) for name in names}
    while line := await questions.readline():
        question = {
            name: bytes.fromhex(value) if isinstance(value, str) and name not in ("op", "folder") else value
            for name, value in json.loads(line).items()
        }
        try:
            answer = await operations[question.pop("op")](**question)
        # A ValueError is lakers', any other one aiocoap's.
        except (ValueError, error.Error) as refused:
            answer = {"refused": f"{type(refused).__name__}: {refused}"}
        print(json.dumps({k: v.hex() if isinstance(v, bytes) else v for k, v in answer.items()}), flush=True)
    await peer.end()


if __name__ == "__main__":
    asyncio.run(main())
