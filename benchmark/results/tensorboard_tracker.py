"""TensorBoard: one folder of event files per run; steps are samples seen."""

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from benchmark.core.extras import require
from benchmark.core.images import THUMBNAIL
from benchmark.core.sanitize import visible
from benchmark.results.result import Result
from benchmark.results.run_folder import RunFiles
from benchmark.results.trackers import PAIRS, VERDICT, Row, RunFacts, Tracker, result_values, sample_tables

MARKUP = frozenset("<>&\"'|`*_[]()!\\#~")


class TensorBoardTracker(Tracker):
    """Logs one run to `folder`/<run_id>. A run that was killed, or is repeated, adds a file there."""

    def __init__(self, folder: str) -> None:
        require("tensorboard")
        self.folder = Path(folder)

    def start(self, run: RunFacts) -> None:
        """Open the event file, and log the configuration."""
        from torch.utils.tensorboard import SummaryWriter

        self._facts = run
        self._writer: Any = SummaryWriter(str(self.folder / run.run_id))
        for name, facts in (("run", run.columns), ("config", run.config)):
            self._writer.add_text(name, f"<pre>{html.escape(json.dumps(facts, indent=2))}</pre>")

    def log(self, values: Mapping[str, float], step: int | None = None) -> None:
        """Log numbers at `step` samples seen."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def log_table(self, name: str, rows: Sequence[Row], step: int | None = None) -> None:
        """Log rows as text, and their images as one strip in the same order, if there are any."""
        if rows:
            header = [column for column in rows[0] if column != "thumbnail"]
            table = _table(header, [[row[column] for column in header] for row in rows])
            self._writer.add_text(name, table, step)
            self._writer.add_image(name, _strip(row["thumbnail"] for row in rows), step, dataformats="HWC")

    def finish(
        self, result: Result, folder: Path, references: Sequence[Result], verdict: Sequence[str]
    ) -> None:
        """Log metrics, settings, the selection and the examples, and close."""
        from torch.utils.tensorboard.summary import hparams

        values = result_values(result, references)
        self.log(values)
        self._writer.add_text(VERDICT, "\n\n".join(map(_text, verdict)))
        for part in hparams(self._facts.columns, values):  # add_hparams would make a separate run
            self._writer.file_writer.add_summary(part)
        if summary := RunFiles(folder).summary():
            scores = summary.scores
            self._log_histogram("selection/scores_pool", scores.edges, scores.pool)
            self._log_histogram("selection/scores_kept", scores.edges, scores.kept)
        tables = sample_tables(result, folder)
        place = itemgetter("place")
        for name, rows in groupby(sorted(tables.pop(PAIRS), key=place), place):
            self.log_table(f"selection/{name}", [*rows])
        for name, examples in tables.items():
            self.log_table(name, examples)
        self._writer.close()

    def _log_histogram(self, name: str, edges: Sequence[float], counts: Sequence[int]) -> None:
        middles = np.convolve(edges, [0.5, 0.5], "valid")
        total = np.array(counts, float)
        self._writer.add_histogram_raw(
            name,
            min=edges[0],
            max=edges[-1],
            num=int(total.sum()),
            sum=float(total @ middles),
            sum_squares=float(total @ middles**2),
            bucket_limits=list(edges[1:]),
            bucket_counts=list(counts),
        )


def _strip(images: Iterator[Image.Image | None]) -> npt.NDArray[np.uint8]:
    """Return images side by side, each in a square of `THUMBNAIL` pixels, grey without one; (height, width, 3)."""
    squares = []
    for image in images:
        square = Image.new("RGB", (THUMBNAIL, THUMBNAIL), "white" if image else "grey")
        if image:
            image.thumbnail((THUMBNAIL, THUMBNAIL))
            square.paste(image, (0, 0))
        squares.append(np.asarray(square))
    return np.concatenate(squares, axis=1)


def _table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a Markdown table; what is in a cell stays text."""
    lines = [header, ["---"] * len(header), *([_text(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _text(cell: Any) -> str:
    """Return `cell` as one line without HTML or Markdown that would be interpreted."""
    text = " / ".join(cell) if isinstance(cell, tuple) else f"{cell:.4g}" if isinstance(cell, float) else cell
    return "".join(f"&#{ord(c)};" if c in MARKUP else c for c in visible(" ".join(text.split())))
