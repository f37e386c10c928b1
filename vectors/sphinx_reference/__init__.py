"""A second implementation of the motemix packet, written from docs/spec/packet.md.

It exists to be compared with: it is slow, not constant-time, and must not carry traffic. Every
module follows one section of the specification and uses that section's names.
"""
