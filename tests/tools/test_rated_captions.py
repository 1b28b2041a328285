"""Rated captions of the demo, and the shipped ICC models on them."""

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from benchmark.core.batch import Batch
from benchmark.run.config import make_filter
from pairsift.studies.icc.demo_captions import annotated_captions, demo_captions
from tests.jobs import compose_config
from tests.pools import numbered_uids
from tools.demo_world.concreteness import concreteness


def score(texts: list[str], *overrides: str):
    scorer = make_filter(compose_config(*overrides))
    scorer.setup(torch.device("cpu"))
    return scorer.score(Batch(numbered_uids(len(texts)), texts))


@pytest.mark.slow
def test_vba_and_icc_correlate_with_planted_concreteness():
    rated = demo_captions(600, 0.5)
    for name in ("vba", "icc"):  # not SBA: results/LOG.md
        assert spearmanr(score(rated.texts, f"filter={name}"), rated.ratings).statistic > 0.5


def test_grades_deviate_a_little_from_planted_values():
    annotated = annotated_captions()
    assert set(annotated.ratings) <= {0, 1, 2, 3}
    assert len(set(annotated.ratings)) == 4
    own = np.array([concreteness(text) for text in annotated.texts])
    agreement = spearmanr(own, annotated.ratings).statistic
    assert 0.7 < agreement < 0.97
    assert len(annotated.texts) == 244
