"""The lines of docs/scale.md: each is checked at a size that is not on it, and ends there if it misses."""

from typing import Any

import pytest

from bench.scale import ONCE, line


def measured(work: str, *seconds: float, once: float | None = None) -> dict[str, Any]:
    """Rows of performance.json: seconds at 1, 2, 4 ... million pairs; `once` at eight million."""
    row = {
        "pairs": [2**n * 10**6 for n in range(len(seconds))],
        "usages": [of_seconds(s) for s in seconds],
        "date": "",
    }
    return {work: row} | ({work + ONCE: {"usage": of_seconds(once), "date": ""}} if once else {})


def of_seconds(seconds: float) -> dict[str, float]:
    return {"cpu_seconds": seconds, "anonymous_gib": 0.0}


@pytest.mark.parametrize(
    ("rows", "largest", "ratio"),
    [
        (measured("w", 1, 2, 4), 4, 1.0),
        (measured("w", 1, 2, 9), 4, 9 / 4),
        (measured("w", 90, 1, 2, 9), 8, 9 / 4),  # the first of several is in no line
        (measured("w", 1, 2, 4, once=8), 8, 1.0),
        (measured("w", 1, 2, 4, once=16), 8, 2.0),
        (measured("w", 2, 4, 5), 4, 5 / 8),
    ],
)
def test_a_line_is_checked_at_a_size_outside_it(rows: dict[str, Any], largest: int, ratio: float) -> None:
    found = line("w", rows)
    assert found.check[0] == largest * 10**6
    assert found.ratio == pytest.approx(ratio)
    assert found.seconds(largest * 10**6) == found.check[1]
    beyond = found.seconds(128 * 10**6)
    assert beyond == (pytest.approx(found.check[1] * 128 / largest) if 1 / 1.5 <= ratio <= 1.5 else None)
