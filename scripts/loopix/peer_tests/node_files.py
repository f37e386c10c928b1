"""Key files and directories, as the originals made them."""

from __future__ import annotations

import json
import sqlite3
import tempfile
import unittest
from contextlib import closing
from pathlib import Path
from typing import Any

from peer import files
from peer.files import PARAMS, Place
from peer_tests.answers import VECTORS, point


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
