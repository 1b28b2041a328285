from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from downstream.evaluation.captioning import score_captions_of_sets
from downstream.evaluation.classification_sets import ClassificationSet, LabelledImage
from downstream.evaluation.embedding import classify, evaluate_retrieval
from downstream.evaluation.evaluation_sets import EvaluationSet, ImageFile, Item
from downstream.evaluation.image_scores import ImageScores
from downstream.metrics import intervals
from downstream.metrics.coco_metrics import Bleu, Cider, RougeL
from downstream.metrics.corpus_scores import count_names, score_of_sums
from downstream.metrics.intervals import class_weights, resampled_sums, with_intervals
from downstream.metrics.meteor import Meteor
from downstream.metrics.metric import Metric


def metric(name: str, value: float | None = 0.5) -> Metric:
    return Metric(name, value, None if value is not None else "no Java", 10, "v")


def interval(values: np.ndarray, counts: np.ndarray | None = None) -> tuple[float, float]:
    counts = np.ones(len(values)) if counts is None else counts
    (found,) = with_intervals([metric("CIDEr")], {"CIDEr": values}, counts)
    assert found.interval is not None
    return found.interval


def test_95_percent_of_intervals_hold_the_true_mean() -> None:
    rng = np.random.default_rng(0)
    # Skewed, as CIDEr's scores are. 500 columns of 200 images each, resampled in one call.
    draws = {f"column {n}": rng.exponential(size=200) for n in range(500)}
    found = with_intervals([metric(name) for name in draws], draws, np.ones(200))
    covered = [low <= 1.0 <= high for low, high in (m.interval or (0.0, 0.0) for m in found)]
    assert 0.91 <= np.mean(covered) <= 0.975  # 0.944 at 200 images, with a standard error of 0.01


def test_queries_of_one_image_are_resampled_together() -> None:
    rng = np.random.default_rng(0)
    hits = 5.0 * rng.integers(0, 2, 400)  # five queries per image, all of them hits or none
    low, high = interval(hits, np.full(400, 5.0))
    apart_low, apart_high = interval(np.repeat(hits / 5, 5))
    assert (high - low) / (apart_high - apart_low) == pytest.approx(5**0.5, rel=0.1)
    assert low < hits.mean() / 5 < high


def test_constant_values_have_a_point() -> None:
    assert interval(np.full(30, 0.25)) == pytest.approx((0.25, 0.25))
    assert interval(np.arange(9.0)) == interval(np.arange(9.0))


@pytest.mark.parametrize("name", ["BLEU-4", "METEOR"])
def test_a_corpus_score_is_resampled_by_its_counts(name: str) -> None:
    rng = np.random.default_rng(0)
    columns = {count: rng.integers(8, 12, 50).astype(float) for count in count_names(name)}
    for count in columns:
        if "length" not in count and not count.endswith("-grams"):
            columns[count] = rng.integers(0, 2, 50).astype(float)
    value = score_of_sums(name, {count: np.array([column.sum()]) for count, column in columns.items()})[0]
    (found,) = with_intervals([metric(name, value)], columns, np.ones(50))
    low, high = found.interval or (0.0, 0.0)
    assert low < value < high < 1.5 * value


def test_what_is_no_mean_of_images_has_no_interval() -> None:
    metrics = [metric("METEOR"), metric("CIDEr", None), metric("BLEU-4"), metric("Diversity")]
    assert with_intervals(metrics, {"CIDEr": np.ones(3)}, np.ones(3)) == metrics
    assert with_intervals(metrics, {"CIDEr": np.ones(0)}, np.ones(0)) == metrics


def test_classes_are_resampled_and_then_their_images() -> None:
    labels = np.repeat(np.arange(20), 10)
    hits = (labels % 2).astype(float)  # whole classes are right or wrong

    def width(classes: np.ndarray | None) -> float:
        (found,) = with_intervals([metric("zero_shot")], {"zero_shot": hits}, np.ones(200), classes)
        assert found.interval is not None
        return found.interval[1] - found.interval[0]

    assert width(labels) == pytest.approx(2 * 1.96 * 0.5 / 20**0.5, rel=0.15)
    assert width(None) == pytest.approx(2 * 1.96 * 0.5 / 200**0.5, rel=0.15)


def test_weighted_classes_count_alike_in_every_resample() -> None:
    labels = np.repeat([0, 1, 2], [1, 10, 100])
    weights = class_weights(labels)
    assert [weights[labels == label].sum() for label in range(3)] == pytest.approx([37.0] * 3)
    (found,) = with_intervals([metric("zero_shot")], {"zero_shot": 0.25 * weights}, weights, labels)
    assert found.interval == pytest.approx((0.25, 0.25))
    assert resampled_sums(weights[:, None], labels) == pytest.approx(111.0)


@pytest.fixture
def drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bootstrap has one resample, with each image once."""
    monkeypatch.setattr(intervals, "resampled_sums", lambda values, _: values.sum(axis=0, keepdims=True))


def assert_intervals_are_the_values(metrics: list[Metric], names: set[str]) -> None:
    values = {m.name: [m.value, m.value] for m in metrics if m.interval is not None}
    assert set(values) == names
    assert {m.name: m.interval for m in metrics if m.interval} == {
        name: pytest.approx(value, abs=1e-6) for name, value in values.items()
    }


@pytest.mark.usefixtures("drawn_once", "recorded_meteor")
def test_each_image_once_gives_a_caption_metric(tmp_path: Path) -> None:
    captions = ["a man eats a pizza", "dogs ran", "a red bus on a street", "a cat", "zebra"]
    references = [["a man eats pizza at home"], ["two dogs ran away"], ["a red bus"], ["a cat"], ["a dog"]]
    items = [Item(n, None, texts, "near" if n < 2 else "out") for n, texts in enumerate(references)]
    found = EvaluationSet("set", items, captioning=True, retrieval=False)
    metrics = [Bleu(), Meteor(), RougeL(), Cider()]
    scored = score_captions_of_sets([found], {"set": captions}, metrics, tmp_path, torch.device("cpu"))
    assert set(scored) == {"set", "set/near", "set/out"}
    for of_domain in scored.values():
        names = {name for metric in metrics for name in metric.names}
        assert_intervals_are_the_values(of_domain, names)


class Drawn:
    """Embeds at random, so that some queries hit and others miss."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def embed_images(self, images: Iterable[object]) -> np.ndarray:
        return self.rng.normal(size=(len(list(images)), 4)).astype(np.float32)

    embed_texts = embed_images


@pytest.mark.usefixtures("drawn_once")
def test_each_image_once_gives_a_metric_of_ranks(tmp_path: Path) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "0.png")
    image = ImageFile(tmp_path / "0.png")
    items = [Item(n, image, [f"text {n}.{m}" for m in range(1 + n % 3)]) for n in range(40)]
    found = EvaluationSet("set", items, captioning=False, retrieval=True)
    hits = {f"{way}_R@{k}" for way in ("text_to_image", "image_to_text") for k in (1, 5, 10)}
    assert_intervals_are_the_values(evaluate_retrieval(Drawn(), found, ImageScores()), hits)
    pictures = [LabelledImage(str(n), image, label) for n, label in enumerate([0] * 30 + [1] * 9 + [2])]
    classes = ClassificationSet("set", list("abcdefg"), ["a {label}"], "mean_per_class", pictures, None, 1)
    hits = {"zero_shot"} | {f"zero_shot_{name}" for name in ("acc@1", "acc@5", "mean_per_class")}
    assert_intervals_are_the_values(classify(Drawn(), classes, "no tower", ImageScores()), hits)
