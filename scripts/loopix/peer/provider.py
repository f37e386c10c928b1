"""The provider: mailboxes, and a relay for everything else."""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import messages
from .files import Place
from .messages import Command, Profile, Subscription
from .node import Relay
from .packet import Processed, Refused


@dataclass
class Mailbox:
    """Where a subscribed client is, and what waits for it."""

    subscription: Subscription
    stored: deque[bytes] = field(default_factory=deque)


class Provider(Relay):
    role = "provider"
    counted = (*Relay.counted, "subscribed", "pulled", "stored", "retrieved", "pushed", "dummies_sent", "covers_dropped")

    def __init__(self, folder: Path, profile: Profile) -> None:
        super().__init__(folder, profile)
        self._mailboxes: dict[str, Mailbox] = {}
        self._pushes = profile.may_push and self.config.push

    def handle(self, message: list[Any]) -> None:
        if messages.says(message, b"SUBSCRIBE"):
            self._subscribe(messages.read_subscribe(self.profile, message))
        elif messages.says(message, b"PULL"):
            self._answer_pull(messages.read_pull(message))
        else:
            super().handle(message)

    def relay(self, processed: Processed, to: Command) -> None:
        if to.drop:
            self.counters["covers_dropped"] += 1
        elif (mailbox := self._mailboxes.get(to.name)) is None:
            self.forward(processed, to)
        elif self._pushes:
            # To the address in the command and not the subscribed one, and without the delay.
            self.send(messages.write_packet(processed.header, processed.body), to.host, to.port)
            self.counters["pushed"] += 1
        else:
            mailbox.stored.append(messages.write_packet(processed.header, processed.body))
            self.counters["stored"] += 1

    def _subscribe(self, said: Subscription) -> None:
        """Anyone may move a mailbox: that is the protocol."""
        self._mailboxes.setdefault(said.name, Mailbox(said)).subscription = said
        self.counters["subscribed"] += 1

    def _answer_pull(self, name: str) -> None:
        mailbox = self._mailboxes.get(name)
        if mailbox is None:
            raise Refused("unknown_client")
        self.counters["pulled"] += 1
        to = mailbox.subscription
        for _ in range(self.config.max_retrieve):
            if mailbox.stored:
                datagram = mailbox.stored.popleft()
                self.counters["retrieved"] += 1
            else:
                datagram = self._dummy(to)
                self.counters["dummies_sent"] += 1
            self.send(datagram, to.host, to.port)

    def _dummy(self, to: Subscription) -> bytes:
        if not self.profile.sphinx_dummies:
            return messages.plain_dummy(os.urandom)
        client = Place("client", to.name, to.host, to.port, to.public, origin="own file")
        return self.sender.dummy(client).datagram
