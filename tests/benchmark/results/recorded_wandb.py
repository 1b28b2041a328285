"""W&B runs as its own client takes them: what our code logs is recorded on the way."""

from dataclasses import dataclass, field
from typing import Any

import pytest
import wandb


@dataclass
class Recorded:
    """What one run was given."""

    run: Any
    history: list[dict[str, Any]] = field(default_factory=list)
    steps: set[Any] = field(default_factory=set)  # W&B's own step of each row, None if W&B counts
    axes: dict[str, str] = field(default_factory=dict)
    artifacts: dict[str, Any] = field(default_factory=dict)  # by type
    aliases: dict[str, list[str]] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)

    def table(self, name: str) -> list[list[Any]]:
        """The rows of a logged table."""
        (table,) = (values[name] for values in self.history if name in values)
        return list(table.data)


def record(patch: pytest.MonkeyPatch) -> dict[str, Recorded]:
    """Record all runs from now on, by their ids."""
    runs: dict[str, Recorded] = {}
    names = ("log", "define_metric", "log_artifact", "finish")
    real = {name: getattr(wandb.Run, name) for name in names}

    def of(run: Any) -> Recorded:
        return runs.setdefault(run.id, Recorded(run))

    def log(run: Any, values: dict[str, Any], step: int | None = None, **named: Any) -> None:
        of(run).history.append(values)
        of(run).steps.add(step)
        real["log"](run, values, step, **named)

    def define_metric(run: Any, name: str, step_metric: str | None = None, **named: Any) -> Any:
        if step_metric:
            of(run).axes[name] = step_metric
        return real["define_metric"](run, name, step_metric=step_metric, **named)

    def log_artifact(run: Any, artifact: Any, *more: Any, **named: Any) -> Any:
        if "aliases" in named:  # not the file of a table
            of(run).artifacts[artifact.type], of(run).aliases[artifact.type] = artifact, named["aliases"]
        return real["log_artifact"](run, artifact, *more, **named)

    def finish(run: Any, *more: Any, **named: Any) -> None:
        of(run).config, of(run).summary = dict(run.config), dict(run.summary)
        real["finish"](run, *more, **named)

    for name, wrapped in zip(names, (log, define_metric, log_artifact, finish), strict=True):
        patch.setattr(wandb.Run, name, wrapped)
    return runs
