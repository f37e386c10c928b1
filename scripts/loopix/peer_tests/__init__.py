"""What the peer has to hold to; `test_peer.py` runs it."""
