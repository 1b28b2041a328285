import numpy as np
import pytest

from downstream.metrics import retrieval
from downstream.metrics.retrieval import retrieval_metrics, retrieval_metrics_of


def naive(similarity, image_of_text):
    """Sort each query's items with the wrong ones first among equals, and look for the first right one."""
    texts, images = similarity.shape
    to_images, to_texts = [], []
    for text in range(texts):
        order = sorted(range(images), key=lambda i: (-similarity[text, i], i == image_of_text[text]))
        to_images.append(1 + order.index(image_of_text[text]))
    for image in range(images):
        order = sorted(range(texts), key=lambda t: (-similarity[t, image], image_of_text[t] == image))
        to_texts.append(1 + next(n for n, t in enumerate(order) if image_of_text[t] == image))
    table = {}
    for direction, found in (("text_to_image", to_images), ("image_to_text", to_texts)):
        table |= {f"{direction}_R@{k}": np.mean([rank <= k for rank in found]) for k in (1, 5, 10)}
        table[f"{direction}_median_rank"] = np.median(found)
    return table


def values(metrics):
    return {metric.name: metric.value for metric in metrics}


@pytest.mark.parametrize("chunk_bytes", [1, 3000, 1 << 26])
@pytest.mark.parametrize("levels", [3, 10_000])
def test_ranks_are_those_of_a_sort_with_ties(monkeypatch, chunk_bytes, levels):
    monkeypatch.setattr(retrieval, "CHUNK_BYTES", chunk_bytes)
    rng = np.random.default_rng(0)
    similarity = rng.integers(0, levels, (90, 31)).astype(np.float32) / levels
    owner = np.concatenate([np.arange(31), rng.integers(0, 31, 59)])
    rng.shuffle(owner)
    assert values(retrieval_metrics_of(similarity, owner)) == pytest.approx(naive(similarity, owner))


@pytest.mark.parametrize("chunk_bytes", [1, 3000, 1 << 26])
def test_features_rank_as_their_cosines(monkeypatch, chunk_bytes):
    monkeypatch.setattr(retrieval, "CHUNK_BYTES", chunk_bytes)
    rng = np.random.default_rng(1)
    images = rng.normal(size=(40, 8))
    images[::2] = images[1::2] * 3  # the same directions: ties, although their sums round differently
    owner = np.repeat(np.arange(40), 5)
    texts = images[owner] + rng.normal(size=(200, 8))
    unit = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in (images, texts)]
    cosines = np.round(unit[1] @ unit[0].T, 12)
    metrics = retrieval_metrics(images, texts, owner)
    assert values(metrics) == pytest.approx(naive(cosines, owner))
    assert [metric.count for metric in metrics] == [200] * 4 + [40] * 4


def test_by_hand():
    similarity = np.array(
        [[0.9, 0.1], [0.8, 0.7], [0.2, 0.3]]
    )  # texts 0 and 1 are of image 0, text 2 of image 1
    table = values(retrieval_metrics_of(similarity, np.array([0, 1, 1])))
    assert table["text_to_image_R@1"] == pytest.approx(2 / 3)  # text 1 finds image 0 first
    assert table["image_to_text_R@1"] == 1
    assert table["text_to_image_median_rank"] == 1


def test_collapsed_features_get_the_worst_rank_and_not_the_first():
    table = values(retrieval_metrics(np.ones((50, 4)), np.ones((100, 4)), np.repeat(np.arange(50), 2)))
    assert table["text_to_image_R@10"] == 0
    assert table["text_to_image_median_rank"] == 50
    assert table["image_to_text_median_rank"] == 99


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
        retrieval_metrics(images, np.ones((2, 3)), np.array(owner))


def test_a_similarity_that_is_not_finite_is_an_error():
    with pytest.raises(ValueError, match="finite"):
        retrieval_metrics_of(np.array([[1.0, np.nan], [0.0, 1.0]]), np.array([0, 1]))


@pytest.mark.perf
def test_coco_size_takes_little_memory_and_time(record_property):
    import time
    import tracemalloc

    rng = np.random.default_rng(0)
    images, owner = rng.normal(size=(5000, 256)).astype(np.float32), np.repeat(np.arange(5000), 5)
    texts = images[owner] + rng.normal(size=(25_000, 256)).astype(np.float32)
    tracemalloc.start()
    started = time.monotonic()
    retrieval_metrics(images, texts, owner)
    seconds, peak = time.monotonic() - started, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    record_property("seconds", seconds)
    record_property("bytes", peak)
    assert peak < 500 * 2**20  # the matrix alone would take 1 GB
    assert seconds < 60
