from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from benchmark.core.batch import Batch
from benchmark.core.uids import decode_uids
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import score_pool
from downstream.metrics import clipscore
from downstream.metrics.metric import Corpus
from filters import pacscore
from filters.clip import Clip
from filters.pacscore import PacFeatures, PacScore
from tests.pixel_workers import InMemory
from tests.pools import numbered_uids, rows, write_pool

CPU = torch.device("cpu")


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    generator = torch.Generator().manual_seed(3)
    changed = {
        "visual.proj": torch.randn(32, 16, generator=generator),
        "text_projection": torch.randn(32, 16, generator=generator),
    }
    save_file(changed, tmp_path / "projections.safetensors")
    return str(tmp_path / "projections.safetensors")


def test_twice_the_cosine_and_nothing_below_zero() -> None:
    image = np.array([[1, 0], [0.6, 0.8], [1, 0], [-0.6, -0.8]], np.float32)
    text = np.array([[0.6, 0.8], [0.6, 0.8], [-0.6, 0.8], [0.6, 0.8]], np.float32)
    batch = Batch(numbered_uids(4), [], features={"image": image, "text": text})
    scores = PacScore("unused", None, None).score(batch)
    # Cosines 0.6, 1, -0.6 and -1; the negative ones tie, as in the paper.
    assert scores.tolist() == pytest.approx([1.2, 2.0, 0.0, 0.0])
    assert scores.dtype == np.float32


def test_the_filter_scores_as_the_metric_does(clip: str, checkpoint: str, tmp_path: Path) -> None:
    pool = Pool("p", str(write_pool(tmp_path / "pool", [rows(6)])))
    made = PacScore(clip, None, checkpoint)
    table = score_pool(pool, made, LocalEngine("cpu", 1))
    (batch,) = pool.batches(pool.shards(made.sources)[0], made.sources, 99, Counter())
    uids = decode_uids(batch.uids)
    corpus = Corpus(dict(zip(uids, batch.texts, strict=True)), {uid: ["a"] for uid in uids})
    images = dict(zip(uids, map(InMemory, batch.images), strict=True))
    expected, _ = clipscore.PacScore(clip, None, checkpoint).scores(corpus, images, CPU)
    found = dict(zip(decode_uids(table.uids), table.scores, strict=True))
    assert len(found) == 6
    assert any(score > 0.01 for score in expected.values())
    assert found == pytest.approx(expected, abs=4e-3)  # features are float16


def test_the_prefix_counts_in_the_key(clip: str, checkpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    key = PacFeatures(clip, None, checkpoint).key()
    assert key != Clip(clip).features[0].key()
    monkeypatch.setattr(pacscore, "PREFIX", "A painting of ")
    assert PacFeatures(clip, None, checkpoint).key() != key
