"""Packets, replies, commands and control messages, as the originals made them."""

from __future__ import annotations

import hashlib
import json
import unittest
from typing import Any

from petlib.bn import Bn
from petlib.pack import decode, encode
from sphinxmix import SphinxException
from sphinxmix.SphinxParams import SphinxParams

from peer import messages, packet
from peer.files import PARAMS, Place
from peer.messages import FORK_2018, UCL_2017
from peer.packet import LOOPIX, Flag, Format, Refused, Step
from peer_tests.answers import VECTORS, FORMATS, point, params_of, format_of, drawing


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
