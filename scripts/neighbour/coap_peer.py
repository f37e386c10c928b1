#!/usr/bin/env python3
"""EDHOC and OSCORE of aiocoap over CoAP on loopback, for whoever asks in JSON lines.

    scripts/setup neighbour_peer
    .venv-neighbour/bin/python scripts/neighbour/coap_peer.py

Questions and answers have the form of peer.py. A server is at work between questions: `serve` says where. Its one resource,
/turned, gives what is posted to it back in reverse, and only under OSCORE.

What aiocoap 0.4.17 does that a reader of the tests should know:

- Each EDHOC handshake that a server began takes one of 48 connection identifiers and never gives it back. `serve` begins anew.
- A client looks for the context of an earlier handshake in the wrong object, so each request makes a handshake of its own.
- A point that is not on the curve is a panic of lakers, which Python has as an exception that is no Exception. aiocoap's tasks
  end by it without an answer. Here it becomes an error like any other.
- Credentials are encoded anew before they go into a MAC, in the canonical order of their keys.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys

import aiocoap
import cbor2
from aiocoap import error, resource
from aiocoap.credentials import CredentialsMap
from aiocoap.edhoc import EdhocCredentials
from aiocoap.oscore_sitewrapper import OscoreSiteWrapper
from aiocoap.transports.oscore import OSCOREAddress

LOOPBACK = "127.0.0.1"
SUITE, STATIC_KEYS = 2, 3


def is_panic(exception: BaseException) -> bool:
    """Whether Rust code below Python panicked; the type cannot be imported."""
    return type(exception).__name__ == "PanicException"


class Turned(resource.Resource):
    """Gives back in reverse what was posted to it under OSCORE."""

    async def render_post(self, request: aiocoap.Message) -> aiocoap.Message:
        if not isinstance(request.remote, OSCOREAddress):
            raise error.Unauthorized
        return aiocoap.Message(code=aiocoap.CHANGED, payload=request.payload[::-1])


class Site(OscoreSiteWrapper):
    """aiocoap's own, which answers after a panic too."""

    async def render_to_pipe(self, pipe) -> None:
        try:
            await super().render_to_pipe(pipe)
        except BaseException as exception:
            if is_panic(exception):
                raise error.InternalServerError("panic") from exception
            raise


class Credentials(EdhocCredentials):
    """aiocoap's own, which tells of a panic."""

    async def establish_context(self, *args, **kwargs):
        try:
            return await super().establish_context(*args, **kwargs)
        except BaseException as exception:
            if is_panic(exception):
                raise ValueError("panic") from exception
            raise


def credentials(key: bytes, own: bytes, peer: bytes, by_value: bool, combined: bool | None = None) -> Credentials:
    return Credentials(
        SUITE,
        STATIC_KEYS,
        own_cred_style="by-value" if by_value else "by-key-id",
        own_cred={14: cbor2.loads(own)},
        private_key={1: 2, -1: 1, -4: key},
        peer_cred={14: cbor2.loads(peer)},
        use_combined_edhoc=combined,
    )


class Peer:
    """A server and a client."""

    async def start(self) -> Peer:
        inner = resource.Site()
        inner.add_resource(["turned"], Turned())
        self.site = Site(inner, CredentialsMap())
        transports = ["simplesocketserver"]
        server = await aiocoap.Context.create_server_context(self.site, bind=(LOOPBACK, 0), transports=transports)
        # No public name leads to the port that the system chose.
        socket = server.request_interfaces[0].token_interface.message_interface._pool
        self.server, self.name = server, socket.hostinfo_local
        self.port = socket._transport.get_extra_info("sockname")[1]
        self.client = await aiocoap.Context.create_client_context(transports=["oscore", "simple6"])
        return self

    async def serve(self, key: bytes, own: bytes, peer: bytes, by_value: bool) -> dict:
        """Answers handshakes of this peer, and forgets those before."""
        known = CredentialsMap()
        known[f"coap://{self.name}/*"] = credentials(key, own, peer, by_value)
        self.site.server_credentials = known
        return {"port": self.port}

    async def request(
        self, port: int, payload: bytes, key: bytes, own: bytes, peer: bytes, by_value: bool, combined: bool
    ) -> dict:
        """Posts to /turned of this peer, after a handshake."""
        address = f"coap://{LOOPBACK}:{port}"
        self.client.client_credentials = CredentialsMap()
        self.client.client_credentials[f"{address}/*"] = credentials(key, own, peer, by_value, combined)
        message = aiocoap.Message(code=aiocoap.POST, uri=f"{address}/turned", payload=payload)
        response = await self.client.request(message).response_raising
        if not isinstance(response.remote, OSCOREAddress):
            raise error.Error("a response without protection")
        return {"payload": response.payload}

    async def end(self) -> None:
        await self.client.shutdown()
        await self.server.shutdown()


async def main() -> None:
    # What is refused is told in the answer.
    logging.disable()
    questions = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(questions), sys.stdin)
    peer = await Peer().start()
    operations = {operation.__name__: operation for operation in (peer.serve, peer.request)}
    while line := await questions.readline():
        question = {
            name: bytes.fromhex(value) if isinstance(value, str) and name != "op" else value
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
