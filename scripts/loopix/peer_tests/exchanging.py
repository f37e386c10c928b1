"""The exchange of packets with other programs, over pipes."""

from __future__ import annotations

import json
import subprocess
import sys
import unittest
from typing import Any

from petlib.pack import encode

from peer import exchange, packet
from peer_tests.answers import FORMATS
from peer_tests.running import PEER, PATIENCE


class Exchange(unittest.TestCase):
    def setUp(self) -> None:
        self.process = subprocess.Popen([sys.executable, "-m", "peer", "exchange"], cwd=PEER, text=True,
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
