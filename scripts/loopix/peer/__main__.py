"""The command line: `python -m peer --help`, from scripts/loopix, with what `scripts/setup loopix_peer` installs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import client, cost, exchange, files, load, node, provider
from .files import BadFiles, Place
from .messages import PROFILES, UCL_2017

_NODES = {kind.role: kind for kind in (node.Mix, provider.Provider, client.Client)}


def main() -> int:
    said = _arguments().parse_args()
    try:
        return said.act(said)
    except (BadFiles, OSError) as error:
        print(f"peer: {error}", file=sys.stderr)
        return 1


def _arguments() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python -m peer", description="Loopix nodes for tests, on sphinxmix and petlib.")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    for role in _NODES:
        words = commands.add_parser(role, help=f"runs a {role} from its working directory until SIGTERM")
        words.add_argument("folder", type=Path, metavar="DIR")
        words.add_argument("--profile", choices=sorted(PROFILES), default=UCL_2017.name)
        if role == "client":
            words.add_argument("--probe", action="store_true", help="sends messages to itself and says how long they took")
            words.add_argument("--deaf", type=float, default=0.0, metavar="SECONDS", help="looks at nothing after its start")
        words.set_defaults(act=_run, role=role)

    words = commands.add_parser("exchange", help="makes and processes packets, asked in JSON lines; peer/exchange.py says how")
    words.set_defaults(act=lambda _said: exchange.main())

    words = commands.add_parser("keys", help="makes a node's key files, and config.json if there is none")
    words.add_argument("folder", type=Path, metavar="DIR")
    words.add_argument("role", choices=sorted(_NODES))
    words.add_argument("name")
    words.add_argument("host")
    words.add_argument("port", type=int)
    words.add_argument("--layer", type=int, default=0, help="of a mix; 0 is the first")
    words.add_argument("--provider", help="the name of a client's")
    words.set_defaults(act=_make_keys)

    words = commands.add_parser("database", help="makes the directory from nodes' public key files")
    words.add_argument("file", type=Path)
    words.add_argument("folders", type=Path, nargs="+", metavar="DIR")
    words.set_defaults(act=_make_database)

    cost.add_arguments(commands.add_parser("cost", help="times making and processing packets"))
    load.add_arguments(commands.add_parser("load", help="sends a mix packets at a rate and counts what comes out"))
    return top


def _run(said: argparse.Namespace) -> int:
    options = {name: getattr(said, name) for name in ("probe", "deaf") if getattr(said, name, False)}
    running = _NODES[said.role](said.folder, PROFILES[said.profile], **options)
    running.start()
    running.run()
    return 0


def _make_keys(said: argparse.Namespace) -> int:
    if said.role == "client" and said.provider is None:
        raise BadFiles("a client needs --provider")
    layer = said.layer if said.role == "mix" else None
    client_of = said.provider if said.role == "client" else None
    wanted = Place(said.role, said.name, said.host, said.port, files.PARAMS.group.g, layer, client_of)
    print(files.make_keys(said.folder, wanted).public.export().hex())
    return 0


def _make_database(said: argparse.Namespace) -> int:
    files.make_database(said.file, [files.read_public(folder, files.role_in(folder)) for folder in said.folders])
    return 0


if __name__ == "__main__":
    sys.exit(main())
