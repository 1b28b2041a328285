import random

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from benchmark.core.batch import Batch
from filters.icc.scorer import DistilledScorer
from pairsift.studies.icc.building.training import Recipe, Regression, distill
from tests.demos import demo_model
from tests.pools import numbered_uids

CPU = torch.device("cpu")
VISIBLE = ["a red boat on a lake", "two green trees", "a dog on a bed", "a small yellow house"]
HIDDEN = ["hope and wisdom", "what love is about", "secrets of success", "live your dream"]


def generators():
    legacy = np.random.get_state()[1].tolist()  # noqa: NPY002, what the Trainer seeds
    return random.getstate(), legacy, torch.get_rng_state().tolist()


def score(folder, texts):
    scorer = DistilledScorer(str(folder / "model"))
    scorer.setup(CPU)
    return scorer.score(Batch(numbered_uids(len(texts)), texts))


@pytest.mark.slow
def test_the_scorer_learns_its_targets(tmp_path):
    texts = [f"{text} {n}" for text in VISIBLE + HIDDEN for n in range(24)]
    targets = np.repeat([0.9, 0.8, 0.85, 0.95, 0.1, 0.2, 0.15, 0.05], 24).astype(np.float32)
    distill(texts, targets, demo_model("roberta"), Recipe(epochs=4, batch=16, lr=2e-3), tmp_path, CPU)
    found = score(tmp_path, texts)
    assert spearmanr(found, targets).statistic > 0.8
    assert np.abs(found - targets).mean() < 0.15
    assert not (tmp_path / "checkpoints").exists()


def test_the_loss_is_the_mean_squared_error():
    class Fixed(torch.nn.Module):
        def forward(self, input_ids):
            return type("Output", (), {"logits": input_ids.float()[:, :1]})()

    ids = torch.tensor([[1, 7], [3, 7]])
    model, labels = Regression(Fixed()), torch.tensor([0.0, 1.0])
    assert model(labels, input_ids=ids)["loss"].item() == pytest.approx((1 + 4) / 2)
    assert model(labels, torch.tensor(10), input_ids=ids)["loss"].item() == pytest.approx((1 + 4) / 10)
    padded = torch.tensor([0.0, -100.0])
    assert model(padded, torch.tensor(1), input_ids=ids)["loss"].item() == pytest.approx(1)


def test_bert_learns_odd_captions_too(tmp_path):
    texts, targets = (
        [*VISIBLE, *HIDDEN, "a " * 5000, "👍"],
        np.repeat([1, 0, 0.5], [4, 4, 2]).astype(np.float32),
    )
    before = generators()
    distill(texts * 4, np.tile(targets, 4), demo_model("bert"), Recipe(3, 8, 1e-3), tmp_path, CPU)
    assert generators() == before
    scores = score(tmp_path, texts)
    assert scores[:4].mean() > scores[4:8].mean()
    assert np.isfinite(scores).all()
