"""The distilled scorer at the released one's size: rates, share of the processor's limit, memory, where time goes.

    python -m pytest -m perf -s tests/perf/test_scorer_speed.py

On real alt texts, with random weights but for the head. Everything that is compared is measured in one run.
"""

import multiprocessing
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from scipy.stats import spearmanr

from benchmark.core.batch import Batch
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import score_pool
from filters.icc.scorer import PRECISIONS, DistilledScorer
from tests.filters.checkpoints import roberta_scorer
from tests.perf.scorer_checkpoint import distilroberta_size, fit_head, laion_captions, word_concreteness
from tests.pools import numbered_uids

pytestmark = pytest.mark.perf
COUNT = int(os.environ.get("PAIRSIFT_PERF_CAPTIONS", "2000"))
ALONE, FITTED = 100, 400  # captions of the batch-1 loop, and of the head's fit
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory, shared_data) -> Path:
    folder = tmp_path_factory.mktemp("distilroberta")
    captions = laion_captions(shared_data)
    distilroberta_size(folder, captions)
    fit_head(folder, captions[-FITTED:], word_concreteness(shared_data, captions[-FITTED:]))
    return folder


def batch(captions) -> Batch:
    return Batch(numbered_uids(len(captions)), list(captions))


def product_rate(dtype: torch.dtype) -> float:
    """Operations a second of the better of two large matrix products: a square one, one of the model's shape."""
    best = 0.0
    for rows, inner, columns in ((4096, 4096, 4096), (4096, 768, 3072)):
        left, right = torch.randn(rows, inner, dtype=dtype), torch.randn(columns, inner, dtype=dtype)
        for _ in range(5):
            started = time.perf_counter()
            torch.nn.functional.linear(left, right)
            best = max(best, 2 * rows * inner * columns / (time.perf_counter() - started))
    return best


def operations(lengths: np.ndarray) -> float:
    """Multiplications and additions of the whole model on the real tokens, none of them padding.

    A layer's linear maps have 12 x 768^2 weights; attention multiplies twice by each of a caption's tokens.
    """
    layer = 2 * 12 * 768**2 * lengths + 2 * 2 * 768 * lengths**2
    return float((6 * layer + 2 * 768 * 769).sum())


class Released:
    """Hugging Face's model and tokenizer, called as the released scorer's model card does."""

    def __init__(self, checkpoint: Path) -> None:
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        self.model = AutoModelForSequenceClassification.from_pretrained(checkpoint).eval()
        self.tokenizer = AutoTokenizer.from_pretrained(checkpoint)

    def lengths(self, captions: list[str]) -> np.ndarray:
        ids = self.tokenizer(captions, truncation=True)["input_ids"]
        return np.array([len(i) for i in ids], np.int64)

    @torch.no_grad()
    def score(self, captions: list[str], size: int) -> np.ndarray:
        logits = []
        for start in range(0, len(captions), size):
            part = captions[start : start + size]
            inputs = self.tokenizer(part, padding=True, truncation=True, return_tensors="pt")
            logits.append(self.model(**inputs).logits[:, 0])
        return torch.cat(logits).numpy()


def timed(work: Callable[[], np.ndarray]) -> tuple[np.ndarray, float]:
    started = time.perf_counter()
    scores = work()
    return scores, time.perf_counter() - started


def top_overlap(one: np.ndarray, other: np.ndarray, share: float) -> float:
    k = int(len(one) * share)
    return len(set(np.argsort(-one)[:k]) & set(np.argsort(-other)[:k])) / k


