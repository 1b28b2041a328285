"""Weights & Biases: online when there is a key, offline when there is none, never a prompt."""

import netrc
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlparse

from benchmark.results.result import Result


class WandbTracker:
    """Logs one run.

    Args:
        project: the W&B project.
        group: runs of one sweep share it.
        name: the run's name.
        entity: a team, or None for the user's own.
    """

    def __init__(self, project: str, group: str, name: str, entity: str | None = None) -> None:
        import wandb

        mode: Any = os.environ.get("WANDB_MODE") or ("online" if has_key() else "offline")
        self._run = wandb.init(
            project=project,
            group=group,
            name=name,
            entity=entity,
            mode=mode,
            reinit="finish_previous",
            settings=wandb.Settings(silent=True),
        )

    def log(self, values: Mapping[str, float], step: int | None = None) -> None:
        """Log numbers; the step is kept as ``samples_seen``, since two models train one after the other."""
        self._run.log(dict(values) | ({} if step is None else {"samples_seen": step}))

    def finish(self, result: Result) -> None:
        """Put the metrics into the run's summary, the configuration into its config, and close it."""
        self._run.config.update(dict(result.config))
        for model, trained in result.downstream.items():
            for evaluation, metrics in trained.evaluations.items():
                for metric in metrics:
                    if metric.value is not None:
                        self._run.summary[f"{model}/{evaluation}/{metric.name}"] = metric.value
        for kind, count in result.kept.items():
            self._run.summary[f"kept/{kind}"] = count
        self._run.summary["threshold"] = result.selection.threshold
        self._run.finish()


def has_key() -> bool:
    """Tell whether W&B can log online: a key in the environment or in netrc."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    host = urlparse(os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai")).hostname or ""
    try:
        return netrc.netrc(os.environ.get("NETRC")).authenticators(host) is not None
    except (OSError, netrc.NetrcParseError):
        return False
