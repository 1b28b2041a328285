"""TensorBoard: one folder of event files per run; steps are samples seen."""

import html
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from benchmark.core.extras import require
from benchmark.core.images import THUMBNAIL
from benchmark.core.progress import CaptionedImage
from benchmark.core.sanitize import visible
from benchmark.results.result import Result
from benchmark.results.run_folder import GalleryPair, RunFiles
from benchmark.results.trackers import RunFacts, Tracker, result_values

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
        for name, facts in (("run", run.columns()), ("config", run.config)):
            self._writer.add_text(name, f"<pre>{html.escape(json.dumps(facts, indent=2))}</pre>")

    def log(self, values: Mapping[str, float], step: int | None = None) -> None:
        """Log numbers at `step` samples seen."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def log_captions(self, name: str, captions: Sequence[CaptionedImage], step: int) -> None:
        """Log the captions as text, and their images as one strip in the same order."""
        lines = [[c.caption, " / ".join(c.references)] for c in captions]
        self._writer.add_text(name, _table(["caption", "references"], lines), step)
        self._writer.add_image(f"{name}/images", _strip(c.image for c in captions), step, dataformats="HWC")

    def finish(self, result: Result, folder: Path, references: Sequence[Result]) -> None:
        """Log metrics, settings, the selection and the examples, and close."""
        from torch.utils.tensorboard.summary import hparams

        values = result_values(result, references)
        self.log(values)
        for part in hparams(self._facts.columns(), values):  # add_hparams would make a separate run
            self._writer.file_writer.add_summary(part)
        files = RunFiles(folder)
        if summary := files.summary():
            scores = summary.scores
            self._log_histogram("selection/scores_pool", scores.edges, scores.pool)
            self._log_histogram("selection/scores_kept", scores.edges, scores.kept)
        self._log_pairs(files.gallery())
        for model in result.downstream:
            self._log_examples(model, files)
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

    def _log_pairs(self, pairs: Sequence[GalleryPair]) -> None:
        """Log the pairs of each place: a strip of their images, and their captions in the same order."""
        by_place = sorted(pairs, key=lambda pair: pair.place)
        for place, of_place in groupby(by_place, lambda pair: pair.place):
            shown = list(of_place)
            images = _strip(_picture(pair.thumbnail) for pair in shown)
            self._writer.add_image(f"selection/{place}", images, dataformats="HWC")
            lines = [[f"{pair.score:.4g}", pair.caption] for pair in shown]
            self._writer.add_text(f"selection/{place}", _table(["score", "caption"], lines))

    def _log_examples(self, model: str, files: RunFiles) -> None:
        """Log the captions that the trained `model` wrote for the examples of the evaluation sets."""
        captioned = files.captioned_examples(model)
        if captioned:
            lines = [[e.evaluation, caption, " / ".join(e.references)] for e, caption in captioned]
            self._writer.add_text(f"{model}/examples", _table(["evaluation", "caption", "references"], lines))
            images = _strip(_picture(example.thumbnail) for example, _ in captioned)
            self._writer.add_image(f"{model}/examples", images, dataformats="HWC")


def _picture(thumbnail: bytes) -> Image.Image:
    """Return a JPEG as an image, grey without one."""
    if not thumbnail:
        return Image.new("RGB", (THUMBNAIL, THUMBNAIL), "grey")
    return Image.open(io.BytesIO(thumbnail)).convert("RGB")


def _strip(images: Iterator[Image.Image]) -> npt.NDArray[np.uint8]:
    """Return images side by side, each in a square of `THUMBNAIL` pixels; shape (height, width, 3)."""
    squares = []
    for image in images:
        square = Image.new("RGB", (THUMBNAIL, THUMBNAIL), "white")
        image.thumbnail((THUMBNAIL, THUMBNAIL))
        square.paste(image, (0, 0))
        squares.append(np.asarray(square))
    return np.concatenate(squares, axis=1)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; what is in a cell stays text."""
    lines = [header, ["---"] * len(header), *([_text(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _text(cell: str) -> str:
    """Return `cell` as one line in which neither HTML nor Markdown means anything."""
    return "".join(f"&#{ord(c)};" if c in MARKUP else c for c in visible(" ".join(cell.split())))
