"""What a profile knows of each sample: scores of filters, which other runs on the pool share through the cache."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.batch import NO_SCORE, Batch
from benchmark.engine.base import Engine
from benchmark.errors import UserError
from benchmark.pool import Pool
from benchmark.scores import ScoreTable, find_uids, score_pool
from benchmark.uids import UidArray, sort_uids
from filters.base import Filter, Scores
from filters.clip import Clip
from filters.cotr import Cotr
from filters.no_text import NoText
from filters.ocr.features import TextRecognition
from filters.ocr.spotter import TextSpotter
from filters.text_removal import RandomAreaRemovedClip, TextRemovedClip

# Confidence from which a line counts as text: detectors find text in petals and wheels, of which readers are unsure.
# Of 2,000 demo images it takes 99.2% of those with text and 3.8% of the others; 0.5 takes 99.3% and 12.4%, detection
# alone 99.4% and 27.8%.
LEGIBLE = 0.8
Floats = npt.NDArray[np.float32]


class Legibility(Filter):
    """How sure the reader is of the surest line in an image; 0 where nothing was read."""

    needs = frozenset()

    def __init__(self, ocr: TextSpotter) -> None:
        self.features = (TextRecognition(ocr),)

    def score(self, batch: Batch) -> Scores:
        """Return confidences of shape (n,), from 0 to 1."""
        lines = zip(batch.features["words"], batch.features["confidences"], strict=True)
        surest = [
            max((sure for word, sure in zip(words, confidences, strict=True) if word.strip()), default=0.0)
            for words, confidences in lines
        ]
        return np.array(surest, np.float32)


@dataclass(frozen=True)
class Measurements:
    """n samples, sorted by uid: shape (n,) each.

    `area`: whether detection alone finds text in the image, as the filter ``no_text`` has it; `text`: whether some of
    it can be read, which is what the paper's spotter calls text. `cotr`, `fuzzy`: the share of the caption that is
    in it. Cosines of caption and image: `clip` of the image as it is, then with text inpainted (section 5.1):
    `all_removed`, `co_removed`, and with other images' areas in its place `random_all`, `random_co`. An image
    without such text is as it was.
    """

    uids: UidArray
    area: npt.NDArray[np.bool_]
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
        "area": NoText(spotter),
        "text": Legibility(spotter),
        "cotr": Cotr(spotter, "exact"),
        "fuzzy": Cotr(spotter, "fuzzy"),
    }


def measure(
    pool: Pool, filters: Mapping[str, Filter], engine: Engine
) -> tuple[Measurements, Counter[str], float]:
    """Score the pool, or read what earlier runs scored; return it with the dropped samples and worker seconds."""
    tables = {name: score_pool(pool, scorer, engine) for name, scorer in filters.items()}
    measured, unscored = join(tables)
    drops: Counter[str] = Counter()
    for table in tables.values():
        drops |= table.drops  # the filters read the same pool: the same sample dropped twice counts once
    if unscored:
        drops[NO_SCORE] += unscored
    if not len(measured):
        raise UserError(f"no sample of pool {pool.name} could be profiled: {dict(drops)}")
    features = {key: seconds for table in tables.values() for key, seconds in table.features.items()}
    return measured, drops, sum(table.own_seconds for table in tables.values()) + sum(features.values())


def join(tables: Mapping[str, ScoreTable]) -> tuple[Measurements, int]:
    """Join scores by uid; return the samples that have all of them, and how many lack one."""
    uids = np.concatenate([table.uids for table in tables.values()])
    uids = uids[sort_uids(uids)]
    first = np.ones(len(uids), bool)
    first[1:] = uids[1:] != uids[:-1]
    uids = uids[first]
    columns = {}
    for name, table in tables.items():
        columns[name] = np.full(len(uids), np.nan, np.float32)
        columns[name][find_uids(uids, table.uids)] = table.scores
    whole = np.isfinite(np.stack(list(columns.values()))).all(axis=0)
    columns = {name: values[whole] for name, values in columns.items()}
    area, text = columns.pop("area") < 0, columns.pop("text") >= LEGIBLE
    # The filters score minus the rate. Of an image without text nothing is repeated, whatever was guessed there.
    columns |= {name: np.where(text, 0.0 - columns[name], 0).astype(np.float32) for name in ("cotr", "fuzzy")}
    return Measurements(uids=uids[whole], area=area, text=text, **columns), int((~whole).sum())
