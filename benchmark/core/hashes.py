"""Hashes of values, texts and files, as hexadecimal SHA-256: for cache keys, ids and fingerprints."""

import hashlib
import json
from pathlib import Path
from typing import Any


def hash_json(value: Any, length: int | None = None) -> str:
    """Return the first `length` characters of the hash of a value as JSON; the order of keys does not count."""
    return hash_text(json.dumps(value, sort_keys=True, default=str), length)


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
