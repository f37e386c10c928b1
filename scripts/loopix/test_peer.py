#!/usr/bin/env python3
"""The peer against the known answers, against itself, and as a network of processes on this machine.

    scripts/setup loopix_peer
    .venv-loopix/bin/python scripts/loopix/test_peer.py
"""

from __future__ import annotations

import sys
import unittest

# What unittest is to find.
from peer_tests.exchanging import Exchange  # noqa: F401
from peer_tests.known_answers import KnownAnswers  # noqa: F401
from peer_tests.network import Network  # noqa: F401
from peer_tests.node_files import Files  # noqa: F401
from peer_tests.ways import Ways  # noqa: F401


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
