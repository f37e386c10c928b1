"""The cases of vectors/packet.json and vectors/tamper.json, and what is checked about them."""
