"""Retrieval on an evaluation set: each text is embedded once, whatever the order and the batches."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
import pytest
from PIL import Image

from benchmark.core.errors import UserError
from downstream.evaluation.embedding import evaluate_retrieval
from downstream.evaluation.evaluation_sets import EvaluationSet, ImageFile, Item
from downstream.evaluation.image_scores import ImageScores
from downstream.metrics.intervals import IMAGE_SCORES
from downstream.metrics.metric import Metric


class Noisy:
    """Embeds a text as a one-hot vector of its first letter, with an error that depends on its position."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed_images(self, images: Iterable[Image.Image]) -> npt.NDArray[np.float32]:
        return np.array([np.eye(3)[image.getpixel((0, 0))[0]] for image in images], np.float32)

    def embed_texts(self, texts: Iterable[str]) -> npt.NDArray[np.float32]:
        self.texts = list(texts)
        noise = 1e-3 * np.arange(len(self.texts))[:, None]
        return np.array([np.eye(3)["abc".index(text[0])] for text in self.texts], np.float32) - noise


def three_images(folder: Path, order: tuple[int, ...], ties: str = "against") -> EvaluationSet:
    captions = [["a dog", "a dog", "a cat"], ["b dog", "a dog"], ["c dog", "b dog"]]
    items = []
    for image in order:
        Image.new("RGB", (4, 4), (image, 0, 0)).save(folder / f"{image}.png")
        items.append(Item(image, ImageFile(folder / f"{image}.png"), captions[image]))
    return EvaluationSet("set", items, captioning=False, retrieval=True, ties=ties)  # type: ignore[arg-type]


def evaluated(found: EvaluationSet) -> tuple[list[Metric], list[str]]:
    model = Noisy()
    return evaluate_retrieval(model, found, ImageScores()), model.texts


def test_shared_captions_tie_in_any_order(tmp_path: Path) -> None:
    orders = ((0, 1, 2), (2, 1, 0), (1, 0, 2))
    metrics, texts = zip(*(evaluated(three_images(tmp_path, order)) for order in orders), strict=True)
    assert set(map(tuple, texts)) == {("a cat", "a dog", "b dog", "c dog")}
    assert metrics[0] == metrics[1] == metrics[2]
    table = {metric.name: metric.value for metric in metrics[0]}
    # "a cat" is only of image 0; "b dog" is of images 1 and 2, and "c dog" only of image 2.
    assert table["image_to_text_R@1"] == pytest.approx(2 / 3)
    assert table["image_to_text_tied"] == pytest.approx(1 / 3)


def test_the_rule_for_ties_is_the_sets(tmp_path: Path) -> None:
    table = {m.name: m.value for m in evaluated(three_images(tmp_path, (0, 1, 2), "topk"))[0]}
    assert table["image_to_text_R@1"] == 1
    with pytest.raises(UserError, match="ties=first must be against or topk"):
        three_images(tmp_path, (0, 1, 2), "first")


def test_the_rank_of_every_query_is_kept(tmp_path: Path) -> None:
    kept = ImageScores()
    metrics = {m.name: m.value for m in evaluate_retrieval(Noisy(), three_images(tmp_path, (2, 0, 1)), kept)}
    kept.write(tmp_path)
    rows = pq.read_table(tmp_path / IMAGE_SCORES).to_pylist()
    assert {row["evaluation"] for row in rows} == {"set"}
    hits = {name: [(r["image"], r["value"]) for r in rows if r["metric"] == name] for name in metrics}
    assert [image for image, _ in hits["image_to_text_R@1"]] == ["2", "0", "1"]
    assert [image for image, _ in hits["text_to_image_R@1"]] == ["2", "2", "0", "0", "0", "1", "1"]
    for name in ("text_to_image_R@1", "image_to_text_R@1", "text_to_image_R@10"):
        assert np.mean([value for _, value in hits[name]]) == pytest.approx(metrics[name])
    ranks = [row["value"] for row in rows if row["metric"] == "text_to_image_rank"]
    assert np.mean(np.array(ranks) <= 1) == pytest.approx(metrics["text_to_image_R@1"])
