#!/usr/bin/env python3
"""A device of aiocoap beside a broker on loopback, for whoever asks in JSON lines.

    scripts/setup neighbour_peer
    .venv-neighbour/bin/python scripts/neighbour/device_peer.py

Questions and answers have the form of peer.py. `introduce` says who the device is, and that it speaks OSCORE from then on; `ask`
sends a request and gives the response; `observe` and `notified` give states. `serve` says at which port the device has links of its
own in /.well-known/core; what it asks by `from_here` comes from that port. coap_peer.py says what is to be known about aiocoap.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys

import aiocoap
from aiocoap import error, oscore, resource
from aiocoap.credentials import CredentialsMap
from aiocoap.transports.oscore import OSCOREAddress
from coap_peer import credentials

LOOPBACK = "::1"
# Nobody waits longer for a peer that is on the same machine.
PATIENCE = 60


class Links(resource.Resource):
    """What /.well-known/core of the device says, and how often it was asked."""

    def __init__(self, links: bytes) -> None:
        super().__init__()
        self.links, self.asked = links, 0

    async def render_get(self, request: aiocoap.Message) -> aiocoap.Message:
        self.asked += 1
        return aiocoap.Message(payload=self.links, content_format=40)


class Peer:
    """A device: it asks a broker, and is asked by it."""

    async def start(self) -> Peer:
        self.client = await aiocoap.Context.create_client_context(transports=["oscore", "simple6"])
        self.server = self.observation = self.links = self.shared = None
        return self

    async def introduce(self, question: dict) -> dict:
        known = CredentialsMap()
        known[f"{question['base']}/*"] = self.security(question)
        self.client.client_credentials = known
        return {}

    def security(self, question: dict):
        """A context that both were given, which goes on where it was, or who makes one by EDHOC."""
        if folder := question.get("folder"):
            if self.shared is None:
                self.shared = oscore.FilesystemSecurityContext(folder)
            return self.shared
        return credentials(*(bytes.fromhex(question[name]) for name in ("key", "own", "peer")), by_value=True)

    @staticmethod
    def message(question: dict) -> aiocoap.Message:
        payload = bytes.fromhex(question.get("payload", ""))
        message = aiocoap.Message(code=getattr(aiocoap, question["method"]), uri=question["uri"], payload=payload)
        if (content_format := question.get("format")) is not None:
            message.opt.content_format = content_format
        if echo := question.get("echo"):
            message.opt.echo = bytes.fromhex(echo)
        return message

    async def ask(self, question: dict) -> dict:
        context = self.server if question.get("from_here") else self.client
        return described(await context.request(self.message(question)).response)

    async def observe(self, question: dict) -> dict:
        message = self.message(question)
        message.opt.observe = 0
        self.observation = self.client.request(message)
        told = described(await self.observation.response)
        self.notifications = aiter(self.observation.observation)
        return told

    async def notified(self, _: dict) -> dict:
        return described(await anext(self.notifications))

    async def serve(self, question: dict) -> dict:
        site = resource.Site()
        self.links = Links(bytes.fromhex(question["links"]))
        site.add_resource([".well-known", "core"], self.links)
        self.server = await aiocoap.Context.create_server_context(site, bind=(LOOPBACK, 0), transports=["udp6"])
        # No public name leads to the port that the system chose.
        socket = self.server.request_interfaces[0].token_interface.message_interface.transport
        return {"port": socket.get_extra_info("socket").getsockname()[1]}

    async def asked(self, _: dict) -> dict:
        return {"times": self.links.asked}

    async def end(self) -> None:
        if self.observation is not None:
            self.observation.observation.cancel()
        for context in filter(None, [self.client, self.server]):
            await context.shutdown()


def described(response: aiocoap.Message) -> dict:
    echo = response.opt.echo
    return {
        "code": response.code.dotted,
        "payload": response.payload.hex(),
        "path": "/".join(response.opt.location_path),
        "echo": echo.hex() if echo else None,
        "is_protected": isinstance(response.remote, OSCOREAddress),
    }


async def main() -> None:
    # What is refused is told in the answer.
    logging.disable()
    questions = asyncio.StreamReader(limit=1 << 20)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(questions), sys.stdin)
    peer = await Peer().start()
    names = ["introduce", "ask", "observe", "notified", "serve", "asked"]
    operations = {name: getattr(peer, name) for name in names}
    while line := await questions.readline():
        question = json.loads(line)
        try:
            answer = await asyncio.wait_for(operations[question["op"]](question), PATIENCE)
        # A ValueError is lakers', any other one aiocoap's.
        except (ValueError, error.Error, TimeoutError) as refused:
            answer = {"refused": f"{type(refused).__name__}: {refused}"}
        print(json.dumps(answer), flush=True)
    await peer.end()


if __name__ == "__main__":
    asyncio.run(main())
