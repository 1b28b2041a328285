"""What is kept of a finished training; results hold it, so that reading them imports no torch."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TrainReport:
    """Facts about a finished training.

    `samples_seen` is the budget: all samples drawn, including those `skipped` as unreadable (counted by reason, once
    per draw). `seconds` covers all steps, also those before the training was killed and resumed, but not the
    embedding of images before the first. `resumed_from` is the step at which it was last resumed, None if it never
    was. `losses` are pairs of samples seen and the loss logged then; `final_loss` is the last, None without any.
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
