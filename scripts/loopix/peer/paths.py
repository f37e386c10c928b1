"""Chooses ways through the network and seals packets for them."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import NamedTuple

from . import messages, packet
from .files import PARAMS, Config, Network, Place
from .messages import Profile


class Sealed(NamedTuple):
    """A datagram and the node to send it to."""

    first: Place
    datagram: bytes


class Sender:
    """Makes a node's packets. The originals draw from predictable generators; the system's is as compatible."""

    def __init__(self, profile: Profile, config: Config, network: Network, own: Place) -> None:
        self._profile, self._config, self._network, self._own = profile, config, network, own
        self._random = random.SystemRandom()

    def wait(self, mean: float) -> float:
        """Seconds, exponentially distributed; 0 for a mean of 0."""
        return self._random.expovariate(1 / mean) if mean > 0 else 0.0

    def provider(self) -> Place:
        """A client's own."""
        return self._network.providers[self._own.provider]

    def real(self, receiver: Place, message: bytes) -> Sealed:
        """Raises SphinxException if the message is too long."""
        return self._seal(self._between_clients(receiver), "real", message)

    def drop(self) -> Sealed:
        receiver = self._random.choice(list(self._network.users.values()))
        return self._seal(self._between_clients(receiver), "drop", os.urandom(self._config.noise_len), drop=True)

    def loop(self) -> Sealed:
        way = {"client": self._client_loop, "mix": self._mix_loop, "provider": self._provider_loop}[self._own.role]()
        return self._seal(way, "loop", messages.LOOP_PREFIX + os.urandom(self._config.noise_len))

    def dummy(self, client: Place) -> Sealed:
        """A packet of one hop, as the fork's providers send where they have nothing."""
        return self._seal([client], "drop", messages.DUMMY_PREFIX + os.urandom(self._config.noise_len))

    def _client_loop(self) -> list[Place]:
        return self._between_clients(self._own)

    def _between_clients(self, receiver: Place) -> list[Place]:
        receivers_provider = self._network.providers[receiver.provider]
        return [self.provider(), *self._mixes(self._network.layers), receivers_provider, receiver]

    def _mix_loop(self) -> list[Place]:
        """The layers after one's own, a provider, the layers before."""
        # By number, not by place in the list of other mixes: a mix alone in its layer still has one.
        own = [layer[0].layer for layer in self._network.layers].index(self._own.layer)
        provider = self._random.choice(list(self._network.providers.values()))
        after, before = self._network.layers[own + 1 :], self._network.layers[:own]
        return [*self._mixes(after), provider, *self._mixes(before), self._own]

    def _provider_loop(self) -> list[Place]:
        return [*self._mixes(self._network.layers), self._own]

    def _mixes(self, layers: Sequence[Sequence[Place]]) -> list[Place]:
        return [self._random.choice(layer) for layer in layers]

    def _seal(self, way: Sequence[Place], kind: str, message: bytes, drop: bool = False) -> Sealed:
        path = []
        for number, place in enumerate(way, 1):
            last = number == len(way)
            command = messages.command(self._profile, place, kind, self.wait(self._config.delay_mean), drop and last)
            path.append(packet.Step(packet.relay(packet.LOOPIX, command), place.public))
        receiver = messages.destination(way[-1])
        return Sealed(way[0], messages.write_packet(*packet.create(packet.LOOPIX, PARAMS, path, receiver, message)))
