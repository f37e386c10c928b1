"""Loopix nodes for tests, on PyPI's sphinxmix and petlib.

They are a second opinion on the wire: packets are made and processed by the package that the original nodes used, so what our
nodes and these agree on is what the original network spoke. They are slow, look for no replays and must not carry traffic.

`packet` puts flags and body tags around sphinxmix; `messages` has what is in a datagram; `files` the directory and the keys;
`paths` chooses ways and seals packets; `loop` waits; `node`, `provider` and `client` are what runs; `exchange` speaks JSON
with tests; `load` measures a mix.
"""
