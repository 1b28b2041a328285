import numpy as np
import pytest
import torch

from filters.icc.similarity import BertScoreSimilarity, EditSimilarity
from tests.demos import demo_model

CAPTIONS = ["a black dog", "", "👍👍", "a  red\nhat"]
BEAMS = [["a black cat", "a black dog"], ["", "x"], ["👍"], ["a red hat"]]


def test_edit_similarity_by_hand():
    # "dog" to "cat": two letters... d-o-g, c-a-t: three, of eleven characters
    values = EditSimilarity().compare(["a black dog", "abc", "", ""], ["a black cat", "", "abc", ""])
    np.testing.assert_allclose(values, [1 - 3 / 11, 0, 0, 1], atol=1e-6)


def test_the_best_beam_counts():
    np.testing.assert_allclose(EditSimilarity().best(CAPTIONS, BEAMS), [1, 1, 0.5, 1], atol=1e-6)
    assert EditSimilarity().best([], []).shape == (0,)


@pytest.fixture(scope="module")
def bertscore():
    similarity = BertScoreSimilarity(demo_model("bert"), 2)
    similarity.setup(torch.device("cpu"))
    return similarity


def test_bertscore_of_many_is_that_of_each_alone(bertscore):
    many = bertscore.best(CAPTIONS, BEAMS)
    alone = [bertscore.best([c], [b])[0] for c, b in zip(CAPTIONS, BEAMS, strict=True)]
    np.testing.assert_allclose(many, alone, atol=1e-5)
    assert many[1] == 0  # an empty caption has no F1
