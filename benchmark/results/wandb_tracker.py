"""Weights & Biases: online when there is a key, offline when there is none, never a prompt."""

import io
import json
import netrc
import os
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from PIL import Image

from benchmark.core.progress import CaptionedImage
from benchmark.core.sanitize import visible
from benchmark.results.result import Result
from benchmark.results.run_folder import GalleryPair, RunFiles
from benchmark.results.selection_summary import Histogram
from benchmark.results.trackers import (
    EXAMPLES,
    HISTOGRAM,
    METRICS,
    PAIRS,
    SAMPLES_SEEN,
    RunFacts,
    Tracker,
    metric_rows,
    result_values,
)

BLOCK, HEADER = 32768, 7  # bytes of LevelDB's log format, in which W&B writes the file of a run
WHOLE, LAST = 1, 4  # kinds of a part of a record


class WandbTracker(Tracker):
    """Logs one run. Runs of one sweep share `group`; without `entity`, a team, the user is meant."""

    def __init__(self, project: str, group: str, entity: str | None = None) -> None:
        self.project = project
        self.group = group
        self.entity = entity
        self._prefixes: set[str] = set()

    @property
    def _wandb(self) -> Any:
        import wandb  # takes a second

        return wandb

    def start(self, run: RunFacts) -> None:
        """Open the run. A run that was killed, or is repeated, goes on under the same id, after its last step."""
        self._facts = run
        mode: Any = os.environ.get("WANDB_MODE") or ("online" if has_key() else "offline")
        self._run = self._wandb.init(
            project=self.project,
            group=self.group,
            entity=self.entity,
            id=_allowed(run.run_id),
            name=run.run_id,
            resume="allow",
            job_type=run.task,
            tags=[tag[:64] for tag in run.tags()],  # W&B's limit
            config=dict(run.config) | run.columns(),
            mode=mode,
            reinit="finish_previous",
            # Its metadata would be the command line, whose URLs may have credentials, and the machine's name.
            settings=self._wandb.Settings(silent=True, x_disable_meta=True),
        )
        step, self._last = logged_before(Path(self._run.settings.wandb_dir), self._run.id)
        self._step = max(step, self._run.step)

    def log(self, values: Mapping[str, Any], step: int | None = None) -> None:
        """Log values with `step` as ``samples_seen`` of the model that their names begin with, their axis.

        Values that the run logged before it was interrupted are left out, so that each is in one file only.
        """
        if step is not None:
            values = {name: value for name, value in values.items() if step > self._last.get(name, -1)}
        if not values:
            return
        seen = {} if step is None else {f"{name.partition('/')[0]}/{SAMPLES_SEEN}": step for name in values}
        for axis in seen.keys() - self._prefixes:
            self._run.define_metric(axis)
            self._run.define_metric(axis.replace(SAMPLES_SEEN, "*"), step_metric=axis)
            self._prefixes.add(axis)
        self._run.log({**values, **seen}, step=self._step, commit=True)
        self._step += 1

    def log_captions(self, name: str, captions: Sequence[CaptionedImage], step: int) -> None:
        """Log a table of the captions with their images."""
        rows = [[self._wandb.Image(c.image), visible(c.caption), _lines(c.references)] for c in captions]
        self.log({name: self._wandb.Table(["image", "caption", "references"], rows)}, step)

    def finish(self, result: Result, folder: Path, references: Sequence[Result]) -> None:
        """Put the metrics into the run's summary; log them, the selection, the examples and the files, and close."""
        self._run.summary.update(result_values(result, references))
        rows = metric_rows(result, references)
        self.log({METRICS: self._wandb.Table([*rows[0]], [[*row.values()] for row in rows])} if rows else {})
        files = RunFiles(folder)
        if summary := files.summary():
            self._log_scores(summary.scores, result.filter)
        self._log_pairs(files.gallery())
        for model in result.downstream:
            self._log_examples(model, files)
        self._log_files(result, folder)
        self._run.finish()

    def _log_scores(self, scores: Histogram, filter_name: str) -> None:
        """Log a table of the scores of all and of kept pairs, which a chart of several runs reads."""
        table = self._wandb.Table(["score", "share", "pairs"])
        for name, counts in (("pool", scores.pool), ("kept", scores.kept)):
            for ends, count in zip(pairwise(scores.edges), counts, strict=True):
                table.add_data(sum(ends) / 2, count / max(1, sum(counts)), f"{filter_name}: {name}")
        self.log({HISTOGRAM: table})

    def _log_pairs(self, pairs: Sequence[GalleryPair]) -> None:
        table = self._wandb.Table(["place", "image", "caption", "score", "uid"])
        for pair in pairs:
            table.add_data(
                pair.place, self._image(pair.thumbnail), visible(pair.caption), pair.score, pair.uid
            )
        if table.data:
            self.log({PAIRS: table})

    def _log_examples(self, model: str, files: RunFiles) -> None:
        """Log the captions that the trained `model` wrote for the examples of the evaluation sets."""
        table = self._wandb.Table(["evaluation", "image", "caption", "references"])
        for example, caption in files.captioned_examples(model):
            image, references = self._image(example.thumbnail), _lines(example.references)
            table.add_data(example.evaluation, image, visible(caption), references)
        if table.data:
            self.log({f"{model}/{EXAMPLES}": table})

    def _log_files(self, result: Result, folder: Path) -> None:
        """Log the subset and the result as artifacts. The subset's is named by its uids, so that runs share it."""
        subset = self._wandb.Artifact(f"subset-{result.selection.sha256[:16]}", type="subset")
        for name in result.selection.files:
            subset.add_file(str(Path(result.subset).with_name(name)))
        with subset.new_file("manifest.json") as file:
            json.dump(asdict(result.selection), file, indent=2)
        record = self._wandb.Artifact(f"result-{self._run.id}", type="result")
        record.add_file(f"{folder}.json")
        aliases = [_allowed(self._facts.filter_name), _allowed(self._facts.size_name)]
        for artifact in (subset, record):
            self._run.log_artifact(artifact, aliases=aliases)

    def _image(self, thumbnail: bytes) -> Any:
        """Return a JPEG as a cell of a table; None without one."""
        image = Image.open(io.BytesIO(thumbnail)).convert("RGB") if thumbnail else None
        return image and self._wandb.Image(image, file_type="jpg")


