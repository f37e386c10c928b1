"""Identities of devices as docs/spec/identity.md has them, a second time. To be compared with, not to be used: nothing
here is constant-time."""
