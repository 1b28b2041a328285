"""What corpus filters select from a drawn pool, held as hashes: no change to them may move a uid unnoticed.

Scores and clusters of this pool lie further apart than float errors of other processors and libraries move them.
"""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.core.batch import Batch
from benchmark.core.uids import make_uid
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import score_pool
from benchmark.selection.selection import Selector
from benchmark.selection.top_k import TopK
from filters.base import Features, Filter
from filters.clip import Clip
from filters.composite import Cascade
from filters.debiased import debiased
from filters.embeddings.cluster_labels import ClusterLabels
from filters.image_based import ImageBased
from filters.near_duplicates import distinct
from filters.negcliploss import NegClipLoss
from filters.normsim import NormSim
from filters.vas import Vas
from tests.corpora import unit
from tests.extras import needs_extra
from tests.filters.ocr.spotters import PlantedText
from tests.pools import Row, write_metadata

pytestmark = [needs_extra("clusters"), needs_extra("language")]
PAIRS, WIDTH, TOPICS = 900, 260, 12  # wider than the 256 principal components of near-duplicates
CLIP: dict[str, Any] = {"model": "unused", "pretrained": None}


@cache
def drawn() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Topics, images about them of which a quarter are near-duplicates, and captions near their images."""
    rng = np.random.default_rng(0)
    topics = unit(rng.uniform(-1, 1, (TOPICS, WIDTH)))
    images = topics[np.arange(PAIRS) % TOPICS] + 0.03 * rng.uniform(-1, 1, (PAIRS, WIDTH))
    images[: PAIRS // 4] = images[PAIRS // 4 : PAIRS // 2] + 0.005 * rng.uniform(-1, 1, (PAIRS // 4, WIDTH))
    noise = rng.uniform(0.02, 0.2, (PAIRS, 1))
    return topics, unit(images), unit(images + noise * rng.uniform(-1, 1, (PAIRS, WIDTH)))


class Planted(Features):
    """The drawn embeddings of the pair whose number ends its caption, and a line of text in every fifth image."""

    needs = frozenset({"text"})

    def extract(self, batch: Batch) -> dict[str, Any]:
        numbers = [int(text.split()[-1]) for text in batch.texts]
        _, images, texts = drawn()
        return {
            "image": images[numbers],
            "text": texts[numbers],
            "words": [["x"]] * len(numbers),
            "confidences": [[0.9 * (number % 5 == 0)] for number in numbers],
        }


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Pool:
    folder = tmp_path_factory.mktemp("pool")
    captions = ["a dog is lying on the beach", "a red car in the street", "ein Hund liegt am Strand"]
    rows = [Row("", make_uid("", str(n)), f"{captions[n % 3]} {n}", b"") for n in range(PAIRS)]
    for number, shard in enumerate((rows[:100], rows[100:101], rows[101:])):
        write_metadata(folder / "metadata" / f"{number:08d}.parquet", shard)
    np.save(folder / "target.npy", drawn()[0][:5])
    return Pool("p", str(folder))


def planted(scorer: Filter) -> Filter:
    """The filter on the drawn embeddings; of a cascade, its filters that read some."""
    if isinstance(scorer, Cascade):
        for part in scorer.filters.values():
            planted(part)
    elif scorer.features:
        scorer.features = (Planted(),)
    return scorer


def image_based(folder: Path) -> Filter:
    parts: dict[str, Filter] = {"image_based": ImageBased("m", None, str(folder / "target.npy"), TOPICS)}
    return Cascade(parts | {"clip": Clip("m")}, {"image_based": 1.0})


def clusters(of: str, weight: str, order: str) -> Selector:
    from pairsift.studies.ds_clip.cluster_selector import ClusterSelector

    return ClusterSelector(ClusterLabels(Planted(), of, TOPICS, 0), weight, order)


# Hashes of the selected uids of all epochs, the same as before features were memory-mapped.
CASES: dict[str, tuple[Callable[[Path], Filter], Callable[[], Selector], str]] = {
    "vas": (lambda _: Vas("m", None, None), TopK, "498a120229d39d98"),
    "normsim": (lambda _: NormSim("m", None, 2, None, 50), TopK, "9a72e8ccbb026b71"),
    "negcliploss": (lambda _: NegClipLoss("m", None, 200, 3, 0.01), TopK, "2f50779327654a57"),
    "negcliploss, one batch": (lambda _: NegClipLoss("m", None, 32768, 1, 0.01), TopK, "660140a28cfdb704"),
    "near_duplicates": (lambda _: distinct("m", None, TOPICS, 0.95), TopK, "6f94caf5edb820bd"),
    "image_based": (image_based, TopK, "b98e169c903e675c"),
    "debiased": (
        lambda _: debiased(CLIP, PlantedText({}), 0.3, CLIP | {"head": None}, 4.5, TOPICS, 0.95),
        TopK,
        "e0dcfc081eae5488",
    ),
    "cluster_uniform": (lambda _: Clip("m"), lambda: clusters("image", "size", "random"), "55ab0d32fe253db4"),
    "cluster_weighted": (
        lambda _: Clip("m"),
        lambda: clusters("image", "square_root", "random"),
        "10f75cd51fd9c0fe",
    ),
    "cluster_sorted": (lambda _: Clip("m"), lambda: clusters("text", "size", "score"), "499892cce3985a4f"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_corpus_filter_selects_the_same_uids(name: str, pool: Pool) -> None:
    make, selector, expected = CASES[name]
    engine = LocalEngine("cpu", 1)
    table = score_pool(pool, planted(make(Path(pool.url))), engine)
    epochs = selector().select(table, 80, 3, 0, pool, engine).epochs
    assert hashlib.sha256(b"".join(uids.tobytes() for uids in epochs)).hexdigest()[:16] == expected
