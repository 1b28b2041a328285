"""Soft Cap Sampling beside the published loop: how often each pair is drawn; and what a run does with the copies."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmark.core.batch import Sample
from benchmark.core.errors import UserError
from benchmark.core.uids import UidArray, decode_uids, read_subset
from benchmark.run.open_samples import open_readable, open_stream
from benchmark.run.score import score_pairs
from benchmark.run.select import select_pairs
from benchmark.scoring.score_table import ScoreTable
from benchmark.selection.soft_cap import SoftCap, count_draws
from downstream.training.trainer import Trainer
from downstream.training.training_data import SampleOrder, TrainingData
from tests.command_line import Run, assert_one_line
from tests.downstream.tiny_models import Recorder
from tests.downstream.training.test_trainer import CPU, Guess, config
from tests.jobs import make_job
from tests.pools import hashed_uids, rows, write_pool

UIDS = np.sort(hashed_uids(50))
SCORES = np.random.default_rng(0).normal(size=50) * 2
NOTHING: Any = None  # the pool and the engine, which are not read


def naive(k: int, batch: int, penalty: float, rng: np.random.Generator) -> list[int]:
    """The loop as the authors wrote it down."""
    scores, draws = SCORES.copy(), np.zeros(50, int)
    while k:
        odds = np.exp(scores - scores.max())
        batch = min(batch, k)
        drawn = rng.choice(50, batch, replace=False, p=odds / odds.sum())
        draws[drawn] += 1
        scores[drawn] -= penalty
        k -= batch
    return draws.tolist()


@pytest.mark.parametrize(
    ("k", "batch", "penalty"), [(24, 1, 0.15), (60, 7, 0.15), (300, 40, 0.5), (45, 45, 0.15)]
)
def test_pairs_are_drawn_as_often_as_by_the_naive_loop(k: int, batch: int, penalty: float) -> None:
    rng, times = np.random.default_rng(1), 1_000
    by_naive = np.array([naive(k, batch, penalty, rng) for _ in range(times)])
    draws = np.array([count_draws(SCORES, UIDS, k, batch, penalty, seed) for seed in range(times)])
    assert (draws.sum(1) == k).all()
    for of_ours, of_naive in ((draws, by_naive), (draws**2, by_naive**2)):  # the means, and the spread
        error = np.sqrt((of_ours.var(0) + of_naive.var(0)) / times)
        z = (of_ours.mean(0) - of_naive.mean(0)) / np.maximum(error, 1e-9)
        assert np.abs(z).max() < 4.5
        assert (z**2).mean() < 2  # chi-square of 50 pairs
    together, apart = (np.cov(counts[:, np.argsort(SCORES)[-6:]].T) for counts in (draws, by_naive))
    assert together == pytest.approx(apart, abs=0.35)


def test_a_penalty_of_all_takes_every_pair_in_turn() -> None:
    assert count_draws(SCORES, UIDS, 150, 1, 100.0, 0).tolist() == [3] * 50


def test_draws_do_not_depend_on_the_order_of_the_pairs() -> None:
    order = np.random.default_rng(2).permutation(50)
    draws = count_draws(SCORES, UIDS, 80, 9, 0.15, 3)
    assert count_draws(SCORES[order], UIDS[order], 80, 9, 0.15, 3).tolist() == draws[order].tolist()
    assert count_draws(SCORES, UIDS, 80, 9, 0.15, 4).tolist() != draws.tolist()


def test_few_draws_change_if_a_pair_is_left_out() -> None:
    uids = np.sort(hashed_uids(20_000))
    scores = np.random.default_rng(0).normal(size=20_000)
    draws = count_draws(scores, uids, 20_000, 100, 0.15, 0)
    others = count_draws(scores[1:], uids[1:], 20_000, 100, 0.15, 0)
    assert np.abs(draws[1:] - others).sum() < 30


def select(scores: Any, k: int, uids: UidArray = UIDS) -> list[int]:
    chosen = SoftCap(0.15).select(ScoreTable(uids, np.asarray(scores)), k, 3, 0, NOTHING, NOTHING)
    (epoch,) = chosen.epochs
    return [int((epoch == uid).sum()) for uid in uids]


def test_a_pair_without_a_score_is_never_drawn() -> None:
    draws = select(np.where(np.arange(50) < 45, np.nan, 0), 1_000)
    assert sum(draws) == 1_000
    assert draws[:45] == [0] * 45
    with pytest.raises(UserError, match="0 have a score"):
        select([np.nan] * 50, 10)


@pytest.fixture
def pool(tmp_path: Path) -> list[str]:
    samples = rows(20)
    samples[3].image = b"broken"
    folder = write_pool(tmp_path / "pool", [samples])
    drawn = ("pool=img2dataset", f"pool.url={folder}", "filter=random", "selector=soft_cap")
    return [*drawn, "models=demo", "engine.workers=1", "size.samples=60", "budget=120"]


def test_a_subset_file_has_a_pair_as_often_as_it_is_drawn(
    run: Run, pool: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    done = run("task=select", *pool)
    assert done.returncode == 0, done.stderr
    uids = read_subset(Path(done.stdout.splitlines()[-1]))
    distinct = len(np.unique(uids))
    assert len(uids) == 60
    assert f"60 draws of {distinct} of 20 pairs are kept" in caplog.text
    wrong = run("task=select", *pool, "selector.penalty=-1")
    assert_one_line(wrong, "selector.penalty=-1 must be a number of at least 0")


def test_a_training_sees_a_pair_as_often_as_it_is_drawn(pool: list[str], tmp_path: Path) -> None:
    """Of a pair with a broken image nothing is left; the others are drawn in its place."""
    job = make_job(*pool, "selection.tolerate=0.2", "training.source=stream")
    subset, selected = open_readable(job, select_pairs(job, score_pairs(job)))
    (epoch,) = selected.selection.epochs
    uids, counts = np.unique(epoch, return_counts=True)
    assert (counts.sum(), selected.manifest.distinct) == (60, len(uids))
    assert len(subset) == len(uids) < 20
    seen: list[str] = []

    def collate(samples: list[Sample]) -> dict[str, torch.Tensor]:
        seen.extend(sample.uid for sample in samples)
        return {
            "colours": torch.rand(len(samples), 12),
            "targets": torch.zeros(len(samples), dtype=torch.long),
        }

    data = TrainingData(subset, SampleOrder(subset.epochs, seed=5), collate)
    Trainer("toy", config(samples_seen=120, workers=0), CPU, Recorder()).fit(
        Guess(), data, tmp_path / "toy", "f"
    )
    assert Counter(seen) == dict(zip(decode_uids(uids), (2 * counts).tolist(), strict=True))

    stream, _ = open_stream(job, selected)
    texts = [stream.decode(of).text for n, size in enumerate(stream.sizes) for of in stream.read(n, 0, size)]
    assert sorted(texts) == sorted(subset[int(row)].text for row in subset.epochs[0])
