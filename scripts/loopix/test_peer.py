#!/usr/bin/env python3
"""The peer against the known answers, against itself, and as a network of processes on this machine.

    scripts/setup loopix_peer
    .venv-loopix/bin/python scripts/loopix/test_peer.py
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from unittest import mock

from petlib.bn import Bn
from petlib.ec import EcPt
from petlib.pack import decode, encode
from sphinxmix import SphinxException
from sphinxmix.SphinxParams import SphinxParams

from peer import exchange, files, messages, packet
from peer.files import PARAMS, Place
from peer.messages import FORK_2018, UCL_2017
from peer.node import Mix
from peer.packet import LOOPIX, Flag, Format, Refused, Step
from peer.paths import Sealed, Sender

HERE = Path(__file__).resolve().parent
VECTORS = json.loads((HERE.parents[1] / "vectors" / "sphinxmix.json").read_text())
FORMATS = [Format(flags, tag) for flags in ("bin", "str") for tag in ("zero", "hmac")]
# For a machine that does much else; nothing asserts that anything is quick.
PATIENCE = 120.0


def point(written: str) -> EcPt:
    return EcPt.from_binary(bytes.fromhex(written), PARAMS.group.G)


def params_of(vector: dict[str, Any]) -> SphinxParams:
    wanted = vector["params"]
    return SphinxParams(header_len=wanted["header_len"], body_len=wanted["body_len"], assoc_len=wanted.get("assoc_len", 0))


def format_of(vector: dict[str, Any]) -> Format:
    env = vector["env"]
    return Format("str" if env.startswith("py3") else "bin", "zero" if env.endswith("0.0.6") else "hmac")


def drawing(params: SphinxParams, x: str, *drawn: str) -> ExitStack:
    """Lets the package and the peer draw these instead of randomness; each must be drawn, in order and in full length."""
    left = [bytes.fromhex(value) for value in drawn]

    def urandom(length: int) -> bytes:
        value = left.pop(0)
        assert len(value) == length, (len(value), length)
        return value

    stack = ExitStack()
    stack.enter_context(mock.patch("sphinxmix.SphinxClient.urandom", urandom))
    stack.enter_context(mock.patch("peer.packet.urandom", urandom))
    stack.enter_context(mock.patch.object(params.group, "gensecret", lambda: Bn.from_hex(x)))
    stack.callback(lambda: left and (_ for _ in ()).throw(AssertionError(f"{len(left)} values were not drawn")))
    return stack


class KnownAnswers(unittest.TestCase):
    def test_packets(self) -> None:
        for vector in VECTORS["packets"]:
            with self.subTest(vector["id"]):
                form, params = format_of(vector), params_of(vector)
                path = [Step(bytes.fromhex(node["nenc"]), point(node["public"])) for node in vector["nodes"]]
                assoc = None if vector["assoc"] is None else [bytes.fromhex(data) for data in vector["assoc"]]
                destination, message = decode(bytes.fromhex(vector["dest_packed"])), bytes.fromhex(vector["message"])
                with drawing(params, vector["rng"]["x"], vector["rng"]["beta_pad"]):
                    header, body = packet.create(form, params, path, destination, message, assoc)
                self.assertEqual([header[0].export().hex(), header[1].hex(), header[2].hex(), body.hex()],
                                 [vector[name] for name in ("alpha", "beta", "gamma", "body")])
                wire = messages.write_packet(header, body)
                self.assertEqual(hashlib.sha256(wire).hexdigest(), vector["wire_sha256"])
                for number, (node, hop) in enumerate(zip(vector["nodes"], vector["hops"], strict=True)):
                    said = b"" if assoc is None else assoc[number]
                    done = packet.process(params, Bn.from_hex(node["secret"]), header, body, said)
                    self.assertEqual((done.replay_tag.hex(), done.routing.hex()), (hop["tag"], hop["routing"]))
                    self.assertEqual(done.body.hex(), hop["body"])
                    header, body = done.header, done.body
                self.assertIs(done.flag, Flag.DESTINATION)
                self.assertEqual(encode(packet.receive(form, params, done.mac_key, body)).hex(), vector["payload"])
                other = Format(form.flags, "hmac" if form.body_tag == "zero" else "zero")
                with self.assertRaisesRegex(Refused, "bad_body_tag"):
                    packet.receive(other, params, done.mac_key, body)

    def test_surbs(self) -> None:
        for vector in VECTORS["surbs"]:
            with self.subTest(vector["id"]):
                form, params, rng = format_of(vector), params_of(vector), vector["rng"]
                path = [Step(bytes.fromhex(node["nenc"]), point(node["public"])) for node in vector["nodes"]]
                destination = decode(bytes.fromhex(vector["dest_packed"]))
                with drawing(params, rng["x"], rng["xid"], rng["beta_pad"], rng["ktilde"]):
                    surb_id, kept, surb = packet.create_surb(form, params, path, destination)
                self.assertEqual((surb_id.hex(), [key.hex() for key in kept]), (vector["surb_id"], vector["keytuple"]))
                self.assertEqual(hashlib.sha256(encode(tuple(surb))).hexdigest(), vector["nymtuple_packed_sha256"])
                header, body = packet.reply(form, params, surb, bytes.fromhex(vector["message"]))
                self.assertEqual(body.hex(), vector["reply_body"])
                for node, hop in zip(vector["nodes"], vector["hops"], strict=True):
                    done = packet.process(params, Bn.from_hex(node["secret"]), header, body)
                    self.assertEqual((done.replay_tag.hex(), done.routing.hex(), done.body.hex()),
                                     (hop["tag"], hop["routing"], hop["body"]))
                    header, body = done.header, done.body
                self.assertEqual((done.flag, encode(done.command).hex()), (Flag.SURB, vector["final_routing"]))
                self.assertEqual(packet.receive_reply(form, params, kept, body).hex(), vector["message"])
                with self.assertRaisesRegex(Refused, "bad_body_tag"):
                    packet.receive_reply(form, params, kept, body[:-1] + bytes([body[-1] ^ 1]))

    def test_too_much_is_refused(self) -> None:
        params = SphinxParams(header_len=192, body_len=1024)
        secret = params.group.gensecret()
        for form in FORMATS:
            step = Step(packet.relay(form, b"A"), params.group.expon_base([secret]))
            longest = params.m - params.k - 1 - len(encode([b"bob", bytes(900)])) + 900
            packet.create(form, params, [step], b"bob", bytes(longest))
            with self.assertRaisesRegex(SphinxException, "body"):
                packet.create(form, params, [step], b"bob", bytes(longest + 1))
            with self.assertRaisesRegex(SphinxException, "routing info"):
                packet.create(form, params, [step] * 8, b"bob", b"")

    def test_loopix_packets(self) -> None:
        """Commands, destinations and whole datagrams are those that the unmodified sources made, and so is each on the way."""
        for name, profile in (("ucl", UCL_2017), ("fork", FORK_2018)):
            network = VECTORS["loopix"][name]
            for vector in network["packets"]:
                with self.subTest(vector["id"]):
                    self._rebuild(network, profile, vector)
                    self._follow(network, vector)

    def _rebuild(self, network: dict[str, Any], profile: messages.Profile, vector: dict[str, Any]) -> None:
        what = vector["id"].rpartition("/")[2]
        kind = next((kind for kind in ("drop", "loop") if kind in what), "real")
        places = [self._place(network, name, vector) for name in vector["path"]]
        read = [hop["routing_tree"]["arr"] for hop in vector["hops"][:-1]]
        # A drop ends before its last hop, whose command is the last that anyone reads.
        read += [vector["hops"][-1]["routing_tree"]["arr"]] if vector.get("dropped_at") else []
        path = [Step(b"not sent", places[0].public)]
        for place, tree in zip(places[1:], read, strict=True):
            drop, delay = tree[1]["arr"][1]["bool"], tree[1]["arr"][3]["float"]
            path.append(Step(packet.relay(LOOPIX, messages.command(profile, place, kind, delay, drop)), place.public))
        hops = vector["hops"]
        self.assertEqual([step.routing.hex() for step in path[1:]], [hop["routing"] for hop in hops[: len(path) - 1]])
        if "payload" in vector:
            _destination, message = decode(bytes.fromhex(vector["payload"]))
            with drawing(PARAMS, vector["rng"]["x"], vector["rng"]["beta_pad"]):
                made = packet.create(LOOPIX, PARAMS, path, messages.destination(places[-1]), message)
            self.assertEqual(messages.write_packet(*made).hex(), vector["wire"])

    def _place(self, network: dict[str, Any], name: str, vector: dict[str, Any]) -> Place:
        tables = {"Mixnodes": "mix", "Providers": "provider", "Users": "client"}
        for table, role in tables.items():
            for row in network["db_rows"][table]:
                if row[1] == name:
                    # A loop comes back to its sender, and a dummy goes where SUBSCRIBE said: both are bin.
                    is_end = name == vector["path"][-1] and vector["path"].count(name) == 1
                    own = is_end and (name == vector["sender"] or "dummy" in vector["id"])
                    key = decode(bytes.fromhex(row[4]["blob"]))
                    return Place(role, name, row[3], row[2], key, origin="own file" if own else "directory")
        raise KeyError(name)

    def _follow(self, network: dict[str, Any], vector: dict[str, Any]) -> None:
        datagram = bytes.fromhex(vector["wire"])
        self.assertEqual(len(datagram), 2079)
        for hop in vector["hops"]:
            done = packet.process(PARAMS, Bn.from_hex(network["secrets"][hop["node"]]), *messages.read_datagram(datagram))
            self.assertEqual((done.replay_tag.hex(), done.routing.hex()), (hop["tag"], hop["routing"]))
            datagram = messages.write_packet(done.header, done.body)
            if hop.get("out_sha256"):
                self.assertEqual(hashlib.sha256(datagram).hexdigest(), hop["out_sha256"])
        if "payload" in vector:
            self.assertEqual(encode(packet.receive(LOOPIX, PARAMS, done.mac_key, done.body)).hex(), vector["payload"])
        else:
            self.assertTrue(messages.read_command(done.command[1]).drop)

    def test_negative(self) -> None:
        for group in VECTORS["negative"]:
            base = group["base"]
            form, params = format_of(base), params_of(base)
            secrets = [Bn.from_hex(secret) for secret in base["node_secrets"]]
            for case in group["cases"]:
                with self.subTest(base["env"], case=case["case"]):
                    fields = {name: case.get(name) or base[name] for name in ("alpha", "beta", "gamma", "body")}
                    alpha, beta, gamma, body = (bytes.fromhex(value) for value in fields.values())
                    self._meets(case["result"], form, params, secrets, (point(alpha.hex()), beta, gamma), body)
            for case in group["wire_cases"]:
                with self.subTest(base["env"], wire_case=case["case"]):
                    verdict = "accepted"
                    try:
                        message = messages.read_datagram(bytes.fromhex(case["wire"]))
                        if len(message) != 2:
                            raise Refused("malformed")
                        packet.process(params, secrets[0], *message)
                    except Refused:
                        verdict = "refused"
                    self.assertEqual(verdict, "accepted" if case["reference_result"] == "accepted" else "refused")

    def _meets(self, verdict: dict[str, Any], form: Format, params: SphinxParams, secrets: list[Bn], header: Any, body: bytes) -> None:
        stage, error, hop = "process", False, 0
        try:
            for hop, secret in enumerate(secrets):
                done = packet.process(params, secret, header, body)
                header, body = done.header, done.body
                if done.flag is Flag.DESTINATION:
                    break
            stage = "receive_forward"
            packet.receive(form, params, done.mac_key, body)
            stage = "delivered"
        except Refused:
            error = True
        self.assertEqual((stage, error), (verdict["stage"], verdict["error"] is not None))
        if "hop" in verdict:
            self.assertEqual(hop, verdict["hop"])

    def test_points_are_packed_as_by_the_originals(self) -> None:
        """Fails if another msgpack came into the environment."""
        packed = [case["packed"] for case in VECTORS["petlib_pack"]["py3"] if '"raw"' not in json.dumps(case["tree"])]
        self.assertGreater(len(packed), 40)
        for written in packed:
            self.assertEqual(encode(decode(bytes.fromhex(written))).hex(), written)

    def test_control_messages(self) -> None:
        for name, profile in (("ucl", UCL_2017), ("fork", FORK_2018)):
            network = VECTORS["loopix"][name]
            wires = {control["id"].rpartition("/")[2]: control["wire"] for control in network["control"]}
            client = Place("client", "Client1", "127.0.0.1", 32000, point(network["publics"]["Client1"]), origin="own file")
            self.assertEqual(messages.subscribe(profile, client).hex(), wires["subscribe"])
            self.assertEqual(messages.pull("Client1").hex(), wires["pull"])
            said = messages.read_subscribe(profile, messages.read_datagram(bytes.fromhex(wires["subscribe"])))
            self.assertEqual((said.name, said.host, said.port), ("Client1", "127.0.0.1", 32000))
            self.assertEqual(messages.read_pull(messages.read_datagram(bytes.fromhex(wires["pull"]))), "Client1")
            other = FORK_2018 if profile is UCL_2017 else UCL_2017
            with self.assertRaisesRegex(Refused, "bad_control"):
                messages.read_subscribe(other, messages.read_datagram(bytes.fromhex(wires["subscribe"])))
        _word, first, second = decode(bytes.fromhex(VECTORS["loopix"]["ucl"]["control"][2]["wire"]))
        noise = iter([first, second])
        dummy = messages.plain_dummy(lambda _length: next(noise))
        self.assertEqual(dummy.hex(), VECTORS["loopix"]["ucl"]["control"][2]["wire"])

    def test_commands_that_are_no_commands(self) -> None:
        good = [["127.0.0.1", 1], False, None, 0.5, b"name"]
        self.assertEqual(messages.read_command(good), ("127.0.0.1", 1, False, 0.5, "name"))
        for bad in (None, [], [["h", 1], False, None, 0.5], [["h", 0], *good[1:]], [["h", "1"], *good[1:]], [["h", 1, 2], *good[1:]],
                    [[b"\xff", 1], *good[1:]], [*good[:4], 5]):
            with self.assertRaisesRegex(Refused, "bad_routing"):
                messages.read_command(bad)
        for delay in (-0.1, float("nan"), float("inf"), None, "1", True):
            with self.assertRaisesRegex(Refused, "bad_delay"):
                messages.read_command([*good[:3], delay, good[4]])


class Files(unittest.TestCase):
    def test_key_files_and_directory_are_those_of_the_originals(self) -> None:
        for network in VECTORS["loopix"].values():
            with tempfile.TemporaryDirectory() as folder:
                self._check(network, Path(folder))

    def _check(self, network: dict[str, Any], root: Path) -> None:
        places = []
        for name, expected in network["key_files"].items():
            given, made = root / "given" / name, root / "made" / name
            given.mkdir(parents=True)
            for file, content in expected.items():
                (given / file).write_bytes(bytes.fromhex(content))
            role = files.role_in(given)
            place, secret = files.read_public(given, role), files.read_secret(given, role)
            self.assertEqual(place.public, point(network["publics"][name]))
            files.make_keys(made, place, secret)
            for file, content in expected.items():
                self.assertEqual((made / file).read_bytes().hex(), content)
            places.append(place)
        path = root / "example.db"
        files.make_database(path, places)
        with closing(sqlite3.connect(path)) as database:
            for table, rows in network["db_rows"].items():
                stored = [list(row[1:]) for row in database.execute(f"SELECT * FROM {table}")]
                given = [[bytes.fromhex(item["blob"]) if isinstance(item, dict) else item for item in row[1:]] for row in rows]
                self.assertEqual(stored, given)
        read = files.read_network(path)
        self.assertEqual([[mix.name for mix in layer] for layer in read.layers], [["Mix1", "Mix2"], ["Mix3", "Mix4"], ["Mix5", "Mix6"]])
        self.assertEqual((list(read.providers), read.users["Client2"].provider), (["Provider1", "Provider2"], "Provider2"))

    def test_what_is_wrong_is_said(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            files.make_keys(folder, Place("mix", "Mix1", "127.0.0.1", 1, PARAMS.group.g, layer=0))
            config = files.default_config()
            config["parametersMixnodes"]["EXP_PARAMS_LOOPS"] = "0"
            (folder / "config.json").write_text(json.dumps(config))
            with self.assertRaisesRegex(files.BadFiles, "mean of 0"):
                files.read_config(folder, "mix")
            (folder / "publicMixnode.bin").write_bytes(b"\xc1")
            for read in (lambda: files.read_public(folder, "mix"), lambda: files.read_network(folder / "none.db"),
                         lambda: files.read_secret(folder, "client")):
                with self.assertRaises(files.BadFiles):
                    read()


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


class Exchange(unittest.TestCase):
    def setUp(self) -> None:
        self.process = subprocess.Popen([sys.executable, "-m", "peer", "exchange"], cwd=HERE, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.process.stdout.close)
        self.addCleanup(self.process.wait, PATIENCE)
        self.addCleanup(self.process.stdin.close)

    def ask(self, op: str, **more: Any) -> dict[str, Any]:
        print(json.dumps({"op": op, "id": op, **more}), file=self.process.stdin, flush=True)
        told = json.loads(self.process.stdout.readline())
        self.assertEqual(told.pop("id"), op)
        return told

    def test_packets_and_surbs_in_every_format(self) -> None:
        keys = [self.ask("keys") for _ in range(3)]
        for form in FORMATS:
            options = {"flags": form.flags, "body_tag": form.body_tag, "header_len": 256, "body_len": 512}
            path = [{"public": key["public"], "routing": packet.relay(form, number).hex()} for number, key in enumerate(keys)]
            bob = encode(b"bob").hex()
            with self.subTest(form, kind="forward"):
                datagram = self.ask("create", path=path, destination=bob, message="00ff", **options)["datagram"]
                for number, key in enumerate(keys[:-1], 1):
                    told = self.ask("process", secret=key["secret"], datagram=datagram, **options)
                    self.assertEqual((told["kind"], told["routing"]), ("relay", path[number]["routing"]))
                    datagram = told["datagram"]
                told = self.ask("process", secret=keys[-1]["secret"], datagram=datagram, **options)
                self.assertEqual((told["kind"], told["destination"], told["message"]), ("destination", bob, "00ff"))
                told = self.ask("process", secret=keys[0]["secret"], datagram=datagram, **options)
                self.assertEqual(told, {"refused": "bad_mac"})
            with self.subTest(form, kind="surb"):
                made = self.ask("surb", path=path, destination=bob, **options)
                told = self.ask("reply", surb=made["surb"], message="aa", **options)
                self.assertEqual(told["first"], path[0]["routing"])
                for key in keys:
                    told = self.ask("process", secret=key["secret"], datagram=told.get("datagram"), **options)
                self.assertEqual((told["kind"], told["surb_id"], told["destination"]), ("surb", made["surb_id"], bob))
                self.assertEqual(self.ask("receive", keys=made["keys"], body=told["body"], **options), {"message": "aa"})
                spoilt = told["body"][:-1] + ("0" if told["body"][-1] != "0" else "1")
                self.assertEqual(self.ask("receive", keys=made["keys"], body=spoilt, **options), {"refused": "bad_body_tag"})

    def test_nonsense_is_answered(self) -> None:
        self.assertIn("error", self.ask("no such thing"))
        self.assertIn("error", self.ask("create"))
        self.assertEqual(self.ask("process", secret="01", datagram="c1"), {"refused": "malformed"})
        path = [{"public": self.ask("keys")["public"], "routing": "00"}]
        self.assertIn("TypeError", self.ask("create", path=path, destination="01", message="", flags="str", body_tag="hmac")["error"])
        self.assertEqual(self.ask("create", path=path, destination="c401aa", message="00" * 2000), {"refused": "too_long"})

    def test_what_is_no_json_is_answered(self) -> None:
        self.assertEqual(list(exchange.answer("{")), ["error"])


class Running:
    """A command of the peer's as a process, and what it has said."""

    def __init__(self, test: unittest.TestCase, *words: str) -> None:
        self.process = subprocess.Popen([sys.executable, "-m", "peer", *words], cwd=HERE, text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._said: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        test.addCleanup(self._end)

    def _read(self) -> None:
        for line in self.process.stdout:
            self._said.put(json.loads(line))
        self._said.put(None)

    def tell(self, line: str) -> None:
        print(line, file=self.process.stdin, flush=True)

    def hear(self, event: str) -> dict[str, Any]:
        """The next event of this kind; others before it are passed over."""
        deadline = time.monotonic() + PATIENCE
        while True:
            said = self._said.get(timeout=max(0.0, deadline - time.monotonic()))
            if said is None:
                raise AssertionError(f"ended with {self.process.wait()} before it said {event}")
            if said["event"] == event:
                return said

    def stop(self) -> dict[str, Any]:
        self.process.send_signal(signal.SIGTERM)
        counters = self.hear("counters")
        if self.process.wait(PATIENCE) != 0:
            raise AssertionError(f"ended with {self.process.returncode}")
        return counters

    def _end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        self.process.stdin.close()
        self.process.stdout.close()


def free_ports(count: int) -> list[int]:
    """Ports that the system chose; all are held until the last is known, so that none comes twice."""
    with ExitStack() as stack:
        bound = [stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(count)]
        for each in bound:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in bound]


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
        told = json.loads(subprocess.run([sys.executable, *words], cwd=HERE, check=True, capture_output=True).stdout)
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
        done = subprocess.run([sys.executable, "-m", "peer", *words], cwd=HERE, check=True, text=True, capture_output=True, timeout=PATIENCE)
        told = json.loads(done.stdout)
        self.assertEqual((told["sent"], told["wrong"]), (100, 0))
        self.assertGreater(min(told["checked"], told["received"]), 0)
        self.assertIsNotNone(told["mix_cpu"])
        self.assertGreaterEqual(mix.stop()["forwarded"], told["received"])

    def test_a_node_without_files_says_so(self) -> None:
        done = subprocess.run([sys.executable, "-m", "peer", "mix", str(self.root)], cwd=HERE, text=True, capture_output=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("config.json", done.stderr)


def main() -> int:
    """What unittest's does, and a last line in the words of Rust's tests, which `scripts/test` adds up."""
    result = unittest.main(exit=False).result
    # A test with several failed subtests has failed once.
    failed = {getattr(test, "test_case", test).id() for test, _ in result.failures + result.errors}
    failed |= {test.id() for test in result.unexpectedSuccesses}
    skipped = {test.id() for test, _ in result.skipped} - failed
    word = "ok" if result.wasSuccessful() else "FAILED"
    passed = result.testsRun - len(failed) - len(skipped)
    print(f"test result: {word}. {passed} passed; {len(failed)} failed; {len(skipped)} ignored")
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
