"""What a profile knows of each sample: scores of filters, which other runs on the pool share through the cache."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import NO_SCORE
from benchmark.core.errors import UserError
from benchmark.core.uids import UidArray, find_uids, unite_uids
from benchmark.engine.base import Engine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import ScoreTable, score_pool
from filters.base import Filter
from filters.clip import Clip
from filters.cotr import Cotr
from filters.no_text import NoText
from filters.ocr.spotter import TextSpotter
from filters.text_removal import RandomAreaRemovedClip, TextRemovedClip

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Measurements:
    """n samples, sorted by uid: shape (n,) each.

    `text`: whether there is text in the image that can be read. `cotr`, `fuzzy`: the share of the caption that is
    in it. Cosines of caption and image: `clip` of the image as it is, then with text inpainted (section 5.1):
    `all_removed`, `co_removed`, and with other images' areas in its place `random_all`, `random_co`. An image
    without such text is as it was.
    """

    uids: UidArray
    text: npt.NDArray[np.bool_]
    cotr: Floats
    fuzzy: Floats
    clip: Floats
    all_removed: Floats
    co_removed: Floats
    random_all: Floats
    random_co: Floats

    def __len__(self) -> int:
        return len(self.uids)

    def __getitem__(self, rows: npt.NDArray[np.bool_]) -> "Measurements":
        return Measurements(**{name: values[rows] for name, values in vars(self).items()})

    @property
    def parrot(self) -> npt.NDArray[np.bool_]:
        """Whether the caption repeats a word of its image (section 3)."""
        return self.cotr > 0


def measuring_filters(spotter: TextSpotter, clip: Mapping[str, Any]) -> dict[str, Filter]:
    """Return the filters whose scores a profile is made of; `clip` is ``model`` and ``pretrained``."""
    removal = {**clip, "ocr": spotter, "fill": "inpaint"}
    return {
        # The first one needs every feature, so that workers extract them all before anything else is scored.
        "co_removed": TextRemovedClip(area="co", **removal),
        "all_removed": TextRemovedClip(area="all", **removal),
        "random_co": RandomAreaRemovedClip(area="co", **removal),
        "random_all": RandomAreaRemovedClip(area="all", **removal),
        "clip": Clip(**clip),
        "text": NoText(spotter),
        "cotr": Cotr(spotter, "exact"),
        "fuzzy": Cotr(spotter, "fuzzy"),
    }


def measure(
    pool: Pool, filters: Mapping[str, Filter], legible: float, engine: Engine
) -> tuple[Measurements, Counter[str], float]:
    """Score the pool, or read what earlier runs scored; return it with the dropped samples and worker seconds."""
    tables = {name: score_pool(pool, scorer, engine) for name, scorer in filters.items()}
    measured, unscored = join(tables, legible)
    drops: Counter[str] = Counter()
    for table in tables.values():
        drops |= table.drops  # the filters read the same pool: the same sample dropped twice counts once
    if unscored:
        drops[NO_SCORE] += unscored
    if not len(measured):
        raise UserError(f"no sample of pool {pool.name} could be profiled: {dict(drops)}")
    features = {key: seconds for table in tables.values() for key, seconds in table.features.items()}
    return measured, drops, sum(table.own_seconds for table in tables.values()) + sum(features.values())


def join(tables: Mapping[str, ScoreTable], legible: float) -> tuple[Measurements, int]:
    """Join scores by uid; return the samples that have all of them, and how many lack one.

    `legible`: the confidence from which a line counts as text.
    """
    uids = unite_uids([table.uids for table in tables.values()])
    columns = {}
    for name, table in tables.items():
        columns[name] = np.full(len(uids), np.nan, np.float32)
        columns[name][find_uids(uids, table.uids)] = table.scores
    whole = np.isfinite(np.stack(list(columns.values()))).all(axis=0)
    columns = {name: values[whole] for name, values in columns.items()}
    text = -columns.pop("text") >= np.float32(legible)
    columns |= {name: 0.0 - columns[name] for name in ("cotr", "fuzzy")}  # the filters score minus the rate
    return Measurements(uids=uids[whole], text=text, **columns), int((~whole).sum())
