"""Hashes of values, texts and files, as hexadecimal SHA-256: for cache keys, ids and fingerprints."""

import hashlib
import json
from pathlib import Path
from typing import Any


def hash_json(value: Any, length: int | None = None) -> str:
    """Return the first `length` characters of the hash of a value as JSON; the order of keys does not count."""
    return hash_text(json.dumps(value, sort_keys=True, default=_text), length)


def _text(value: Any) -> str:
    """Return a value that JSON lacks as text: an array whole, which `str` shortens, and a set in sorted order."""
    if isinstance(value, set | frozenset):
        return str(sorted(map(str, value)))
    if getattr(value, "ndim", 0) and hasattr(value, "tobytes"):  # an array of NumPy
        data = repr(value.tolist()).encode() if value.dtype.hasobject else value.tobytes()
        return f"{value.dtype} {value.shape} {hash_bytes(data)}"
    return str(value)


def hash_text(text: str, length: int | None = None) -> str:
    """Return the first `length` characters of the hash of a text."""
    return hash_bytes(text.encode(errors="surrogatepass"), length)


def hash_bytes(data: bytes, length: int | None = None) -> str:
    """Return the first `length` characters of the hash of `data`."""
    return hashlib.sha256(data).hexdigest()[:length]


def hash_file(path: Path) -> str:
    """Return the hash of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
