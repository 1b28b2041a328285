"""Measurements of each sample: scores of filters, which other runs on the pool share through the cache."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import NO_SCORE, counts
from benchmark.core.errors import UserError
from benchmark.core.uids import UidArray
from benchmark.engine.base import Engine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_parts import add_filters, total_cost
from benchmark.scoring.score_pool import score_pool
from benchmark.scoring.score_table import ScoreTable, join_scores
from filters.base import Filter
from filters.clip import Clip
from filters.cotr import Cotr
from filters.no_text import NoText
from filters.ocr.features import TextSpotter
from filters.text_removal import RandomAreaRemovedClip, TextRemovedClip
from filters.word_removal import RandomWordsRemovedClip, WordsRemovedClip

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Measurements:
    """Measurements of n samples, sorted by uid, shape (n,) each.

    Cosines of images without such text equal `clip`.
    """

    uids: UidArray  # sorted
    text: npt.NDArray[np.bool_]  # whether the image has legible text
    cotr: Floats  # co-embedded text rate, the fraction of the caption's words that are in that text
    fuzzy: Floats  # the same with fuzzy matching
    clip: Floats  # cosine of caption and image
    all_removed: Floats  # cosine after all text is inpainted (Lin et al. 2023, section 5.1).
    co_removed: Floats  # cosine after co-embedded words are inpainted
    random_all: Floats  # cosine after the areas of another image's text are inpainted, a control
    random_co: Floats  # cosine after the areas of another image's co-embedded text are inpainted, a control

    def __len__(self) -> int:
        return len(self.uids)

    def __getitem__(self, rows: npt.NDArray[np.bool_]) -> "Measurements":
        return Measurements(**{name: values[rows] for name, values in vars(self).items()})

    @property
    def parrot(self) -> npt.NDArray[np.bool_]:
        """Whether the caption repeats a word of the image's text (section 3)."""
        return self.cotr > 0


def measuring_filters(spotter: TextSpotter, clip: Mapping[str, Any]) -> dict[str, Filter]:
    """Return the filters that measure each column; `clip` has the settings of `Clip`."""
    removal = {**clip, "ocr": spotter, "fill": "inpaint"}
    return {
        # The first filter needs every feature, so that workers extract all of them in one pass over the shards.
        "co_removed": WordsRemovedClip(**removal),
        "all_removed": TextRemovedClip(area="all", **removal),
        "random_co": RandomWordsRemovedClip(**removal),
        "random_all": RandomAreaRemovedClip(area="all", **removal),
        "clip": Clip(**clip),
        "text": NoText(spotter),
        "cotr": Cotr(spotter, "exact"),
        "fuzzy": Cotr(spotter, "fuzzy"),
    }


def measure(
    pool: Pool, filters: Mapping[str, Filter], legible: float, engine: Engine
) -> tuple[Measurements, Counter[str], float]:
    """Score the pool, or read scores from the cache; return measurements, drop counts by reason and worker seconds.

    `legible` is the confidence from which a line counts as text. Raises `UserError` when no sample can be measured.
    """
    tables = {name: score_pool(pool, scorer, engine) for name, scorer in filters.items()}
    measured, unscored = join(tables, legible)
    drops: Counter[str] = Counter()
    for table in tables.values():
        drops |= table.drops  # the largest count: filters that read the same pool drop the same samples
    if unscored:
        drops[NO_SCORE] += unscored
    if not len(measured):
        raise UserError(
            f"pool={pool.name}: no sample can be profiled ({counts(drops)}); choose a pool with captions and images"
        )
    return measured, drops, total_cost(add_filters(table.costs for table in tables.values())).clock


def join(tables: Mapping[str, ScoreTable], legible: float) -> tuple[Measurements, int]:
    """Join scores by uid; return the samples that have all scores, and the number of the other samples.

    `legible` is the confidence from which a line counts as text.
    """
    uids, scores = join_scores([*tables.values()])
    complete = np.isfinite(np.stack(scores)).all(axis=0)
    columns = {name: values[complete].astype(np.float32) for name, values in zip(tables, scores, strict=True)}
    text = -columns.pop("text") >= np.float32(legible)
    columns |= {name: 0.0 - columns[name] for name in ("cotr", "fuzzy")}  # the filters return minus the rate
    return Measurements(uids=uids[complete], text=text, **columns), int((~complete).sum())