def test_captions_scored_per_second(checkpoint, shared_data) -> None:
    captions = laion_captions(shared_data)[:COUNT]
    released = Released(checkpoint)
    lengths = released.lengths(captions)
    padded = sum(len(part) * part.max() for part in np.split(lengths, range(64, COUNT, 64)))
    print(f"\n{COUNT} captions of {lengths.mean():.1f} tokens, longest {lengths.max()}", end="; ")
    print(f"batches of 64 in file order hold {padded / lengths.sum():.1f} times the tokens")
    filters = {name: DistilledScorer(str(checkpoint), name) for name in PRECISIONS}
    for made in filters.values():
        made.setup(CPU)
        made.score(batch(captions[:64]))
    sample = captions[:: COUNT // ALONE][:ALONE]
    alone, seconds = timed(lambda: released.score(sample, 1))
    print(f"{'batch 1':24}{len(sample) / seconds:8.1f} captions/s")
    _, seconds = timed(lambda: released.score(captions, 64))
    loop = COUNT / seconds
    print(f"{'padded 64, file order':24}{loop:8.1f} captions/s")
    scores, ratios, shares = {}, {}, {}
    for name, made in filters.items():
        limit = product_rate(PRECISIONS[name])
        scores[name], seconds = min(
            (timed(lambda m=made: m.score(batch(captions))) for _ in range(2)), key=second
        )
        limit = max(limit, product_rate(PRECISIONS[name]))
        ratios[name], shares[name] = COUNT / seconds / loop, operations(lengths) / seconds / limit
        print(f"{'ours, ' + name:24}{COUNT / seconds:8.1f} captions/s, {ratios[name]:.1f} times", end=", ")
        print(f"{shares[name]:.0%} of the limit at {limit / 1e9:,.0f} GFLOP/s")
    full, half = scores["fp32"], scores["bf16"]
    far = np.abs(full[:: COUNT // ALONE][:ALONE] - alone).max()
    rank = spearmanr(full, half).statistic
    overlaps = ", ".join(f"{top_overlap(full, half, share):.1%} at {share:.0%}" for share in (0.1, 0.3, 0.5))
    print(
        f"fp32 differs from one by one by {far:.1e}; bf16: Spearman {rank:.5f}, same captions kept {overlaps}"
    )
    assert far < 1e-4
    assert rank > 0.999
    assert ratios["fp32"] >= 5
    assert ratios["bf16"] >= 10
    assert shares["fp32"] >= 0.85


def second(pair: tuple[np.ndarray, float]) -> float:
    return pair[1]


def write_pool(folder: Path, captions: list[str], count: int) -> Pool:
    folder.mkdir()
    texts = [captions[i % len(captions)] for i in range(count)]
    pq.write_table(
        pa.table({"uid": [f"{i:032x}" for i in range(count)], "text": texts}), folder / "0.parquet"
    )
    return Pool("perf", str(folder))


def test_where_the_time_goes(checkpoint, shared_data, tmp_path) -> None:
    made = DistilledScorer(str(checkpoint), "bf16")
    pool = write_pool(tmp_path / "pool", laion_captions(shared_data), COUNT)
    made.setup(CPU)
    spent = {"tokens": 0.0, "model": 0.0, "score": 0.0}

    def clocked(name: str, work: Callable) -> Callable:
        def run(*given):
            started = time.perf_counter()
            try:
                return work(*given)
            finally:
                spent[name] += time.perf_counter() - started

        return run

    made._tokenize, made._model = clocked("tokens", made._tokenize), clocked("model", made._model)
    made.score = clocked("score", made.score)
    made.setup = lambda device: None
    started = time.perf_counter()
    table = score_pool(pool, made, LocalEngine("cpu", workers=1))
    whole = time.perf_counter() - started
    assert len(table.uids) == COUNT
    print(
        f"\nparquet to parquet, bf16: {COUNT / whole:.0f} captions/s; model {spent['model'] / whole:.1%}",
        end=", ",
    )
    print(f"tokenisation {spent['tokens'] / whole:.1%} in its own thread", end=", ")
    print(f"reading and writing {(whole - spent['score']) / whole:.1%}")
    assert spent["model"] / whole > 0.85


def peak(checkpoint: Path, folder: Path, queue: multiprocessing.Queue) -> None:
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    table = score_pool(
        Pool("perf", str(folder)), DistilledScorer(str(checkpoint)), LocalEngine("cpu", workers=1)
    )
    queue.put((len(table.uids), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))


def test_memory_does_not_grow_with_the_pool(shared_data, tmp_path) -> None:
    """A small model: what grows would be captions, tokens and activations, not weights."""
    checkpoint = roberta_scorer(tmp_path / "small")
    captions = laion_captions(shared_data)
    context = multiprocessing.get_context("spawn")
    sizes = []
    for count in (2000, 20_000):
        write_pool(tmp_path / str(count), captions, count)
        queue = context.Queue()
        worker = context.Process(target=peak, args=(checkpoint, tmp_path / str(count), queue))
        worker.start()
        scored, mib = queue.get(timeout=300)
        worker.join()
        assert scored == count
        sizes.append(mib)
    print(f"\npeak memory: {sizes[0]:.0f} MiB at 2,000 captions, {sizes[1]:.0f} MiB at 20,000")
    assert sizes[1] - sizes[0] < 100
