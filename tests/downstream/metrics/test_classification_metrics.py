"""Accuracy by hand, ties included, and against sorting."""

import numpy as np
import pytest

from downstream.metrics.rank_metrics import (
    Ranks,
    accuracy_at,
    class_ranks,
    classification_metrics,
    mean_per_class,
)


def found(similarity: np.ndarray, labels: np.ndarray) -> Ranks:
    return class_ranks(lambda part: similarity[part], labels, similarity.shape[1])


def test_by_hand() -> None:
    similarity = np.array([[0.9, 0.1, 0.2], [0.3, 0.2, 0.1], [0.1, 0.5, 0.4], [0.1, 0.2, 0.3]])
    labels = np.array([0, 0, 0, 2])
    ranks = found(similarity, labels)
    assert ranks.ranks.tolist() == [1, 1, 3, 1]
    assert accuracy_at(ranks, 1) == 3 / 4
    assert accuracy_at(ranks, 2) == 3 / 4
    assert mean_per_class(ranks, labels) == pytest.approx((2 / 3 + 1) / 2)  # class 1 has no image


def test_a_tie_counts_against_the_model() -> None:
    labels = np.array([0, 1])
    assert found(np.array([[0.5, 0.5, 0.1], [0.2, 0.7, 0.7]]), labels).ranks.tolist() == [2, 2]
    collapsed = np.full((4, 10), 0.3)
    assert accuracy_at(found(collapsed, np.arange(4)), 5) == 0.0


def test_classes_of_one_name_tie() -> None:
    """Missile is there twice: both lose under our rule, one wins under CLIP_benchmark's."""
    similarity, labels = np.array([[0.9, 0.9, 0.1], [0.8, 0.8, 0.1], [0.1, 0.1, 0.2]]), np.arange(3)
    metrics = {m.name: m.value for m in classification_metrics("z", found(similarity, labels), labels, 3)}
    assert (metrics["z_acc@1"], metrics["z_tied"]) == (1 / 3, 2 / 3)
    by_topk = class_ranks(lambda part: similarity[part], labels, 3, "topk")
    assert accuracy_at(by_topk, 1) == 2 / 3
    assert mean_per_class(by_topk, labels) == 2 / 3


def test_against_sorting() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 8, 200)
    similarity = rng.normal(size=(200, 8)) + 1.5 * np.eye(8)[labels]
    ranked = [np.argsort(-row).tolist() for row in similarity]
    metrics = {
        m.name: m for m in classification_metrics("zero_shot", found(similarity, labels), labels, classes=8)
    }
    of_class = [[r[0] == c for r, y in zip(ranked, labels, strict=True) if y == c] for c in range(8)]
    expected = {
        "zero_shot_acc@1": np.mean([row[0] == y for row, y in zip(ranked, labels, strict=True)]),
        "zero_shot_acc@5": np.mean([y in row[:5] for row, y in zip(ranked, labels, strict=True)]),
        "zero_shot_mean_per_class": np.mean([np.mean(right) for right in of_class]),
        "zero_shot_tied": 0,
    }
    assert expected["zero_shot_acc@1"] < expected["zero_shot_acc@5"] < 1
    assert {name: m.value for name, m in metrics.items()} == pytest.approx(expected)
    assert {m.count for m in metrics.values()} == {200}


def test_five_guesses_among_five_classes_are_no_metric() -> None:
    labels = np.arange(5)
    _, at_five, *_ = classification_metrics("zero_shot", found(np.eye(5), labels), labels, classes=5)
    assert (at_five.value, at_five.reason) == (None, "among 5 classes it is always 1")
