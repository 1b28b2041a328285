import numpy as np
import pytest
import torch

from benchmark.run.config import demo_model
from filters.icc.similarity import BertScoreSimilarity, EditSimilarity

CAPTIONS = ["a black dog", "", "👍👍", "a  red\nhat"]
BEAMS = [["a black cat", "a black dog"], ["", "x"], ["👍"], ["a red hat"]]


def levenshtein(a, b):
    """The textbook recursion, row by row."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]


def test_edit_similarity_by_hand():
    # "dog" to "cat": two letters... d-o-g, c-a-t: three, of eleven characters
    values = EditSimilarity().compare(["a black dog", "abc", "", ""], ["a black cat", "", "abc", ""])
    np.testing.assert_allclose(values, [1 - 3 / 11, 0, 0, 1], atol=1e-6)


def test_edit_similarity_against_the_textbook():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcd "), rng.integers(1, 30))).strip() or "a" for _ in range(100)]
    a, b = [" ".join(w.split()) for w in words[:50]], words[50:]
    naive = [1 - levenshtein(x, y) / max(len(x), len(y)) for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(EditSimilarity().compare(a, b), naive, atol=1e-6)


def test_the_best_beam_counts():
    np.testing.assert_allclose(EditSimilarity().best(CAPTIONS, BEAMS), [1, 1, 0.5, 1], atol=1e-6)
    assert EditSimilarity().best([], []).shape == (0,)


@pytest.fixture(scope="module")
def bertscore():
    similarity = BertScoreSimilarity(demo_model("bert"), 2)
    similarity.setup(torch.device("cpu"))
    return similarity


def test_bertscore_knows_a_paraphrase_from_another_caption(bertscore):
    same, near, far = bertscore.compare(
        ["a red boat on a lake"] * 3,
        ["a red boat on a lake", "a red ship on the water", "hope and wisdom for all"],
    )
    assert same == pytest.approx(1, abs=1e-5)
    assert same > near > far


def test_bertscore_of_many_is_that_of_each_alone(bertscore):
    many = bertscore.best(CAPTIONS, BEAMS)
    alone = [bertscore.best([c], [b])[0] for c, b in zip(CAPTIONS, BEAMS, strict=True)]
    np.testing.assert_allclose(many, alone, atol=1e-5)
    assert many[1] == 0  # an empty caption has no F1
