import numpy as np
import pytest
import torch

from benchmark.batch import Batch
from benchmark.errors import UserError
from filters.icc.scorer import DistilledScorer, token_budget_batches
from tests.filters.checkpoints import roberta_scorer

CPU = torch.device("cpu")
CAPTIONS = [
    "a photo of thing number 1",
    "x",
    "red ball " * 200,
    "🐕🐈",
    "...!?",
    "\x00",
    "a red ball",
    "的" * 30,
]


def scorer(folder, **options) -> DistilledScorer:
    made = DistilledScorer(str(roberta_scorer(folder)), **options)
    made.setup(CPU)
    return made


def batch(captions) -> Batch:
    return Batch([f"{i:032x}" for i in range(len(captions))], list(captions))


def test_scores_are_the_logits_that_transformers_alone_gives(tmp_path) -> None:
    from transformers import pipeline

    ours = scorer(tmp_path).score(batch(CAPTIONS))
    plain = pipeline("text-classification", str(tmp_path), function_to_apply="none", truncation=True)
    assert ours == pytest.approx([plain(c)[0]["score"] for c in CAPTIONS], abs=1e-5)
    assert ours.dtype == np.float32
    assert len(set(ours.round(4))) == len(CAPTIONS)


@pytest.mark.parametrize("budget", [1, 64, 100_000])
def test_neither_order_nor_budget_changes_a_score(tmp_path, budget: int) -> None:
    made = scorer(tmp_path, token_budget=budget)
    alone = np.concatenate([made.score(batch([c])) for c in CAPTIONS])
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(CAPTIONS))
        assert made.score(batch([CAPTIONS[i] for i in order])) == pytest.approx(alone[order], abs=1e-5)


def test_batches_keep_the_budget_and_lose_nothing() -> None:
    lengths = np.random.default_rng(0).integers(1, 60, 500).tolist()
    batches = list(token_budget_batches(lengths, 256))
    assert sorted(r for rows in batches for r in rows) == list(range(500))
    assert all(len(rows) * max(lengths[r] for r in rows) <= 256 for rows in batches)
    padding = sum(len(rows) * max(lengths[r] for r in rows) for rows in batches) / sum(lengths)
    assert padding < 1.05


def test_a_checkpoint_with_two_labels_is_refused(tmp_path) -> None:
    with pytest.raises(UserError, match="2 labels"):
        DistilledScorer(str(roberta_scorer(tmp_path, labels=2))).setup(CPU)


def test_a_checkpoint_that_is_not_there_says_so() -> None:
    with pytest.raises(UserError, match="is not there"):
        DistilledScorer("/nowhere/icc").setup(CPU)
    with pytest.raises(UserError, match="hf download"):
        DistilledScorer("moranyanuka/icc").setup(CPU)


def test_other_weights_have_another_key(tmp_path) -> None:
    one = DistilledScorer(str(roberta_scorer(tmp_path / "m")))
    budget = DistilledScorer(str(tmp_path / "m"), token_budget=9)
    other = DistilledScorer(str(roberta_scorer(tmp_path / "n", layers=1)))
    assert one.key() == budget.key() != other.key()
