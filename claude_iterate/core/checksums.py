"""A short name for any bytes: the same for the same bytes."""

from __future__ import annotations

import hashlib


def checksum(data: bytes, size: int = 8) -> str:
    """Two hexadecimal digits for each byte of `size`."""
    return hashlib.blake2b(data, digest_size=size).hexdigest()