def logged_before(folder: Path, run_id: str) -> tuple[int, dict[str, int]]:
    """Return the next step of a run, and by name the samples seen at its last value, by its files in W&B's folder."""
    files = [path for path in folder.glob("*run-*/run-*.wandb") if path.name == f"run-{run_id}.wandb"]
    records = [record for path in files for record in read_records(path)]
    step, last = 0, dict[str, int]()
    for history in (r.history for r in records if r.WhichOneof("record_type") == "history"):
        step = max(step, history.step.num + 1)
        row = {(item.key or item.nested_key[0]): item.value_json for item in history.item}
        for name in row:
            seen = int(row.get(f"{name.partition('/')[0]}/{SAMPLES_SEEN}", -1))
            last[name] = max(seen, last.get(name, -1))
    return step, last


def read_records(path: Path) -> Iterator[Any]:
    """Yield the records of a file that W&B wrote, up to the interruption."""
    from wandb.proto import wandb_internal_pb2 as messages  # takes as long as wandb

    data, message, position = path.read_bytes(), b"", HEADER
    while position + HEADER <= len(data):
        _, length, kind = struct.unpack_from("<IHB", data, position)
        if (left := BLOCK - position % BLOCK) < HEADER or kind == 0:  # padding at the end of a block
            position += left
            continue
        message += data[position + HEADER : position + HEADER + length]
        position += HEADER + length
        if kind in (WHOLE, LAST) and position <= len(data):
            yield messages.Record.FromString(message)  # type: ignore[attr-defined]
            message = b""


def _allowed(name: str) -> str:
    """Return `name` without the characters that W&B refuses in ids and aliases."""
    return re.sub(r"[/\\#?%:]", "-", name)


def _lines(references: Sequence[str]) -> str:
    """Return a line per reference."""
    return "\n".join(map(visible, references))


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
