"""The thumbnails of the page: each distinct one once, up to a number of characters."""

import base64
from collections.abc import Iterable

from benchmark.core.hashes import hash_bytes

BUDGET = 4_500_000  # characters of base64 in the page


class Images:
    """Thumbnails by name, as base64.

    Args:
        wanted: JPEGs, the most wanted first.
        budget: characters of base64 that all of them may take.
    """

    def __init__(self, wanted: Iterable[bytes], budget: int = BUDGET) -> None:
        self.encoded: dict[str, str] = {}
        self.budget = budget
        self.left_out = 0
        room, seen = budget, set[str]()
        for data in wanted:
            name = _name(data)
            if not data or name in seen:
                continue
            seen.add(name)
            encoded = base64.b64encode(data).decode()
            if len(encoded) <= room:
                self.encoded[name] = encoded
                room -= len(encoded)
            else:
                self.left_out += 1

    def name(self, data: bytes) -> str:
        """Return the name of a thumbnail; empty if it is not on the page."""
        name = _name(data)
        return name if name in self.encoded else ""


def _name(data: bytes) -> str:
    return hash_bytes(data, 12)
