from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.core.batch import Batch
from benchmark.core.requirements import State
from benchmark.core.uids import decode_uids, encode_uids
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import score_pool
from filters.base import Features
from filters.composite import Cascade
from filters.debiased import debiased
from filters.near_duplicates import NearDuplicates
from filters.random import Random
from tests.extras import needs_extra
from tests.filters.ocr.spotters import PlantedText
from tests.pools import rows, write_pool

pytestmark = needs_extra("clusters")

# Per pair: the direction of its image, its CLIP score, and how surely text is in the image.
PAIRS = [("a", 0.9, 0.99), ("a", 0.8, 0), ("b", 0.7, 0), ("b", 0.6, 0.5), ("b", 0.2, 0), ("c", 0.5, 0)]
DIRECTIONS = {"a": [1, 0, 0], "b": [0, 1, 0], "c": [0, 0, 1]}


class Planted(Features):
    """Embeddings with these cosines in their last two dimensions, and the text."""

    needs = frozenset({"text"})

    def extract(self, batch: Batch) -> dict[str, Any]:
        pairs = [PAIRS[int(text.split()[-1])] for text in batch.texts]
        images = np.array([[*DIRECTIONS[name], 0] for name, _, _ in pairs], np.float32)
        texts = np.array([[*np.multiply(DIRECTIONS[name], c), np.sqrt(1 - c * c)] for name, c, _ in pairs])
        sure = [[confidence] for _, _, confidence in pairs]
        words = [["x"]] * len(pairs)
        return {"image": images, "text": texts.astype(np.float32), "words": words, "confidences": sure}


def made(seed: int) -> Cascade:
    clip = {"model": "unused", "pretrained": None}
    found = debiased(clip, PlantedText({}), 0.3, clip | {"head": None}, 4.5, 1, 0.95, seed)
    for name in ("no_text", "clip", "distinct"):
        found.filters[name].features = (Planted(),)
    return found


@pytest.mark.parametrize("seed", [0, 1])
def test_duplicates_are_removed_among_those_that_pass(tmp_path: Path, seed: int) -> None:
    """Pair 0 is preferred to 1 but has text; 2 is preferred to 3; 4 is a duplicate with a low CLIP score."""
    pool = Pool("p", str(write_pool(tmp_path / "pool", [rows(4), rows(2, start=4)])))
    table = score_pool(pool, made(seed), LocalEngine("cpu", 1))
    kept = dict(zip(decode_uids(table.uids), table.scores.tolist(), strict=True))
    drawn = Random(seed).score(Batch(encode_uids([row.uid for row in rows(6)]), []))
    expected = np.where([False, True, True, False, False, True], drawn, np.nan)
    assert [kept[row.uid] for row in rows(6)] == pytest.approx(expected.tolist(), nan_ok=True)


def test_it_says_that_it_leaves_the_aesthetics_step_out() -> None:
    lines = [r.detail for r in made(0).requirements() if r.state is State.WITHOUT]
    assert lines == ["the step of aesthetics above 4.5 is left out; filter.aesthetics.head=FILE adds it"]


def test_k_means_has_the_papers_iterations_and_starts_and_the_seed_counts() -> None:
    distinct = made(0).filters["distinct"]
    assert isinstance(distinct, NearDuplicates)
    assert (distinct.iterations, distinct.restarts) == (300, 10)
    assert made(0).key() != made(1).key()
