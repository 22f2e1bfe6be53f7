"""Short hashes of bytes, keyed where they must not be forged.

``hashlib`` brings OpenSSL, which takes longer to load than a warm run; the modules behind it are small.
"""

from __future__ import annotations

try:
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

_SIZE = 16


def digest(data: bytes) -> str:
    """32 hexadecimal digits that stand for the data."""
    return str(blake2b(data, digest_size=_SIZE).hexdigest())


def seal(data: bytes, key: bytes) -> str:
    """32 hexadecimal digits that only who has the key can make for the data."""
    return str(blake2b(data, digest_size=_SIZE, key=key).hexdigest())


def fingerprint(data: bytes) -> str:
    """40 hexadecimal digits of SHA-1, which fingerprints of findings are made of."""
    try:
        from _sha1 import sha1  # type: ignore[import-not-found]
    except ImportError:
        from hashlib import sha1
    return str(sha1(data, usedforsecurity=False).hexdigest())
