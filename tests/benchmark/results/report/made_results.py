"""Results as a run would leave them, for tests."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from benchmark.results.protocol import Protocol
from benchmark.results.report.certainty import RunFolders
from benchmark.results.report.leaderboard_tables import NO_ADDITIONS, Additions, leaderboard
from benchmark.results.report.table import Table
from benchmark.results.result import DownstreamResult, Result, Scoring
from benchmark.results.stopwatch import Stage
from benchmark.selection.manifest import Manifest
from downstream.metrics.metric import Metric
from downstream.training.train_report import TrainReport

FAMILIES = {"random": "baseline", "clip": "clip", "icc": "concreteness", "oracle": "planted"}
TRAINING = TrainReport(
    samples_seen=100, steps=10, seconds=2.0, samples_per_second=50.0, epochs=0.5, skipped={}, final_loss=1.5
)
UNITS = dict.fromkeys(("BERTScore", "Polos", "PAC-S"), "score") | dict.fromkeys(
    ("Unique-1", "Unique-2"), "n-grams"
)


def metric(name: str, value: float | None, reason: str | None = None, **more: Any) -> Metric:
    """A metric in the unit of its name, a fraction by default."""
    given = {"unit": UNITS.get(name, "fraction"), "detail": name.endswith("_tied"), **more}
    return Metric(name, value, reason, 10, "v", **given)


def trained(**evaluations: Sequence[Metric]) -> DownstreamResult:
    return DownstreamResult("c", TRAINING, {}, {}, {name: list(m) for name, m in evaluations.items()})


def protocol(name: str = "demo", *, size: int = 200_000, **facts: str) -> Protocol:
    """A protocol with these facts besides pool and size."""
    return Protocol(f"{name} {size // 1000}k", {"pool": name, "size": f"{size // 100:,} pairs", **facts})


def result(name: str, *, size: int = 200_000, seed: int = 0, **changes: Any) -> Result:
    """A run without downstream models."""
    manifest = Manifest(
        pool="demo", filter=name, config={"_target_": name, "seed": seed}, k=size // 100, seed=seed,
        threshold=0.25, scored=79_000, tied=1, tied_kept=1, drops={"no_score": 1_000},
        sha256=sha256(f"{name} {size}".encode()).hexdigest(),
        distinct=size // 100, files=["a.npy"], selector="best", selector_config={},
    )  # fmt: skip
    made = Result(
        run_id=f"demo-{name}-{size}-{seed}", protocol=protocol(size=size), filter=name,
        family=FAMILIES.get(name, ""), size=size, k=size // 100, pool="demo", seed=seed, selection=manifest,
        subset="/cache/a.npy", scoring=Scoring(12.5, 0.0), downstream={},
        stages={"select": Stage(1.0, 1.0, "cpu", 1.0)}, config={},
    )  # fmt: skip
    return replace(made, **changes)


def captioned(name: str, cider: float, **changes: Any) -> Result:
    """A run of a captioner with this CIDEr on COCO."""
    return result(name, downstream={"captioner": trained(coco=[metric("CIDEr", cider)])}, **changes)


def metric_tables(results: Iterable[Result], additions: Additions = NO_ADDITIONS) -> list[Table]:
    """The tables of runs that left no scores of single images, without the tables of certainty."""
    tables = leaderboard(results, RunFolders({}), additions=additions)
    return [table for table in tables if "against random" not in table.header]


def texts(table: Table) -> list[list[str]]:
    """The rows of a table as Markdown would emphasise them."""
    return [[f"**{cell.whole}**" if cell.bold else cell.whole for cell in row] for row in table.rows]
