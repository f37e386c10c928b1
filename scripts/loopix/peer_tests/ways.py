"""The ways that a sender's own packets take."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from petlib.bn import Bn

from peer import files, messages, packet
from peer.files import PARAMS
from peer.messages import FORK_2018, UCL_2017
from peer.packet import LOOPIX, Flag
from peer.paths import Sealed, Sender
from peer_tests.answers import VECTORS


class Ways(unittest.TestCase):
    """Packets of a sender's own, opened hop by hop."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.vector = VECTORS["loopix"]["fork"]
        self.places = {}
        for name, content in self.vector["key_files"].items():
            for file, written in content.items():
                path = Path(folder.name, name, file)
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(bytes.fromhex(written))
            self.places[name] = files.read_public(path.parent, files.role_in(path.parent))
        files.make_database(Path(folder.name, "example.db"), list(self.places.values()))
        self.network = files.read_network(Path(folder.name, "example.db"))

    def sender(self, name: str, profile: messages.Profile = UCL_2017) -> Sender:
        config = files.Config(1, 1, 1, delay_mean=0.5, pull_every=1, max_retrieve=1, noise_len=500, database="", push=False)
        return Sender(profile, config, self.network, self.places[name])

    def follow(self, sealed: Sealed) -> tuple[list[str], list[messages.Command], list[bytes | None], bytes]:
        """Names, the commands read, the kinds in them, and the message."""
        names, read, kinds, datagram = [sealed.first.name], [], [], sealed.datagram
        while True:
            self.assertEqual(len(datagram), 2079)
            secret = Bn.from_hex(self.vector["secrets"][names[-1]])
            done = packet.process(PARAMS, secret, *messages.read_datagram(datagram))
            if done.flag is Flag.DESTINATION:
                receiver, message = packet.receive(LOOPIX, PARAMS, done.mac_key, done.body)
                self.assertTrue(messages.is_for(self.places[names[-1]], receiver))
                return names, read, kinds, message
            read.append(messages.read_command(done.command[1]))
            kinds.append(done.command[1][2])
            names.append(read[-1].name)
            self.assertEqual((read[-1].host, read[-1].port), (self.places[names[-1]].host, self.places[names[-1]].port))
            datagram = messages.write_packet(done.header, done.body)

    def layers(self, names: list[str]) -> list[str]:
        """mix0 for any mix of the first layer, provider for any provider, and so on."""
        places = [self.places[name] for name in names]
        return [place.role + ("" if place.layer is None else str(place.layer)) for place in places]

    def test_loops_go_round_the_network(self) -> None:
        for name, way in {
            "Mix1": ["mix1", "mix2", "provider", "mix0"],
            "Mix3": ["mix2", "provider", "mix0", "mix1"],
            "Mix5": ["provider", "mix0", "mix1", "mix2"],
            "Provider1": ["mix0", "mix1", "mix2", "provider"],
            "Client1": ["provider", "mix0", "mix1", "mix2", "provider", "client"],
        }.items():
            names, read, kinds, message = self.follow(self.sender(name, FORK_2018).loop())
            self.assertEqual(self.layers(names), way)
            self.assertEqual(names[-1], name)
            self.assertEqual((message[:2], len(message), set(kinds)), (b"HT", 502, {b"\x03"}))
            self.assertFalse(any(command.drop for command in read))

    def test_messages_and_drops_go_between_clients(self) -> None:
        for profile, kinds in ((UCL_2017, (None, None)), (FORK_2018, (b"\x01", b"\x02"))):
            sender = self.sender("Client1", profile)
            names, read, said, message = self.follow(sender.real(self.network.users["Client2"], b"hello"))
            self.assertEqual(self.layers(names), ["provider", "mix0", "mix1", "mix2", "provider", "client"])
            self.assertEqual((names[0], names[-2:]), ("Provider1", ["Provider2", "Client2"]))
            self.assertEqual((message, set(said)), (b"hello", {kinds[0]}))
            self.assertFalse(any(command.drop for command in read))
            # Each drawn for itself.
            self.assertEqual(len({command.delay for command in read}), 5)
            _names, read, said, message = self.follow(sender.drop())
            self.assertEqual((len(message), set(said)), (500, {kinds[1]}))
            self.assertEqual([command.drop for command in read], [False, False, False, False, True])

    def test_dummies_go_to_the_client(self) -> None:
        names, read, _kinds, message = self.follow(self.sender("Provider1", FORK_2018).dummy(self.places["Client1"]))
        self.assertEqual((names, read, message[:2], len(message)), (["Client1"], [], b"HD", 502))
