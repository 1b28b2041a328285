"""The report of a finished training, and the file that marks it as finished; results hold the report."""

from dataclasses import asdict, dataclass
from pathlib import Path

from benchmark.core.cached_files import intact, read_cached
from benchmark.core.paths import write_cached


@dataclass(frozen=True)
class TrainReport:
    """Facts about a finished training.

    `samples_seen` is the budget: all samples drawn, including those `skipped` as unreadable (counted by reason, once
    per draw). `seconds` covers all steps, also those before the training was killed and resumed, but not the
    embedding of images before the first. `resumed_from` is the step at which it was last resumed, None if it never
    was. `losses` are pairs of samples seen and the loss logged then; `final_loss` is the last, None without any.
    `git_commit` is the commit that finished the training, from which a later run may have loaded it.
    """

    samples_seen: int
    steps: int
    seconds: float
    samples_per_second: float
    epochs: float
    skipped: dict[str, int]
    final_loss: float | None
    resumed_from: int | None = None
    losses: tuple[tuple[int, float], ...] = ()
    git_commit: str | None = None


def finished(folder: Path, fingerprint: str) -> TrainReport | None:
    """Return the report of a training that finished in `folder` under `fingerprint`, None otherwise."""
    marker = read_cached(folder / "finished.json")
    if marker is None or not intact(folder / "model") or marker["fingerprint"] != fingerprint:
        return None
    report = marker["report"]
    return TrainReport(**report | {"losses": tuple((seen, loss) for seen, loss in report["losses"])})


def mark_finished(folder: Path, fingerprint: str, report: TrainReport) -> None:
    """Mark the training in `folder` as finished, so that it is loaded instead of repeated."""
    marker = {"fingerprint": fingerprint, "report": asdict(report)}
    write_cached(folder / "finished.json", marker)
