#!/usr/bin/env python3
"""aiocoap over UDP on loopback, for whoever asks in JSON lines.

    scripts/setup neighbour_peer
    .venv-neighbour/bin/python scripts/neighbour/datagram_peer.py

Questions and answers have the form of peer.py. `ask` sends a request and gives the response. `watch` observes until so many states
have come, then cancels. `serve` says at which port a server of its own is: /value keeps what is put there, and tells observers.

What aiocoap 0.4.17 does that a reader of the tests should know: outside of OSCORE it hands 4.01 with Echo to its user, and does not
ask again.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys

import aiocoap
from aiocoap import resource

LOOPBACK = "127.0.0.1"
# Nobody waits longer for a peer that is on the same machine.
PATIENCE = 60


class Value(resource.ObservableResource):
    """Keeps what is put there."""

    def __init__(self) -> None:
        super().__init__()
        self.value = b"nothing"

    async def render_get(self, request: aiocoap.Message) -> aiocoap.Message:
        return aiocoap.Message(payload=self.value, content_format=0)

    async def render_put(self, request: aiocoap.Message) -> aiocoap.Message:
        self.value = request.payload
        self.updated_state()
        return aiocoap.Message(code=aiocoap.CHANGED)


class Peer:
    """Both sides of aiocoap."""

    async def start(self) -> Peer:
        self.client = await aiocoap.Context.create_client_context(transports=["simple6"])
        self.server = None
        return self

    async def ask(self, question: dict) -> dict:
        payload = bytes.fromhex(question["payload"])
        message = aiocoap.Message(code=getattr(aiocoap, question["method"]), uri=question["uri"], payload=payload)
        if echo := question.get("echo"):
            message.opt.echo = bytes.fromhex(echo)
        return described(await self.client.request(message).response)

    async def watch(self, question: dict) -> dict:
        message = aiocoap.Message(code=aiocoap.GET, uri=question["uri"], observe=0)
        request = self.client.request(message)
        states = [described(await request.response)]
        async for state in request.observation:
            states.append(described(state))
            if len(states) >= question["states"]:
                break
        request.observation.cancel()
        return {"states": states}

    async def serve(self, question: dict) -> dict:
        site = resource.Site()
        site.add_resource(["value"], Value())
        self.server = await aiocoap.Context.create_server_context(
            site, bind=(LOOPBACK, 0), transports=["simplesocketserver"]
        )
        socket = self.server.request_interfaces[0].token_interface.message_interface._pool
        return {"port": socket._transport.get_extra_info("sockname")[1]}

    async def end(self) -> None:
        for context in filter(None, [self.client, self.server]):
            await context.shutdown()


def described(response: aiocoap.Message) -> dict:
    echo = response.opt.echo
    return {
        "code": response.code.dotted,
        "payload": response.payload.hex(),
        "format": response.opt.content_format,
        "echo": echo.hex() if echo else None,
    }


async def main() -> None:
    # What is refused is told in the answer.
    logging.disable()
    # A body of 64 KiB in hexadecimal stands on one line.
    questions = asyncio.StreamReader(limit=1 << 20)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(questions), sys.stdin)
    peer = await Peer().start()
    operations = {"ask": peer.ask, "watch": peer.watch, "serve": peer.serve}
    while line := await questions.readline():
        question = json.loads(line)
        try:
            answer = await asyncio.wait_for(operations[question["op"]](question), PATIENCE)
        except (aiocoap.error.Error, TimeoutError, asyncio.TimeoutError) as refused:
            answer = {"refused": f"{type(refused).__name__}: {refused}"}
        print(json.dumps(answer), flush=True)
    await peer.end()


if __name__ == "__main__":
    asyncio.run(main())
