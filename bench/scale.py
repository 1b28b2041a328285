"""Writes the tables of docs/scale.md: the cost of each stage at 8M to 12.8B pairs, from what `make perf` measured.

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
DOLLARS_PER_CORE_HOUR, DOLLARS_PER_GB_MONTH = 0.05, 0.023  # list prices of AWS in us-east-1 (c7a, S3), 2025
HOUR, GB = 3600, 10**9
TOLERANCE = 1.5  # of the check, measured by predicted or the other way round
ONCE = ": 8,000,000 pairs"  # ends the names of rows of `make perf-8m`


@dataclass(frozen=True)
class Stage:
    """Work whose processor seconds are known for one number of pairs, or for three and more.

    Args:
        work: its name in performance.json.
        share: how many of the pool's pairs it works on, as a fraction.
        pairs: the pairs of a row without them.
    """

    work: str
    share: float = 1.0
    pairs: int | None = None


# In the order of a run. Rows with `pairs` are one size.
STAGES = (
    Stage("score by a column"),
    Stage("score by language"),
    Stage("score 1,000 captions by ICC, bf16", pairs=1000),
    Stage("read 1,024 images of tars as CLIP's pixels, 2 processes", pairs=1024),
    Stage("fit informativeness, parsing captions"),
    Stage("score by informativeness, fitted"),
    Stage("fit clusters, 512 dimensions"),
    Stage("fit near_duplicates, 512 dimensions"),
    Stage("fit vas, 512 dimensions"),
    Stage("rank_sum of two cached scores"),
    Stage("select 30% by cached scores"),
    Stage("draw four epochs of 10% over 1,000 clusters"),
    Stage("index tars"),
    Stage("reshard 10%, index there"),
    Stage("read 2,048 images as a stream, 1 processes", share=0.1, pairs=2048),
)
# Bytes per pair of the pool in files that are read or written; images are LAION's at 256 pixels.
BYTES = {
    "tars of 256-pixel images": 25_000,
    "metadata: url and caption": 131,
    "score part of one filter": 20,
    "features of a CLIP model, image and text, 512 wide": 2_064,
    "index of the tars": 204,
    "tars of a subset of 10%": 2_500,
    "subset file of 10%": 1.6,
}


@dataclass(frozen=True)
class Line:
    """Processor seconds by number of pairs: the line through two sizes, and a larger size that checks it.

    Args:
        fitted: pairs and processor seconds of two sizes; none if one size was measured.
        check: those of the largest size.
        bytes_per_pair: growth of the memory in no file.
        date: the day of the check.
    """

    fitted: Sequence[tuple[int, float]]
    check: tuple[int, float]
    bytes_per_pair: float | None
    date: str

    @property
    def per_pair(self) -> float:
        """The seconds per pair at the largest size."""
        return self.check[1] / self.check[0]

    @property
    def ratio(self) -> float:
        """The seconds of the check, measured by predicted."""
        (few, first), (many, last) = self.fitted
        return self.check[1] / (last + (last - first) / (many - few) * (self.check[0] - many))

    def seconds(self, pairs: float) -> float | None:
        """Return the seconds of so many pairs; None beyond the largest size without a check that was met."""
        met = bool(self.fitted) and 1 / TOLERANCE <= self.ratio <= TOLERANCE
        return self.per_pair * pairs if met or pairs <= self.check[0] else None


def line(stage: Stage, measured: dict[str, Any]) -> Line:
    """Return the growth of a stage, with the eight million pairs of `make perf-8m` as the check if it has them."""
    row = measured[stage.work]
    if stage.pairs is not None:
        return Line((), (stage.pairs, row["ours"]["cpu_seconds"]), None, row["date"])
    usages = row["usages"]
    points = [(pairs, of["cpu_seconds"]) for pairs, of in zip(row["pairs"], usages, strict=True)]
    gib = usages[-1]["anonymous_gib"] - usages[-2]["anonymous_gib"]
    growth = max(0.0, gib * 2**30 / (row["pairs"][-1] - row["pairs"][-2]))
    if once := measured.get(stage.work + ONCE):
        points.append((8 * 10**6, once["usage"]["cpu_seconds"]))
        row = once
    return Line(points[-3:-1], points[-1], growth, row["date"])


def stage_rows(measured: dict[str, Any]) -> Iterator[str]:
    """Yield a row of the table of stages for each that was measured."""
    for stage in STAGES:
        if stage.work not in measured:
            continue
        of_stage = line(stage, measured)
        fitted = " / ".join(f"{pairs:,}" for pairs, _ in of_stage.fitted)
        checked = f"{of_stage.check[0]:,}" + (f": {of_stage.ratio:.2f}" if fitted else "")
        memory = "" if of_stage.bytes_per_pair is None else f"{of_stage.bytes_per_pair:.0f}"
        cells = [_cost(of_stage.seconds(stage.share * pairs)) for pairs in POOLS.values()]
        yield " | ".join(
            [stage.work, _number(of_stage.per_pair * 1e6), fitted, checked, memory, *cells, of_stage.date]
        )


def _cost(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    return f"{_number(seconds / HOUR)} h, ${seconds / HOUR * DOLLARS_PER_CORE_HOUR:,.2f}"


def byte_rows() -> Iterator[str]:
    """Yield a row of the table of files."""
    for name, size in BYTES.items():
        gigabytes = [size * pairs / GB for pairs in POOLS.values()]
        cells = [f"{_number(gb)} GB, ${gb * DOLLARS_PER_GB_MONTH:,.2f}" for gb in gigabytes]
        yield " | ".join([name, f"{size:,g}", *cells])


def tables() -> dict[str, str]:
    """Return the tables of the page, by the name of their marks."""
    measured = json.loads(ROWS.read_text())
    stages = [
        "stage | s per million pairs | line through | check: measured / predicted | B per pair in memory | "
    ]
    stages[0] += " | ".join([*POOLS, "measured"])
    files = [" | ".join(["files", "B per pair", *POOLS])]
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
