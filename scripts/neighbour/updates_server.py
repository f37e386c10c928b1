#!/usr/bin/env python3
"""A server of aiocoap with so many observable resources, d0, d1 …, for the benchmark.

    .venv-neighbour/bin/python scripts/neighbour/updates_server.py PORT COUNT

It keeps what is put in memory and tells observers, and does nothing else.
"""

import asyncio
import sys

import aiocoap
from aiocoap import resource


class Value(resource.ObservableResource):
    """Keeps what is put there."""

    def __init__(self) -> None:
        super().__init__()
        self.value = b""

    async def render_get(self, request: aiocoap.Message) -> aiocoap.Message:
        return aiocoap.Message(payload=self.value)

    async def render_put(self, request: aiocoap.Message) -> aiocoap.Message:
        self.value = request.payload
        self.updated_state()
        return aiocoap.Message(code=aiocoap.CHANGED)


async def serve(port: int, count: int) -> None:
    site = resource.Site()
    site.add_resource([".well-known", "core"], resource.WKCResource(site.get_resources_as_linkheader))
    for index in range(count):
        site.add_resource([f"d{index}"], Value())
    await aiocoap.Context.create_server_context(site, bind=("127.0.0.1", port), transports=["simplesocketserver"])
    await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2])))
