from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from benchmark.core.batch import Batch
from benchmark.core.uids import decode_uids, encode_uids
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import score_pool
from filters.clip import Clip
from filters.english import English
from filters.laion2b import laion2b
from filters.random import Random
from tests.extras import needs_extra
from tests.pools import Row, numbered_uids, write_metadata

pytestmark = needs_extra("language")

CLIP: dict[str, str | None] = {"model": "unused", "pretrained": None}
CAPTIONS = [
    "a dog on the beach",
    "un perro en la playa con su amo",
    "a boat at sea in the evening",
    "a red bicycle",
]


def test_english_alone_is_1_and_the_rest_is_absent() -> None:
    made = English()
    made.setup(torch.device("cpu"))
    texts = [*CAPTIONS, "ein Hund liegt auf dem Sofa", "a dog\non the beach"]
    scores = made.score(Batch(numbered_uids(len(texts)), texts))
    expected = [1, np.nan, 1, 1, np.nan, 1]
    assert scores == pytest.approx(np.array(expected, np.float32), nan_ok=True)


def test_share_of_real_alt_text_that_is_english(shared_data: Path) -> None:
    """The figure in the config's header; gcld3 finds 5,072 of these English."""
    path = shared_data / "laion_alt_text" / "test_10000.parquet"
    if not path.exists():
        pytest.skip("needs laion_alt_text")
    texts = pq.read_table(path, columns=["TEXT"])["TEXT"].to_pylist()
    made = English()
    made.setup(torch.device("cpu"))
    scores = made.score(Batch(numbered_uids(len(texts)), texts))
    assert (scores == 1).sum() == pytest.approx(8888, abs=10)


def test_by_a_column_what_passes_both_is_in_a_random_order(tmp_path: Path) -> None:
    samples = [Row(f"{n:05d}", f"u{n}", text, b"") for n, text in enumerate(CAPTIONS)]
    column = np.array([0.28, 0.4, 0.27, 0.3], np.float32)
    write_metadata(tmp_path / "metadata" / "0.parquet", samples, clip_b32_similarity_score=column)
    made = laion2b(CLIP, "clip_b32_similarity_score", 0.28)
    table = score_pool(Pool("p", str(tmp_path)), made, LocalEngine("cpu"))
    by_uid = dict(zip(decode_uids(table.uids), table.scores.tolist(), strict=True))
    drawn = Random(0).score(Batch(encode_uids([s.uid for s in samples]), CAPTIONS))
    expected = np.where([True, False, False, True], drawn, np.nan)
    assert [by_uid[s.uid] for s in samples] == pytest.approx(expected.tolist(), nan_ok=True)


def test_without_a_column_a_clip_scores_and_no_column_is_read() -> None:
    made = laion2b(CLIP, None, 0.28)
    assert isinstance(made.filters["clip"], Clip)
    assert made.needs == {"text", "image"}
