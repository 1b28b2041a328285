"""Ranks against sorting, ties included; metrics of retrieval and classification by hand."""

import numpy as np
import pytest
import torch

from downstream.metrics import rank_metrics as module
from downstream.metrics.rank_metrics import (
    accuracy_at,
    class_ranks,
    classification_metrics,
    mean_per_class,
    ranks,
    retrieval_metrics,
    retrieval_ranks,
    topk_hits,
)


def naive(similarity, owner):
    """Sort each query's items with the wrong ones first among equals, and look for the first right one."""
    texts, images = similarity.shape
    to_images, to_texts = [], []
    for text in range(texts):
        order = sorted(range(images), key=lambda i: (-similarity[text, i], i == owner[text]))
        to_images.append(1 + order.index(owner[text]))
    for image in range(images):
        order = sorted(range(texts), key=lambda t: (-similarity[t, image], owner[t] == image))
        to_texts.append(1 + next(n for n, t in enumerate(order) if owner[t] == image))
    return to_images, to_texts


def unit(features):
    return features / np.linalg.norm(features, axis=1, keepdims=True)


def values(metrics):
    return {metric.name: metric.value for metric in metrics}


def retrieved(images, texts, owner, ties="against"):
    return values(retrieval_metrics(*retrieval_ranks(images, texts, owner, ties)))


@pytest.mark.parametrize("chunk_bytes", [1, 3000, 1 << 26])
@pytest.mark.parametrize("levels", [3, 10_000])
def test_ranks_are_those_of_a_sort_with_ties(monkeypatch, chunk_bytes, levels):
    monkeypatch.setattr(module, "CHUNK_BYTES", chunk_bytes)
    rng = np.random.default_rng(0)
    similarity = rng.integers(0, levels, (90, 31)).astype(np.float32) / levels
    owner = np.concatenate([np.arange(31), rng.integers(0, 31, 59)])
    rng.shuffle(owner)
    to_images = ranks(lambda part: similarity[part], owner, np.arange(31))
    to_texts = ranks(lambda part: similarity[:, part].T, np.arange(31), owner)
    assert (to_images.ranks.tolist(), to_texts.ranks.tolist()) == naive(similarity, owner)
    wrong, own = np.arange(31) != owner[:, None], similarity[np.arange(90), owner]
    assert to_images.tied.tolist() == ((similarity == own[:, None]) & wrong).any(axis=1).tolist()


def test_features_rank_as_their_cosines():
    rng = np.random.default_rng(1)
    images = rng.normal(size=(40, 8))
    images[::2] = images[1::2] * 3  # the same directions: ties, although their sums round differently
    owner = np.repeat(np.arange(40), 5)
    texts = images[owner] + rng.normal(size=(200, 8))
    texts[50:60] = texts[:10]
    texts[60:80] = texts[40:60] * (1 + 1e-6 * rng.normal(size=(20, 8)))  # only float64 tells them apart
    found = retrieval_ranks(images, texts, owner)
    assert tuple(way.ranks.tolist() for way in found) == naive(
        np.round(unit(texts) @ unit(images).T, 12), owner
    )
    assert found[0].tied.all()
    assert 0 < found[1].tied.sum() < 40
    metrics = retrieval_metrics(*found)
    assert values(metrics)["text_to_image_R@5"] == np.mean(found[0].ranks <= 5)
    assert values(metrics)["image_to_text_median_rank"] == np.median(found[1].ranks)
    assert [metric.count for metric in metrics] == [200] * 5 + [40] * 5


def recall_at_k(scores, positive, k):
    """CLIP_benchmark's recall: the fraction of rows with a positive among the items of torch.topk."""
    chosen = torch.zeros_like(positive).scatter(1, torch.topk(scores, k, dim=1).indices, True)
    return (chosen & positive).any(dim=1).numpy()


def test_topk_is_clip_benchmarks_rule(monkeypatch):
    monkeypatch.setattr(module, "CHUNK_BYTES", 3000)
    rng, owner = np.random.default_rng(3), np.repeat(np.arange(60), 5)
    similarity = rng.integers(0, 30, (300, 60)).astype(np.float32)
    scores, positive = torch.from_numpy(similarity), torch.from_numpy(owner[:, None] == np.arange(60))
    to_images = topk_hits(lambda part: similarity[part], owner, np.arange(60), (1, 5, 10))
    to_texts = topk_hits(lambda part: similarity[:, part].T, np.arange(60), owner, (1, 5, 10))
    for k in (1, 5, 10):
        assert (to_images[k] == recall_at_k(scores, positive, k)).all()
        assert (to_texts[k] == recall_at_k(scores.T, positive.T, k)).all()
    against = ranks(lambda part: similarity[part], owner, np.arange(60))
    gained = [to_images[k].mean() - against.within(k).mean() for k in (1, 5, 10)]
    assert 0 <= min(gained) <= max(gained) <= against.tied.mean()
    assert max(gained) > 0


