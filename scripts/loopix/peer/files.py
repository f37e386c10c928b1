"""A node's working directory: key files, config.json and the SQLite directory, read and made."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from petlib.bn import Bn
from petlib.ec import EcPt
from petlib.pack import decode, encode
from sphinxmix.SphinxParams import SphinxParams

PARAMS = SphinxParams(header_len=1024, body_len=1024)

_FILES = {"mix": "Mixnode", "provider": "Provider", "client": "Client"}
_WORDS = {"mix": b"mixnode", "provider": b"provider", "client": b"client"}
_SCHEMA = """
CREATE TABLE Mixnodes (id INTEGER PRIMARY KEY, name blob, port integer, host text, pubk blob, groupId integer);
CREATE TABLE Providers (id INTEGER PRIMARY KEY, name blob, port integer, host text, pubk blob);
CREATE TABLE Users (id INTEGER PRIMARY KEY, name blob, port integer, host text, pubk blob, provider blob);
"""


class BadFiles(Exception):
    """A working directory that a node cannot start from; the text says which file and why."""


@dataclass(frozen=True)
class Place:
    """A node as others know it.

    `origin` is where the sender has it from, and with that how Python 2 wrote its text: from the directory's rows as str or bin
    by column and table, from one's own key file as bin. `layer` is a mix's, `provider` the name of a client's.
    """

    role: str
    name: str
    host: str
    port: int
    public: EcPt
    layer: int | None = None
    provider: str | None = None
    origin: str = "directory"

    @property
    def wire_host(self) -> bytes | str:
        is_bin = self.role == "provider" or self.origin == "own file"
        return self.host.encode() if is_bin else self.host

    @property
    def wire_name(self) -> bytes | str:
        is_str = self.role == "mix" and self.origin == "directory"
        return self.name if is_str else self.name.encode()


@dataclass(frozen=True)
class Network:
    """The directory: `layers` from the first to the last, each with its mixes."""

    layers: list[list[Place]]
    providers: dict[str, Place]
    users: dict[str, Place]


@dataclass(frozen=True)
class Config:
    """Means are in seconds; so is `pull_every`."""

    loop_mean: float
    drop_mean: float
    payload_mean: float
    delay_mean: float
    pull_every: float
    max_retrieve: int
    noise_len: int
    database: str
    push: bool


def default_config() -> dict[str, dict[str, Any]]:
    every = {"EXP_PARAMS_LOOPS": "2.0", "EXP_PARAMS_DELAY": "0.001", "NOISE_LENGTH": "500", "DATABASE_NAME": "example.db"}
    clients = {"EXP_PARAMS_DROP": "2.0", "EXP_PARAMS_PAYLOAD": "2.0", "TIME_PULL": "10.0"}
    return {
        "parametersClients": every | clients,
        "parametersMixnodes": dict(every),
        "parametersProviders": every | {"MAX_RETRIEVE": "50", "PUSH_MESSAGES": False},
    }


def read_config(folder: Path, role: str) -> Config:
    """Providers read most from the mixes' section, as the originals do, and clients the length of noise."""
    path = folder / "config.json"
    try:
        written = json.loads(path.read_text())
        mixes, clients, providers = (written[f"parameters{of}"] for of in ("Mixnodes", "Clients", "Providers"))
        own = clients if role == "client" else mixes
        config = Config(
            loop_mean=float(own["EXP_PARAMS_LOOPS"]),
            drop_mean=float(clients["EXP_PARAMS_DROP"]),
            payload_mean=float(clients["EXP_PARAMS_PAYLOAD"]),
            delay_mean=float(own["EXP_PARAMS_DELAY"]),
            pull_every=float(clients["TIME_PULL"]),
            max_retrieve=int(providers["MAX_RETRIEVE"]),
            noise_len=int(mixes["NOISE_LENGTH"]),
            database=own["DATABASE_NAME"],
            push=providers.get("PUSH_MESSAGES", False),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadFiles(f"{path}: {type(error).__name__}: {error}") from error
    # The originals spin on a stream with a mean of 0.
    if min(config.loop_mean, config.drop_mean, config.payload_mean, config.pull_every) <= 0 or config.delay_mean < 0:
        raise BadFiles(f"{path}: a mean of 0 seconds, which is for delays only")
    return config


def make_keys(folder: Path, place: Place, secret: Bn | None = None) -> Place:
    """Writes the key files of `place`, whose `public` is ignored, and config.json if there is none. Returns it with its key."""
    if secret is None:
        secret = PARAMS.group.gensecret()
    place = replace(place, public=PARAMS.group.expon_base([secret]), origin="own file")
    extra = {"mix": [place.layer], "provider": [], "client": []}[place.role]
    provider = [place.provider.encode()] if place.provider is not None else []
    record = [_WORDS[place.role], place.name.encode(), place.port, place.host.encode(), *extra, place.public, *provider]
    folder.mkdir(parents=True, exist_ok=True)
    secret_file = folder / f"secret{_FILES[place.role]}.prv"
    secret_file.write_bytes(encode(secret))
    secret_file.chmod(0o600)
    (folder / f"public{_FILES[place.role]}.bin").write_bytes(encode(record))
    if not (folder / "config.json").exists():
        (folder / "config.json").write_text(json.dumps(default_config(), indent=2) + "\n")
    return place


def read_secret(folder: Path, role: str) -> Bn:
    path = folder / f"secret{_FILES[role]}.prv"
    secret = _read(path)
    if not isinstance(secret, Bn):
        raise BadFiles(f"{path}: not a big integer")
    return secret


def read_public(folder: Path, role: str) -> Place:
    path = folder / f"public{_FILES[role]}.bin"
    record = _read(path)
    layer = provider = None
    try:
        if role == "mix":
            word, name, port, host, layer, public = record
        elif role == "provider":
            word, name, port, host, public = record
        else:
            word, name, port, host, public, provider = record
    except (TypeError, ValueError) as error:
        raise BadFiles(f"{path}: wrong number of elements") from error
    if _text(word) != _WORDS[role].decode() or not isinstance(public, EcPt):
        raise BadFiles(f"{path}: not a {role}'s key file")
    provider = None if provider is None else _text(provider)
    return Place(role, _text(name), _text(host), port, public, layer, provider, origin="own file")


def role_in(folder: Path) -> str:
    """Whose key files these are."""
    for role, file in _FILES.items():
        if (folder / f"public{file}.bin").exists():
            return role
    raise BadFiles(f"{folder}: no public key file")


def make_database(path: Path, places: list[Place]) -> None:
    """Writes the directory anew. Names and hosts become TEXT, because the originals look them up as that."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(_SCHEMA)
        for place in places:
            row = [place.name, place.port, place.host, encode(place.public)]
            if place.role == "mix":
                database.execute("INSERT INTO Mixnodes VALUES (NULL, ?, ?, ?, ?, ?)", [*row, place.layer])
            elif place.role == "provider":
                database.execute("INSERT INTO Providers VALUES (NULL, ?, ?, ?, ?)", row)
            else:
                database.execute("INSERT INTO Users VALUES (NULL, ?, ?, ?, ?, ?)", [*row, place.provider])


def read_network(path: Path) -> Network:
    """Columns are read by position, as the originals do."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            rows = {table: database.execute(f"SELECT * FROM {table}").fetchall() for table in ("Mixnodes", "Providers", "Users")}
    except sqlite3.Error as error:
        raise BadFiles(f"{path}: {error}") from error
    try:
        mixes = [_row("mix", row, layer=row[5]) for row in rows["Mixnodes"]]
        providers = [_row("provider", row) for row in rows["Providers"]]
        users = [_row("client", row, provider=_text(row[5])) for row in rows["Users"]]
    # petlib raises plain exceptions.
    except Exception as error:
        raise BadFiles(f"{path}: {error}") from error
    layers = [[mix for mix in mixes if mix.layer == layer] for layer in sorted({mix.layer for mix in mixes})]
    return Network(layers, {place.name: place for place in providers}, {place.name: place for place in users})


def _row(role: str, row: tuple[Any, ...], **extra: Any) -> Place:
    _id, name, port, host, public = row[:5]
    return Place(role, _text(name), _text(host), port, decode(public), **extra)


def _read(path: Path) -> Any:
    try:
        return decode(path.read_bytes())
    # petlib raises plain exceptions.
    except Exception as error:
        raise BadFiles(f"{path}: {error}") from error


def _text(written: bytes | str) -> str:
    return written.decode() if isinstance(written, bytes) else written
