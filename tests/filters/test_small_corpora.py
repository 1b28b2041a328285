"""Filters that are fitted on a corpus, on a single pair and on none."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmark.core.batch import Batch
from filters.embeddings.corpus import CorpusFilter
from filters.image_based import ImageBased
from filters.near_duplicates import NearDuplicates
from filters.negcliploss import NegClipLoss
from filters.normsim import NormSim
from filters.vas import Vas
from tests.corpora import fit
from tests.extras import needs_extra
from tests.pools import hashed_uids

pytestmark = [needs_extra("clusters"), needs_extra("language")]
# Each filter, given the path of a target, and its score of a single pair of equal embeddings.
FILTERS: dict[str, tuple[Callable[[str], CorpusFilter], float]] = {
    "image_based": (lambda target: ImageBased("unused", None, target, clusters=100), 1),
    "near_duplicates": (lambda _: NearDuplicates("unused", None, clusters=2), 2),
    "negcliploss": (lambda _: NegClipLoss("unused", None, 32768, 10, 0.01), 0),
    "normsim": (lambda _: NormSim("unused", None, 2, None, 500), 0),
    "vas": (lambda _: Vas("unused", None, None), 1),
}


@pytest.mark.parametrize("name", FILTERS)
def test_one_pair_has_a_score_and_no_pair_is_no_error(name: str, tmp_path: Path) -> None:
    make, expected = FILTERS[name]
    np.save(tmp_path / "target.npy", np.eye(1, 6))
    scorer = make(str(tmp_path / "target.npy"))
    points = np.eye(1, 6, dtype=np.float32)
    one = Batch(hashed_uids(1), ["a dog is lying on the beach"], features={"image": points, "text": points})
    fit(scorer, [one])
    assert scorer.score(one) == pytest.approx([expected], abs=1e-6)
    fit(scorer, [])
    if name != "vas":  # the moment of no image has no width
        assert scorer.score(one.take([])).shape == (0,)