def test_retrieval_by_hand():
    texts = np.array([[0.9, 0.1], [0.8, 0.7], [0.2, 0.3]])  # text 0 is of image 0, texts 1 and 2 of image 1
    table = retrieved(np.eye(2), texts, np.array([0, 1, 1]))
    assert table["text_to_image_R@1"] == pytest.approx(2 / 3)  # text 1 finds image 0 first
    assert (table["image_to_text_R@1"], table["text_to_image_median_rank"]) == (1, 1)
    # Features that have collapsed to one point get the worst rank, not the first.
    table = retrieved(np.ones((50, 4)), np.ones((100, 4)), np.repeat(np.arange(50), 2))
    assert table["text_to_image_R@10"] == 0
    assert (table["text_to_image_median_rank"], table["image_to_text_median_rank"]) == (50, 99)


@pytest.mark.parametrize(
    ("images", "owner", "message"),
    [
        (np.ones((2, 3)), [0, 0], "no item"),  # image 1 has no text
        (np.ones((2, 3)), [0, 2], "no item"),  # image 2 does not exist
        (np.zeros((2, 3)), [0, 1], "not zero"),
        (np.full((2, 3), np.nan), [0, 1], "finite"),
    ],
)
def test_features_that_cannot_be_ranked_are_errors(images, owner, message):
    with pytest.raises(ValueError, match=message):
        retrieval_ranks(images, np.ones((2, 3)), np.array(owner))


def test_a_similarity_that_is_not_finite_is_an_error():
    with pytest.raises(ValueError, match="finite"):
        ranks(lambda part: np.array([[1.0, np.nan], [0.0, 1.0]])[part], np.arange(2), np.arange(2))


def of_classes(similarity, labels, ties="against"):
    return class_ranks(lambda part: similarity[part], labels, similarity.shape[1], ties)


def test_classification_by_hand():
    similarity = np.array([[0.9, 0.1, 0.2], [0.3, 0.2, 0.1], [0.1, 0.5, 0.4], [0.1, 0.2, 0.3]])
    labels = np.array([0, 0, 0, 2])
    found = of_classes(similarity, labels)
    assert found.ranks.tolist() == [1, 1, 3, 1]
    assert (accuracy_at(found, 1), accuracy_at(found, 2)) == (3 / 4, 3 / 4)
    assert mean_per_class(found, labels) == pytest.approx((2 / 3 + 1) / 2)  # class 1 has no image
    _, at_five, *_ = classification_metrics("zero_shot", of_classes(np.eye(5), np.arange(5)), np.arange(5), 5)
    assert (at_five.value, at_five.reason) == (None, "among 5 classes it is always 1")


def test_classes_of_one_name_tie():
    """Missile is there twice: both lose under our rule, one wins under CLIP_benchmark's."""
    similarity, labels = np.array([[0.9, 0.9, 0.1], [0.8, 0.8, 0.1], [0.1, 0.1, 0.2]]), np.arange(3)
    metrics = values(classification_metrics("z", of_classes(similarity, labels), labels, 3))
    assert (metrics["z_acc@1"], metrics["z_tied"]) == (1 / 3, 2 / 3)
    by_topk = of_classes(similarity, labels, "topk")
    assert accuracy_at(by_topk, 1) == mean_per_class(by_topk, labels) == 2 / 3


def test_classification_against_sorting():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 8, 200)
    similarity = rng.normal(size=(200, 8)) + 1.5 * np.eye(8)[labels]
    ranked = np.argsort(-similarity, axis=1)
    metrics = classification_metrics("zero_shot", of_classes(similarity, labels), labels, classes=8)
    first = ranked[:, 0] == labels
    expected = {
        "zero_shot_acc@1": first.mean(),
        "zero_shot_acc@5": (ranked[:, :5] == labels[:, None]).any(axis=1).mean(),
        "zero_shot_mean_per_class": np.mean([first[labels == label].mean() for label in range(8)]),
        "zero_shot_tied": 0,
    }
    assert expected["zero_shot_acc@1"] < expected["zero_shot_acc@5"] < 1
    assert values(metrics) == pytest.approx(expected)
    assert {metric.count for metric in metrics} == {200}
