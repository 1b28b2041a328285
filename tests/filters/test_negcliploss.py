import math

import numpy as np
import pytest
import torch

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from filters.negcliploss import MIN_TEMPERATURE, TILE, NegClipLoss, normalisers
from tests.corpora import fit
from tests.pools import hashed_uids, numbered_uids


def unit(vectors: np.ndarray) -> np.ndarray:
    halves = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)
    return np.asarray(halves, np.float32)  # as features come out of their cache


def pairs(count: int, seed: int = 0) -> Batch:
    rng = np.random.default_rng(seed)
    images = rng.normal(size=(count, 8))
    texts = images + rng.normal(size=(count, 8))
    return Batch(hashed_uids(count), [], features={"image": unit(images), "text": unit(texts)})


def split(batch: Batch, size: int, order: list[int]) -> list[Batch]:
    return [batch.take(order[at : at + size]) for at in range(0, len(order), size)]


def scorer(loss_batch: int, partitions: int = 1, temperature: float = 0.01) -> NegClipLoss:
    return NegClipLoss("unused", None, loss_batch, partitions, temperature)


def naive(images: np.ndarray, texts: np.ndarray, t: float) -> list[float]:
    similar = (images.astype(float) @ texts.T.astype(float)).tolist()
    every = range(len(images))
    return [
        similar[i][i]
        - t / 2 * math.log(sum(math.exp(similar[i][j] / t) for j in every))
        - t / 2 * math.log(sum(math.exp(similar[j][i] / t) for j in every))
        for i in every
    ]


def test_two_pairs_by_hand() -> None:
    eye = np.eye(2, dtype=np.float32)
    batch = Batch(numbered_uids(2), [], features={"image": eye, "text": eye})
    made = scorer(2, temperature=1.0)
    fit(made, [batch])
    assert made.score(batch) == pytest.approx(np.full(2, 1 - math.log(math.e + 1)))
    swapped = Batch(batch.uids, [], features={"image": eye, "text": eye[::-1].copy()})
    fit(made, [swapped])
    assert made.score(swapped) == pytest.approx(np.full(2, -math.log(math.e + 1)))


def test_a_pool_in_one_batch_equals_the_plain_loop() -> None:
    batch = pairs(60)
    made = scorer(1000, partitions=3)
    fit(made, [batch])
    expected = naive(batch.features["image"], batch.features["text"], 0.01)
    assert made.score(batch) == pytest.approx(np.array(expected), abs=2e-6)


def test_tiles_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = pairs(50)
    images, texts = (torch.from_numpy(batch.features[name]) for name in ("image", "text"))
    whole = normalisers(images, texts, 0.01)
    monkeypatch.setitem(TILE, "cpu", 7)
    assert normalisers(images, texts, 0.01) == pytest.approx(whole, abs=1e-6)


def test_opposite_pairs_do_not_overflow() -> None:
    eye = np.eye(3, dtype=np.float32)
    images, texts = torch.from_numpy(eye), torch.from_numpy(-eye)
    found = normalisers(images, texts, MIN_TEMPERATURE)  # exp(500) and exp(-500)
    assert found == pytest.approx(np.full(3, MIN_TEMPERATURE * math.log(2)), abs=1e-7)
    found = normalisers(images, torch.from_numpy(eye), MIN_TEMPERATURE)
    assert found == pytest.approx(np.ones(3), abs=1e-7)


@pytest.mark.parametrize("setting", [(0, 1, 0.01), (1, 0, 0.01), (1, 1, 0), (1, 1, 0.001)])
def test_what_makes_no_sense_says_so(setting: tuple[int, int, float]) -> None:
    with pytest.raises(UserError, match=r"must be (a positive integer|at least)"):
        scorer(*setting)


def test_many_batches_are_the_mean_over_seeded_partitions_of_the_sorted_pool() -> None:
    batch = pairs(10)
    made = scorer(4, partitions=3)
    fit(made, [batch])
    order = np.argsort(batch.uids).tolist()
    images, texts = (batch.features[name][order] for name in ("image", "text"))
    rng = np.random.default_rng(0)
    expected = np.zeros(10)
    for _ in range(3):
        shuffled = rng.permutation(10)
        for rows in (shuffled[:4], shuffled[4:7], shuffled[7:]):  # 10 in batches of at most 4
            expected[rows] += np.array(naive(images[rows], texts[rows], 0.01)) / 3
    assert made.score(batch.take(order)) == pytest.approx(expected, abs=2e-6)


def test_one_pair_and_none() -> None:
    made = scorer(32768, partitions=10)
    one = pairs(1)
    fit(made, [one])
    assert made.score(one) == pytest.approx([0], abs=1e-6)
    fit(made, [])
    assert made.score(one.take([])).shape == (0,)


def test_a_caption_that_fits_everything_is_worth_less_than_clip_score_says() -> None:
    eye = np.eye(4)
    generic = eye.sum(axis=0)
    images = unit(np.vstack([eye, eye[:1] + 0.1 * eye[1:2]]))
    texts = unit(np.vstack([eye[:3] + 0.8 * eye[[1, 2, 3]], generic[None], eye[3:]]))
    batch = Batch(numbered_uids(5), [], features={"image": images, "text": texts})
    made = scorer(5, temperature=0.1)
    fit(made, [batch])
    assert made.score(batch) == pytest.approx(np.array(naive(images, texts, 0.1)), abs=1e-5)
    assert made.score(batch)[:3].min() > made.score(batch)[3]


def test_batches_are_computed_on_the_workers_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        torch.cuda, "is_available", lambda: True
    )  # the command's GPU, which its workers may not have
    used: list[torch.device] = []

    def record(images: torch.Tensor, texts: torch.Tensor, temperature: float) -> np.ndarray:
        used.extend((images.device, texts.device))
        return np.zeros(len(images))

    monkeypatch.setattr("filters.negcliploss.normalisers", record)
    fit(scorer(4), [pairs(4)])  # by an engine without a GPU
    assert used == [torch.device("cpu")] * 2
