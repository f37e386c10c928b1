#!/usr/bin/env python3
"""aiocoap over TCP and WebSockets on loopback, for whoever asks in JSON lines.

    scripts/setup neighbour_peer
    .venv-neighbour/bin/python scripts/neighbour/stream_peer.py

Questions and answers have the form of peer.py. `ask` sends a request and gives the response, `watch` observes until so many states
have come, `serve` says at which ports a server of its own is: /value keeps what is put there, and tells observers.
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
PATIENCE = 30


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

    def __init__(self) -> None:
        self.context = None

    async def client(self) -> aiocoap.Context:
        if self.context is None:
            self.context = await aiocoap.Context.create_client_context(transports=["tcpclient", "ws"])
        return self.context

    async def ask(self, question: dict) -> dict:
        message = aiocoap.Message(
            code=getattr(aiocoap, question["method"]),
            uri=question["uri"],
            payload=bytes.fromhex(question.get("payload", "")),
        )
        response = await (await self.client()).request(message).response
        return described(response)

    async def watch(self, question: dict) -> dict:
        """Changes the value itself each time that it has come."""
        context = await self.client()
        message = aiocoap.Message(code=aiocoap.GET, uri=question["uri"], observe=0)
        request = context.request(message)
        states = [described(await request.response)]
        async for state in request.observation:
            states.append(described(state))
            if len(states) == question["states"]:
                break
            put = aiocoap.Message(code=aiocoap.PUT, uri=question["uri"], payload=b"%d" % len(states))
            await context.request(put).response
        request.observation.cancel()
        return {"states": states}

    async def serve(self, question: dict) -> dict:
        site = resource.Site()
        site.add_resource(["value"], Value())
        self.server = await aiocoap.Context.create_server_context(
            site, bind=(LOOPBACK, 0), transports=["tcpserver", "ws"]
        )
        tcp, web_socket = (interface.token_interface for interface in self.server.request_interfaces)
        return {
            "tcp": tcp.server.sockets[0].getsockname()[1],
            "ws": web_socket._servers[0].sockets[0].getsockname()[1],
        }

    async def end(self) -> None:
        for context in filter(None, [self.context, getattr(self, "server", None)]):
            await context.shutdown()


def described(response: aiocoap.Message) -> dict:
    return {
        "code": response.code.dotted,
        "payload": response.payload.hex(),
        "format": response.opt.content_format,
    }


async def main() -> None:
    peer = Peer()
    operations = {"ask": peer.ask, "watch": peer.watch, "serve": peer.serve}
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        question = json.loads(line)
        try:
            answer = await asyncio.wait_for(operations[question["op"]](question), PATIENCE)
        except Exception as exception:
            logging.exception("%s", question["op"])
            answer = {"refused": repr(exception)}
        print(json.dumps(answer), flush=True)
    await peer.end()


if __name__ == "__main__":
    asyncio.run(main())
