"""A short name for any bytes: the same for the same bytes."""

from __future__ import annotations


def checksum(data: bytes, size: int = 8) -> str:
    """Two hexadecimal digits for each byte of `size`."""
    from _blake2 import blake2b  # `hashlib` has the same one, and loads OpenSSL, which costs every start much more

    return blake2b(data, digest_size=size).hexdigest()
