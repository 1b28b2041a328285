"""Writes the tables of docs/scale.md: the cost of each stage at 8M to 12.8B pairs, from rows of `make perf`.

A line through two sizes is checked at a larger size. A stage that misses its check is not extrapolated beyond it.

python -m bench.scale
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench.measurement import ROOT, ROWS
from benchmark.core.paths import write_text

PAGE = ROOT / "docs" / "scale.md"
POOLS = {"8M": 8 * 10**6, "128M": 128 * 10**6, "1.28B": 1280 * 10**6, "12.8B": 12800 * 10**6}
HOUR, GB = 3600, 10**9
TOLERANCE = 1.5  # of the check: measured divided by predicted, or the inverse
ONCE = ": 8,000,000 pairs"  # ends the names of rows of `make perf-8m`


# Rows of performance.json, in the order of a run.
STAGES = (
    "score by language",
    "fit informativeness, parsing captions",
    "fit near_duplicates, 512 dimensions",
    "fit vas, 512 dimensions",
    "rank_sum of two cached scores",
    "select 30% by cached scores",
    "draw four epochs of 10% over 1,000 clusters",
    "index tars",
    "reshard 10%, index there",
)
# Bytes per pair of the pool in files that are read or written; images are LAION's at 256 pixels.
BYTES = {
    "tars of 256-pixel images": 25_000,
    "score part of one filter": 20,
    "features of a CLIP model, image and text, 512 wide": 2_064,
    "index of the tars": 204,
    "tars of a subset of 10%": 2_500,
}


@dataclass(frozen=True)
class Line:
    """Processor seconds by number of pairs: the line through two sizes, and a larger size that checks it.

    Args:
        fitted: pairs and processor seconds of two sizes.
        check: pairs and processor seconds of the largest size.
    """

    fitted: Sequence[tuple[int, float]]
    check: tuple[int, float]

    @property
    def ratio(self) -> float:
        """The seconds of the check, measured divided by predicted."""
        (few, first), (many, last) = self.fitted
        return self.check[1] / (last + (last - first) / (many - few) * (self.check[0] - many))

    def seconds(self, pairs: float) -> float | None:
        """Return the seconds of so many pairs; None beyond the largest size without a check that was met."""
        met = 1 / TOLERANCE <= self.ratio <= TOLERANCE
        return self.check[1] / self.check[0] * pairs if met or pairs <= self.check[0] else None


def line(stage: str, measured: dict[str, Any]) -> Line:
    """Return the growth of a stage, with the eight million pairs of `make perf-8m` as the check if it has them."""
    row = measured[stage]
    points = [(pairs, of["cpu_seconds"]) for pairs, of in zip(row["pairs"], row["usages"], strict=True)]
    if once := measured.get(stage + ONCE):
        points.append((8 * 10**6, once["usage"]["cpu_seconds"]))
    return Line(points[-3:-1], points[-1])


def stage_rows(measured: dict[str, Any]) -> Iterator[str]:
    """Yield a row of the table of stages for each measured stage."""
    for stage in filter(measured.__contains__, STAGES):
        of_stage = line(stage, measured)
        cells = [_hours(of_stage.seconds(pairs)) for pairs in POOLS.values()]
        yield " | ".join([stage, f"{of_stage.check[0]:,}: {of_stage.ratio:.2f}", *cells])


def _hours(seconds: float | None) -> str:
    return "–" if seconds is None else _number(seconds / HOUR)


def byte_rows() -> Iterator[str]:
    """Yield a row of the table of files."""
    for name, size in BYTES.items():
        yield " | ".join([name, *(_number(size * pairs / GB) for pairs in POOLS.values())])


def tables() -> dict[str, str]:
    """Return the tables of the page, by the name of their marks."""
    measured = json.loads(ROWS.read_text())
    stages = [" | ".join(["core-hours", "check", *POOLS])]
    files = [" | ".join(["GB", *POOLS])]
    return {
        name: "\n".join(
            [f"| {head} |", "|---" * (head.count("|") + 1) + "|", *(f"| {row} |" for row in rows)]
        )
        for name, (head, *rows) in {
            "stages": [*stages, *stage_rows(measured)],
            "files": [*files, *byte_rows()],
        }.items()
    }


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def page() -> str:
    """Return the page with its tables as they follow from performance.json."""
    text = PAGE.read_text()
    for name, table in tables().items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        text = f"{text.partition(begin)[0]}{begin}\n{table}\n{end}{text.partition(end)[2]}"
    return text


if __name__ == "__main__":
    write_text(PAGE, page())
