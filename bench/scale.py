"""Writes the tables of docs/scale.md: the cost of each stage at 8M to 12.8B pairs, from the rates of `make perf`.

python -m bench.scale
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bench.measurement import ROOT, ROWS
from benchmark.core.paths import write_text

PAGE = ROOT / "docs" / "scale.md"
POOLS = {"8M": 8 * 10**6, "128M": 128 * 10**6, "1.28B": 1280 * 10**6, "12.8B": 12800 * 10**6}
DOLLARS_PER_CORE_HOUR, DOLLARS_PER_GB_MONTH = 0.05, 0.023  # list prices of AWS in us-east-1 (c7a, S3), 2025
HOUR, GB = 3600, 10**9


@dataclass(frozen=True)
class Stage:
    """Work whose processor seconds are known for one or three numbers of pairs.

    Args:
        work: its name in performance.json.
        share: how many of the pool's pairs it works on, as a fraction.
        pairs: the pairs of a row without them.
    """

    work: str
    share: float = 1.0
    pairs: int | None = None


# In the order of a run. Rows with `pairs` are one size; of the others the third size checks the first two.
STAGES = (
    Stage("score by a column"),
    Stage("score by language"),
    Stage("score 1,000 captions by ICC, bf16", pairs=1000),
    Stage("read 1,024 images of tars as CLIP's pixels, 2 processes", pairs=1024),
    Stage("fit informativeness"),
    Stage("score by informativeness, fitted"),
    Stage("fit clusters, 64 dimensions"),
    Stage("fit near_duplicates, 64 dimensions"),
    Stage("fit vas, 64 dimensions"),
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
    """Processor seconds that grow by `per_pair`, and memory in no file that grows by `bytes_per_pair`.

    `checked` is the third size as predicted from the first two, divided by its measured value; None with one size.
    """

    per_pair: float
    bytes_per_pair: float | None
    checked: float | None
    date: str


def line(stage: Stage, row: dict[str, Any]) -> Line:
    """Return the growth of a stage; from the second size to the last, if there are several."""
    if stage.pairs is not None:
        return Line(row["ours"]["cpu_seconds"] / stage.pairs, None, None, row["date"])
    (a, b, c), (first, second, third) = row["pairs"], row["usages"]
    early = (second["cpu_seconds"] - first["cpu_seconds"]) / (b - a)
    predicted = second["cpu_seconds"] + early * (c - b)
    per_pair = (third["cpu_seconds"] - second["cpu_seconds"]) / (c - b)
    growth = max(0.0, (third["anonymous_gib"] - second["anonymous_gib"]) * 2**30 / (c - b))
    return Line(per_pair, growth, predicted / third["cpu_seconds"], row["date"])


def stage_rows(measured: dict[str, Any]) -> Iterator[str]:
    """Yield a row of the table of stages for each that was measured."""
    for stage in STAGES:
        if stage.work not in measured:
            continue
        of_stage = line(stage, measured[stage.work])
        hours = [of_stage.per_pair * stage.share * pairs / HOUR for pairs in POOLS.values()]
        checked = "" if of_stage.checked is None else f"{of_stage.checked:.2f}"
        memory = "" if of_stage.bytes_per_pair is None else f"{of_stage.bytes_per_pair:.0f}"
        cells = [f"{_number(hour)} h, ${hour * DOLLARS_PER_CORE_HOUR:,.2f}" for hour in hours]
        yield " | ".join(
            [stage.work, _number(of_stage.per_pair * 1e6), checked, memory, *cells, of_stage.date]
        )


def byte_rows() -> Iterator[str]:
    """Yield a row of the table of files."""
    for name, size in BYTES.items():
        gigabytes = [size * pairs / GB for pairs in POOLS.values()]
        cells = [f"{_number(gb)} GB, ${gb * DOLLARS_PER_GB_MONTH:,.2f}" for gb in gigabytes]
        yield " | ".join([name, f"{size:,g}", *cells])


def tables() -> dict[str, str]:
    """Return the tables of the page, by the name of their marks."""
    measured = json.loads(ROWS.read_text())
    stages = ["stage | s per million pairs | third size, predicted / measured | B per pair in memory | "]
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
