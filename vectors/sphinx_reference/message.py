"""The message inside a payload: zero tag, message id, data, padding."""

from __future__ import annotations

from .profile import MESSAGE_ID_LEN, TAG_LEN, Profile

_DATA_START = TAG_LEN + MESSAGE_ID_LEN


class BadPayload(Exception):
    """The tag is not zero or the padding is not there."""


def write_message(profile: Profile, message_id: bytes, data: bytes) -> bytes:
    if len(message_id) != MESSAGE_ID_LEN or len(data) > profile.max_data:
        raise ValueError("wrong message id or too much data")
    content = bytes(TAG_LEN) + message_id + data + b"\x80"
    return content + bytes(profile.payload_len - len(content))


def read_message(block: bytes) -> tuple[bytes, bytes]:
    """The message id and the data.

    The search for 0x80 ends where the data begins: a message id that contains 0x80 is no padding.
    """
    if any(block[:TAG_LEN]):
        raise BadPayload("integrity tag")
    padded = block[_DATA_START:].rstrip(b"\0")
    if not padded.endswith(b"\x80"):
        raise BadPayload("padding")
    return block[TAG_LEN:_DATA_START], padded[:-1]
