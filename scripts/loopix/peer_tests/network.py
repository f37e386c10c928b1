"""A network of processes on this machine."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from peer import files, messages, packet
from peer.files import PARAMS, Place
from peer.messages import UCL_2017
from peer.node import Mix
from peer.packet import Flag
from peer_tests.answers import VECTORS
from peer_tests.running import PEER, PATIENCE, Running, free_ports


class Network(unittest.TestCase):
    """Three mixes in as many layers, two providers, two clients."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.ports = dict(zip(("Mix1", "Mix2", "Mix3", "Provider1", "Provider2", "Client1", "Client2"), free_ports(7), strict=True))

    def make(self, push: bool = False) -> None:
        config = files.default_config()
        for section in config.values():
            section |= {key: "0.2" for key in ("EXP_PARAMS_LOOPS", "EXP_PARAMS_DROP", "TIME_PULL") if key in section}
        config["parametersClients"]["EXP_PARAMS_PAYLOAD"] = "0.05"
        config["parametersProviders"] |= {"MAX_RETRIEVE": "6", "PUSH_MESSAGES": push}
        for section in config.values():
            section["DATABASE_NAME"] = "../example.db"
        places = []
        for name, port in self.ports.items():
            role, number = name[:-1].lower(), name[-1]
            layer = int(number) - 1 if role == "mix" else None
            provider = f"Provider{number}" if role == "client" else None
            places.append(files.make_keys(self.root / name, Place(role, name, "127.0.0.1", port, PARAMS.group.g, layer, provider)))
            (self.root / name / "config.json").write_text(json.dumps(config))
        files.make_database(self.root / "example.db", places)

    def start(self, profile: str) -> dict[str, Running]:
        nodes = {}
        for name, port in self.ports.items():
            nodes[name] = Running(self, name[:-1].lower(), str(self.root / name), "--profile", profile)
            self.assertEqual(nodes[name].hear("ready")["port"], port)
        return nodes

    def converse(self, profile: str, push: bool = False) -> dict[str, dict[str, Any]]:
        """Sends both ways; returns the counters of everyone."""
        self.make(push)
        nodes = self.start(profile)
        one, other = nodes["Client1"], nodes["Client2"]
        there = {f"there {number} \u00e4" for number in range(5)}
        back = {f"back {number}" for number in range(5)}
        for line in there:
            one.tell(f"send Client2 {line}")
        for line in back:
            other.tell(f"send Client1 {line}")
        self.assertEqual({other.hear("received")["text"] for _ in there}, there)
        self.assertEqual({one.hear("received")["text"] for _ in back}, back)
        for client in (one, other):
            client.hear("loop")
        one.tell("send Nobody hello")
        self.assertEqual(one.hear("refused")["reason"], "no such user")
        one.tell("send Client2 " + "x" * 1000)
        self.assertEqual(one.hear("refused")["reason"], "too long")
        for strange in (b"", b"\xc1", os.urandom(2079), bytes.fromhex(VECTORS["negative"][0]["wire_cases"][-1]["wire"])):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                for name in self.ports:
                    sender.sendto(strange, ("127.0.0.1", self.ports[name]))
        one.tell("send Client2 last")
        self.assertEqual(other.hear("received")["text"], "last")
        counters = {name: node.stop() for name, node in nodes.items()}
        for name, counted in counters.items():
            # Clients stop last, so their packets find nobody there; the system tells no one.
            self.assertEqual(counted["dropped"], {"malformed": 4}, name)
        self.assertEqual(counters["Client2"]["real_received"], 6)
        self.assertEqual(counters["Client1"]["real_sent"], 6)
        for name in ("Mix1", "Mix2", "Mix3"):
            # Each is alone in its layer, so every message goes by it.
            self.assertGreaterEqual(counters[name]["forwarded"], 11)
        return counters

    def test_ucl_2017(self) -> None:
        counters = self.converse("ucl-2017")
        for of in ("covers_dropped", "stored", "retrieved", "pulled", "dummies_sent", "subscribed"):
            self.assertGreater(counters["Provider1"][of] + counters["Provider2"][of], 0, of)
        self.assertGreater(min(counters[client]["dummies_received"] for client in ("Client1", "Client2")), 0)

    def test_fork_2018(self) -> None:
        counters = self.converse("fork-2018")
        self.assertGreater(counters["Provider1"]["dummies_sent"], 0)
        self.assertGreater(counters["Client1"]["dummies_received"], 0)

    def test_fork_2018_that_pushes(self) -> None:
        counters = self.converse("fork-2018", push=True)
        self.assertGreater(counters["Provider1"]["pushed"], 0)
        self.assertEqual(counters["Provider1"]["stored"], 0)

    def test_a_client_tells_how_long_its_messages_to_itself_take(self) -> None:
        self.make(push=True)
        names = [name for name in self.ports if name != "Client1"]
        others = [Running(self, name[:-1].lower(), str(self.root / name), "--profile", "fork-2018") for name in names]
        for node in others:
            node.hear("ready")
        probing = Running(self, "client", str(self.root / "Client1"), "--profile", "fork-2018", "--probe")
        first, second = probing.hear("probe"), probing.hear("probe")
        self.assertGreater(min(first["took"], second["took"]), 0)
        self.assertNotEqual(first["left"], second["left"])

    def test_costs_are_told(self) -> None:
        words = ["-m", "peer", "cost", "--seconds", "0.01"]
        told = json.loads(subprocess.run([sys.executable, *words], cwd=PEER, check=True, capture_output=True).stdout)
        for of in ("hop", "create"):
            self.assertLessEqual(told[of]["minimum"], told[of]["median"])
            self.assertGreater(told[of]["minimum"], 0)

    def test_packets_wait(self) -> None:
        self.make()
        mix = Mix(self.root / "Mix1", UCL_2017)
        self.addCleanup(mix.close)
        mix.loop.after = mock.Mock()
        mix.send = mock.Mock(return_value=True)
        done = packet.Processed(b"", b"", Flag.RELAY, [], (PARAMS.group.g, b"", b""), b"", b"")
        mix.forward(done, messages.Command("127.0.0.1", 9, False, 0.25, "Mix2"))
        mix.send.assert_not_called()
        ((seconds, go),) = [call.args for call in mix.loop.after.call_args_list]
        self.assertEqual(seconds, 0.25)
        go()
        mix.send.assert_called_once_with(messages.write_packet(done.header, done.body), "127.0.0.1", 9)
        mix.forward(done, messages.Command("127.0.0.1", 9, False, 0.0, "Mix2"))
        self.assertEqual(mix.send.call_count, 2)

    def test_load(self) -> None:
        self.make()
        mix = Running(self, "mix", str(self.root / "Mix1"))
        mix.hear("ready")
        words = ["load", "127.0.0.1", str(self.ports["Mix1"]), "--mix", str(self.root / "Mix1"), "--sink", str(self.root / "Provider1"),
                 "--rate", "100", "--seconds", "1", "--senders", "2", "--pid", str(mix.process.pid)]
        done = subprocess.run([sys.executable, "-m", "peer", *words], cwd=PEER, check=True, text=True, capture_output=True, timeout=PATIENCE)
        told = json.loads(done.stdout)
        self.assertEqual((told["sent"], told["wrong"]), (100, 0))
        self.assertGreater(min(told["checked"], told["received"]), 0)
        self.assertIsNotNone(told["mix_cpu"])
        self.assertGreaterEqual(mix.stop()["forwarded"], told["received"])

    def test_a_node_without_files_says_so(self) -> None:
        done = subprocess.run([sys.executable, "-m", "peer", "mix", str(self.root)], cwd=PEER, text=True, capture_output=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("config.json", done.stderr)
