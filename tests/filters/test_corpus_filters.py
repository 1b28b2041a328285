"""Filters that are fitted on a corpus: scores by plain loops and by hand, any shards, tiny corpora, wrong targets."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from benchmark.core.ties import hash_uids
from filters.embeddings.corpus import CorpusFilter
from filters.image_based import ImageBased
from filters.near_duplicates import NearDuplicates, distinct
from filters.negcliploss import MIN_TEMPERATURE, TILE, NegClipLoss, normalisers
from filters.normsim import NormSim
from filters.vas import Vas
from tests.corpora import fit, unit
from tests.extras import needs_extra
from tests.filters.test_normsim import naive_removal
from tests.pools import hashed_uids, numbered_uids

pytestmark = [needs_extra("clusters"), needs_extra("language")]
CPU = torch.device("cpu")
ENGLISH = "a dog is lying on the beach"
Matrix = np.ndarray
# Each filter, given the path of a target, and its score of a single pair of equal embeddings.
FILTERS: dict[str, tuple[Callable[[str | None], CorpusFilter], float]] = {
    "image_based": (lambda target: ImageBased("unused", None, str(target), clusters=100), 1),
    "near_duplicates": (lambda _: NearDuplicates("unused", None, clusters=1), 2),
    "negcliploss": (lambda _: NegClipLoss("unused", None, 32768, 3, 0.01), 0),
    "normsim": (lambda target: NormSim("unused", None, 2, target, 500), 0),
    "vas": (lambda target: Vas("unused", None, target), 1),
}


def pairs(count: int) -> Batch:
    """Images and texts near them, as they come out of their cache."""
    rng = np.random.default_rng(0)
    images = rng.normal(size=(count, 5))
    texts = images + rng.normal(size=(count, 5))
    halves = {name: unit(of).astype(np.float16) for name, of in (("image", images), ("text", texts))}
    features = {name: of.astype(np.float32) for name, of in halves.items()}
    return Batch(hashed_uids(count), [ENGLISH] * count, features=features)


def negclip(images: Matrix, texts: Matrix) -> list[float]:
    similar = (images.astype(float) @ texts.T.astype(float)).tolist()
    every, t = range(len(images)), 0.01
    return [
        similar[i][i]
        - t / 2 * math.log(sum(math.exp(similar[i][j] / t) for j in every))
        - t / 2 * math.log(sum(math.exp(similar[j][i] / t) for j in every))
        for i in every
    ]


def distances(images: Matrix, texts: Matrix) -> list[float]:
    clip = (images * texts).sum(axis=1)
    preferred = [[j for j in range(len(images)) if clip[j] > clip[i]] for i in range(len(images))]
    return [min((1 - x @ images[j] for j in of), default=2) for x, of in zip(images, preferred, strict=True)]


def removed(images: Matrix, texts: Matrix) -> list[float]:
    order = np.argsort(hashed_uids(len(images)))  # equal pairs are in the order of their uids
    shares = np.empty(len(images))
    shares[order] = naive_removal(images[order], [*range(len(images) - 1, -1, -1)])
    return shares.tolist()


PLAIN: dict[str, Callable[[Matrix, Matrix], list[float]]] = {
    "near_duplicates": distances,
    "negcliploss": negclip,
    "normsim": removed,
    "vas": lambda images, _: [np.mean([(x @ y) ** 2 for y in images]) for x in images.astype(float)],
}


@pytest.mark.parametrize("name", PLAIN)
def test_scores_equal_a_plain_loop_for_any_shards(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("filters.near_duplicates.BLOCK", 7)
    monkeypatch.setitem(TILE, "cpu", 7)
    batch = pairs(40)
    expected = PLAIN[name](batch.features["image"], batch.features["text"])
    for size, order in ((40, range(40)), (11, range(39, -1, -1))):
        scorer, rows = FILTERS[name][0](None), list(order)
        assert scorer.corpus_dependent
        fit(scorer, [batch.take(rows[at : at + size]) for at in range(0, 40, size)])
        assert scorer.score(batch) == pytest.approx(np.array(expected), abs=2e-6)


@pytest.mark.parametrize("name", FILTERS)
def test_one_pair_has_a_score_and_no_pair_is_no_error(name: str, tmp_path: Path) -> None:
    make, expected = FILTERS[name]
    np.save(tmp_path / "target.npy", np.eye(1, 6))
    scorer = make(str(tmp_path / "target.npy") if name == "image_based" else None)
    points = np.eye(1, 6, dtype=np.float32)
    one = Batch(hashed_uids(1), [ENGLISH], features={"image": points, "text": points})
    fit(scorer, [one])
    assert scorer.score(one) == pytest.approx([expected], abs=1e-6)
    fit(scorer, [])
    if name != "vas":  # the moment of no image has no width
        assert scorer.score(one.take([])).shape == (0,)


@pytest.mark.parametrize("name", ["image_based", "normsim", "vas", "infinity"])
def test_a_target_of_another_clip_is_refused(name: str, tmp_path: Path) -> None:
    target = str(tmp_path / "target.npy")
    np.save(target, np.eye(4))
    infinity = NormSim("unused", None, math.inf, target, 500)
    scorer = infinity if name == "infinity" else FILTERS[name][0](target)
    batch = Batch(hashed_uids(3), [ENGLISH] * 3, features={"image": np.eye(3, dtype=np.float32)})

    def score() -> None:
        scorer.setup(CPU)
        if scorer.corpus_dependent:
            fit(scorer, [batch])
        scorer.score(batch)

    with pytest.raises(UserError, match="the pool's CLIP model"):
        score()


def test_vas_by_hand(tmp_path: Path) -> None:
    np.save(tmp_path / "target.npy", np.array([[2.0, 0], [5, 0], [1, 0], [0, 3]]))  # S = diag(3/4, 1/4)
    made = Vas("unused", None, str(tmp_path / "target.npy"))
    assert not made.corpus_dependent
    made.setup(CPU)
    images = unit(np.array([[1.0, 0], [0, -1], [1, 1], [3, 4]]))
    scores = made.score(Batch(numbered_uids(4), [], features={"image": images}))
    assert scores == pytest.approx([0.75, 0.25, 0.5, 0.36 * 0.75 + 0.64 * 0.25])


def test_negcliploss_of_two_pairs_by_hand() -> None:
    eye = np.eye(2, dtype=np.float32)
    for texts, expected in ((eye, 1 - math.log(math.e + 1)), (eye[::-1].copy(), -math.log(math.e + 1))):
        batch = Batch(numbered_uids(2), [], features={"image": eye, "text": texts})
        made = NegClipLoss("unused", None, 2, 1, 1.0)
        fit(made, [batch])
        assert made.score(batch) == pytest.approx(np.full(2, expected))


def test_opposite_pairs_do_not_overflow() -> None:
    eye = np.eye(3, dtype=np.float32)
    images, texts = torch.from_numpy(eye), torch.from_numpy(-eye)
    found = normalisers(images, texts, MIN_TEMPERATURE)  # exp(500) and exp(-500)
    assert found == pytest.approx(np.full(3, MIN_TEMPERATURE * math.log(2)), abs=1e-7)
    found = normalisers(images, torch.from_numpy(eye), MIN_TEMPERATURE)
    assert found == pytest.approx(np.ones(3), abs=1e-7)


def test_many_batches_are_the_mean_over_seeded_partitions_of_the_sorted_pool() -> None:
    batch = pairs(10)
    made = NegClipLoss("unused", None, 4, 3, 0.01)
    fit(made, [batch])
    order = np.argsort(batch.uids).tolist()
    images, texts = (batch.features[name][order] for name in ("image", "text"))
    rng = np.random.default_rng(0)
    expected = np.zeros(10)
    for _ in range(3):
        shuffled = rng.permutation(10)
        for rows in (shuffled[:4], shuffled[4:7], shuffled[7:]):  # 10 in batches of at most 4
            expected[rows] += np.array(negclip(images[rows], texts[rows])) / 3
    assert made.score(batch.take(order)) == pytest.approx(expected, abs=2e-6)


def test_batches_are_computed_on_the_workers_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        torch.cuda, "is_available", lambda: True
    )  # the command has a GPU, its workers may not
    used: list[torch.device] = []

    def record(images: torch.Tensor, texts: torch.Tensor, temperature: float) -> np.ndarray:
        used.extend((images.device, texts.device))
        return np.zeros(len(images))

    monkeypatch.setattr("filters.negcliploss.normalisers", record)
    fit(NegClipLoss("unused", None, 4, 1, 0.01), [pairs(4)])  # by an engine without a GPU
    assert used == [CPU] * 2


def test_equal_pairs_are_settled_by_seed_and_uid() -> None:
    images = np.tile(np.eye(1, 4, dtype=np.float32), (5, 1))
    batch = Batch(hashed_uids(5), [], features={"image": images, "text": images})
    for seed in range(4):
        scorer = NearDuplicates("unused", None, clusters=2, seed=seed)
        fit(scorer, [batch])
        expected = np.zeros(5)
        expected[np.argmax(hash_uids(batch.uids, seed))] = 2
        assert scorer.score(batch).tolist() == expected.tolist()


def test_one_image_per_group_is_kept_and_a_random_k_of_them() -> None:
    made = distinct("unused", None, clusters=1, duplicate_similarity=0.95)
    assert list(made.filters) == ["distinct", "random"]
    scores = np.array([[0.01, 0.05, 0.2, 2.0], [0.9, 0.1, 0.3, 0.2]], np.float32)
    combined = made.combine(scores, hashed_uids(4))  # a cosine of 0.99 is a duplicate
    assert combined == pytest.approx(np.array([np.nan, 0.1, 0.3, 0.2]), nan_ok=True)
