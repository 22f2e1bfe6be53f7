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
    """Return a digest of the data: 32 hexadecimal digits."""
    return str(blake2b(data, digest_size=_SIZE).hexdigest())


def seal(data: bytes, key: bytes) -> str:
    """Return a keyed digest of the data, 32 hexadecimal digits that cannot be made without the key."""
    return str(blake2b(data, digest_size=_SIZE, key=key).hexdigest())


def fingerprint(data: bytes) -> str:
    """Return the SHA-1 of the data as 40 hexadecimal digits, for fingerprints of findings."""
    try:
        from _sha1 import sha1  # type: ignore[import-not-found]
    except ImportError:
        from hashlib import sha1
    return str(sha1(data, usedforsecurity=False).hexdigest())
