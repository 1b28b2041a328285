"""Weights & Biases: online when there is a key, offline when there is none, never a prompt."""

import json
import netrc
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from PIL import Image

from benchmark.core.sanitize import visible
from benchmark.results.result import Result
from benchmark.results.run_folder import Histogram, RunFiles
from benchmark.results.trackers import (
    HISTOGRAM,
    SAMPLES_SEEN,
    VERDICT,
    Row,
    RunFacts,
    Tracker,
    result_values,
    sample_tables,
)

TAGS = ("pool_name", "filter_name", "size_name")


class WandbTracker(Tracker):
    """Logs one run. Runs of one sweep share `group`; without `entity`, a team, the user is meant."""

    def __init__(self, project: str, group: str, entity: str | None = None) -> None:
        self.project = project
        self.group = group
        self.entity = entity
        self._prefixes: set[str] = set()

    def start(self, run: RunFacts) -> None:
        """Open the run. A run that was killed, or is repeated, goes on under the same id."""
        import wandb  # takes a second

        self._wandb: Any = wandb
        self._facts = run
        mode: Any = os.environ.get("WANDB_MODE") or ("online" if has_key() else "offline")
        self._run = wandb.init(
            project=self.project,
            group=self.group,
            entity=self.entity,
            id=_allowed(run.run_id),
            name=run.run_id,
            resume="allow",
            job_type=run.task,
            tags=[str(run.columns[name])[:64] for name in TAGS],  # W&B's limit
            config={**run.config, **run.columns},
            mode=mode,
            reinit="finish_previous",
            # Its metadata would be the machine's name, and the command line: its URLs may have credentials.
            settings=wandb.Settings(silent=True, x_disable_meta=True),
        )

    def log(self, values: Mapping[str, Any], step: int | None = None) -> None:
        """Log values with `step` as ``samples_seen`` of the model that their names begin with, their axis."""
        seen = {} if step is None else {f"{name.partition('/')[0]}/{SAMPLES_SEEN}": step for name in values}
        for axis in seen.keys() - self._prefixes:
            self._run.define_metric(axis)
            self._run.define_metric(axis.replace(SAMPLES_SEEN, "*"), step_metric=axis)
            self._prefixes.add(axis)
        self._run.log({**values, **seen})

    def log_table(self, name: str, rows: Sequence[Row], step: int | None = None) -> None:
        """Log rows as a table, if there are any."""
        if rows:
            data = [[self._cell(value) for value in row.values()] for row in rows]
            self.log({name: self._wandb.Table([*rows[0]], data)}, step)

    def _cell(self, value: Any) -> Any:
        """Return an image, text, several texts as lines, or a number, as a cell of a table."""
        if isinstance(value, Image.Image):
            return self._wandb.Image(value, file_type="jpg")
        if isinstance(value, tuple):
            return "\n".join(map(visible, value))
        return visible(value) if isinstance(value, str) else value

    def finish(
        self, result: Result, folder: Path, references: Sequence[Result], verdict: Sequence[str]
    ) -> None:
        """Put the metrics into the run's summary; log the selection, the examples and the files, and close."""
        self._run.summary.update({**result_values(result, references), VERDICT: "\n".join(verdict)})
        if summary := RunFiles(folder).summary():
            self._log_scores(summary.scores, result.filter)
        for name, rows in sample_tables(result, folder).items():
            self.log_table(name, rows)
        self._log_files(result, folder)
        self._run.finish()

    def _log_scores(self, scores: Histogram, filter_name: str) -> None:
        """Log a table of the scores of all and of kept pairs, which a chart of several runs reads."""
        rows = [
            {"score": sum(ends) / 2, "share": count / max(1, sum(counts)), "pairs": f"{filter_name}: {name}"}
            for name, counts in (("pool", scores.pool), ("kept", scores.kept))
            for ends, count in zip(pairwise(scores.edges), counts, strict=True)
        ]
        self.log_table(HISTOGRAM, rows)

    def _log_files(self, result: Result, folder: Path) -> None:
        """Log the subset and the result as artifacts. The subset's is named by its uids, so that runs share it."""
        subset = self._wandb.Artifact(f"subset-{result.selection.sha256[:16]}", type="subset")
        for name in result.selection.files:
            subset.add_file(str(Path(result.subset).with_name(name)))
        with subset.new_file("manifest.json") as file:
            json.dump(asdict(result.selection), file, indent=2)
        record = self._wandb.Artifact(f"result-{self._run.id}", type="result")
        record.add_file(f"{folder}.json")
        aliases = [_allowed(str(self._facts.columns[name])) for name in ("filter_name", "size_name")]
        for artifact in (subset, record):
            self._run.log_artifact(artifact, aliases=aliases)


def _allowed(name: str) -> str:
    """Return `name` without the characters that W&B refuses in ids and aliases."""
    return re.sub(r"[/\\#?%:]", "-", name)


def has_key() -> bool:
    """Tell whether W&B can log online: a key in the environment or in netrc."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    import wandb

    own = os.environ.get("WANDB_BASE_URL")  # else W&B's address, which newer versions have two of
    servers = [own] if own else [wandb.Settings().base_url, "https://api.wandb.ai"]
    try:
        known = netrc.netrc(os.environ.get("NETRC"))
    except (OSError, netrc.NetrcParseError):
        return False
    return any(known.authenticators(urlparse(server).netloc) for server in servers)
