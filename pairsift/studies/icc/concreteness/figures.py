"""Figures of the ICC paper on concreteness, drawn again, see `pairsift.studies.figures`."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmark.core.errors import UserError
from benchmark.core.extras import require
from benchmark.core.ranges import PositiveInt
from benchmark.pool.pool import Pool
from benchmark.results.gallery import thumbnail
from benchmark.results.page.charts import BLUE, ORANGE
from benchmark.results.report.table import Table
from filters.base import Scores
from filters.icc.autoencoder import caption_seed, one_line
from filters.icc.combine import fit_combination
from filters.icc.modes import DirectScorer
from filters.icc.standardize import caption_length
from filters.icc.vba import VisualBottleneck
from pairsift.studies.figures import Filters, image_cell, numbers, score, svg, text_cell
from pairsift.studies.icc.concreteness.rated_texts import RatedTexts, read_annotations
from pairsift.studies.profile.web_likeness.caption_profile import sample_captions

FEWEST = 5  # captions of one length that get a box


def reconstructions(
    pool: Pool,
    device: torch.device,
    seed: int,
    filters: Filters,
    highest: bool = True,
    count: PositiveInt = 8,
    candidates: PositiveInt = 40,
    samples: PositiveInt = 2000,
) -> list[Table]:
    """Return captions of the highest or lowest ICC with reconstructions, VBA's image, and three scores.

    SBA and VBA differ most on the first half of them, as in the paper, and agree most on the second. `filters` are
    `SBA` and `VBA` in direct mode, and `ICC`. Of `samples` random captions of the pool, the `candidates` with the
    highest or lowest scores are reconstructed, and `count` of these are shown.
    """
    texts = sorted({one_line(text) for text in sample_captions(pool, samples, seed)})
    icc = score(filters["ICC"], texts, device)
    best = np.argsort(-icc if highest else icc, kind="stable")[:candidates]
    texts, icc = [texts[row] for row in best], icc[best]
    (by_sba, _, sba), (by_vba, _, vba) = (rebuild(filters, name, texts, device) for name in ("SBA", "VBA"))
    gaps = np.argsort(-np.abs(sba - vba), kind="stable").tolist()
    chosen = gaps[: count - count // 2] + gaps[count - count // 2 :][-(count // 2) :]
    drawn, pipeline = [texts[row] for row in chosen], getattr(filters["VBA"], "autoencoder", None)
    assert isinstance(pipeline, VisualBottleneck)
    rows = []
    generated = pipeline.text_to_image.generate(drawn, [*map(caption_seed, drawn)])
    for row, image in zip(chosen, generated, strict=True):
        jpeg = thumbnail(image.convert("RGB"))
        cells = [*map(text_cell, (texts[row], by_sba[row], by_vba[row])), image_cell(jpeg)]
        rows.append(cells + numbers(sba[row], vba[row], icc[row]))
    by_both = (f"{name} reconstructed caption" for name in ("SBA", "VBA"))
    header = ["Input caption", *by_both, "VBA bottleneck image"]
    note = "SBA and VBA differ most on the first half, and agree most on the second."
    title = f"Captions of {'high' if highest else 'low'} ICC"
    return [Table(title, [*header, "SBA", "VBA", "ICC"], rows, [note])]


def lengths(
    pool: Pool, device: torch.device, seed: int, filters: Filters, samples: PositiveInt = 1000
) -> str:
    """Return boxes of SBA's similarities by the number of words, before and after standardising.

    `filters` has `SBA` in direct mode, which reconstructs `samples` random captions of the pool.
    """
    require("studies", "matplotlib")
    texts = sample_captions(pool, samples, seed)
    _, before, after = rebuild(filters, "SBA", texts, device)
    words = np.array([*map(caption_length, texts)])
    shown = [n for n in np.unique(words).tolist() if (words == n).sum() >= FEWEST]

    def draw(axes: Any) -> None:
        for axis, title, values in zip(axes, ("before", "after"), (before, after), strict=True):
            axis.boxplot([values[words == n] for n in shown], positions=shown, whis=(5, 95), sym="")
            axis.set(title=f"{title} standardising", xlabel="words", ylabel="SBA similarity", ylim=(0, 1))
            axis.set_xticks(shown[:: 1 + len(shown) // 12], shown[:: 1 + len(shown) // 12])

    return svg(draw, 11, 4, columns=2)


def regression(device: torch.device, filters: Filters, annotations: RatedTexts | str | None = None) -> str:
    """Return rated captions, or those of a file, by `SBA` and `VBA`, and where their combination is one half."""
    require("studies", "matplotlib")
    rated = _rated(annotations)
    sba, vba = (score(filters[name], rated.texts, device) for name in ("SBA", "VBA"))
    line, ends = fit_combination(vba, sba, rated.ratings), np.array([0.0, 1.0])

    def draw(axes: Any) -> None:
        points = axes[0].scatter(sba, vba, c=rated.ratings, cmap="viridis", s=18)
        axes[0].figure.colorbar(points, label="rating")
        axes[0].plot(ends, -(line.c + line.b * ends) / line.a, color=ORANGE)
        title = f"{line.a:.1f} VBA {line.b:+.1f} SBA {line.c:+.1f} = 0, {len(rated.texts):,} captions"
        axes[0].set(title=title, xlabel="SBA", ylabel="VBA", xlim=(0, 1), ylim=(0, 1))

    return svg(draw, 6, 5)


def histogram(annotations: RatedTexts | str | None = None) -> str:
    """Return a histogram of ratings; `annotations` as for `regression`."""
    require("studies", "matplotlib")
    rated = _rated(annotations)

    def draw(axes: Any) -> None:
        axes[0].hist(rated.ratings, np.arange(-0.125, rated.ratings.max() + 0.25, 0.25), color=BLUE)
        title = f"{len(rated.texts):,} captions, mean {rated.ratings.mean():.2f}"
        axes[0].set(title=title, xlabel="annotated concreteness", ylabel="captions")

    return svg(draw, 6, 4)


def rebuild(
    filters: Filters, name: str, texts: list[str], device: torch.device
) -> tuple[list[str], Scores, Scores]:
    """Return the most similar reconstruction of each of n captions, their similarities and their scores, (n,)."""
    scorer = filters[name]
    if not isinstance(scorer, DirectScorer):
        raise UserError(f"figure.filters.{name}.mode must be direct")
    scorer.setup(device)
    best = [
        beams[int(scorer.similarity.compare([text] * len(beams), beams).argmax())]
        for text, beams in zip(texts, scorer.autoencoder.reconstruct(texts), strict=True)
    ]
    similarities = scorer.similarity.compare(texts, best)
    scores = scorer.standardizer(texts, similarities) if scorer.standardizer else similarities
    return best, similarities, scores


def _rated(annotations: RatedTexts | str | None) -> RatedTexts:
    if annotations is None:
        raise UserError("figure.annotations=FILE must be given, a CSV as task=annotation writes")
    setting = "figure.annotations"
    return read_annotations(Path(annotations), setting) if isinstance(annotations, str) else annotations
