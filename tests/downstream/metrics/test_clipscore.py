from dataclasses import dataclass, field

import numpy as np
import pytest

from downstream.metrics.clipscore import PACSCORE_WEIGHT, ClipScorer, clip_score, ref_clip_score

IMAGES = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]])
CANDIDATES = np.array([[3.0, 4.0], [0.0, 1.0], [-3.0, -4.0]])
REFERENCES = np.array([[4.0, 3.0], [-1.0, 0.0], [1.0, 1.0], [0.0, -1.0]])
OWNER = np.array([0, 0, 1, 2])


def test_scores_by_hand():
    # Cosines 3/5, 1 and -1; negative ones count as 0.
    assert clip_score(IMAGES, CANDIDATES) == pytest.approx([1.5, 2.5, 0.0])
    assert clip_score(IMAGES, CANDIDATES, PACSCORE_WEIGHT) == pytest.approx([1.2, 2.0, 0.0])


def test_scores_with_references_by_hand():
    scores = clip_score(IMAGES, CANDIDATES)
    # Best cosines with a reference: 24/25 (the other is negative), 1/sqrt(2), 4/5; harmonic means.
    best = np.array([0.96, 0.5**0.5, 0.8])
    expected = [2 * 1.5 * best[0] / (1.5 + best[0]), 2 * 2.5 * best[1] / (2.5 + best[1]), 0.0]
    assert ref_clip_score(scores, CANDIDATES, REFERENCES, OWNER) == pytest.approx(expected)


def test_opposite_references_and_images_score_zero():
    opposite = ref_clip_score(np.zeros(1), CANDIDATES[:1], -CANDIDATES[:1], np.array([0]))
    assert opposite == pytest.approx([0.0])


def test_half_precision_features_are_summed_exactly():
    features = np.full((1, 4096), 8.0, np.float16)  # their squares add up to more than a float16 can hold
    assert clip_score(features, features) == pytest.approx([2.5])


def test_a_candidate_without_reference_is_an_error():
    with pytest.raises(ValueError, match="reference"):
        ref_clip_score(np.ones(2), CANDIDATES[:2], REFERENCES[:1], np.array([0]))


@dataclass
class LetterClip:
    """Counts the letters c and d of a caption."""

    seen: list[str] = field(default_factory=list)

    def embed_texts(self, texts):
        self.seen += texts
        return np.array([[text.count("c"), text.count("d") + 1] for text in texts], np.float32)


def test_the_scorer_adds_the_prefix_and_groups_references():
    clip = LetterClip()
    images = np.array([[1, 2], [0, 1]], np.float32)
    plain, with_references = ClipScorer(clip).score(images, ["c", "x"], [["cc", "x"], ["ddd"]])
    assert clip.seen == [f"A photo depicts {text}" for text in ("c", "x", "cc", "x", "ddd")]
    # The prefix has one c and one d: candidates (2, 2) and (1, 2), images (1, 2) and (0, 1).
    assert plain == pytest.approx([2.5 * 6 / (8 * 5) ** 0.5, 2.5 * 2 / 5**0.5])
    best = [10 / (8 * 13) ** 0.5, 11 / (5 * 26) ** 0.5]  # references (3, 2), (1, 2); (1, 5)
    assert with_references == pytest.approx([2 * p * b / (p + b) for p, b in zip(plain, best, strict=True)])
