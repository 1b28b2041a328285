"""A dual encoder as a classifier: zero-shot against the definition, and the linear probe."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from downstream.evaluation.classification_sets import ClassificationSet, image_folder
from downstream.evaluation.embedding import class_embeddings
from downstream.evaluation.linear_probe import ProbeBatches, View
from downstream.evaluation.protocols import LOCKED
from downstream.metrics.metric import Metric
from downstream.models.dual_encoder import DualEncoder
from downstream.training.training_data import SampleOrder
from tests.downstream.tiny_models import COLOURS, Checkpoints, built, same_weights, six_steps, weights

CPU = torch.device("cpu")
CLASSES = ("red", "green", "blue")
TEMPLATES = ["a {label} square", "{label} on the left"]
NAMES = [
    "zero_shot", "zero_shot_acc@1", "zero_shot_acc@5", "zero_shot_mean_per_class", "zero_shot_tied", "linear_probe",
]  # fmt: skip


@pytest.fixture
def squares(tmp_path: Path) -> ClassificationSet:
    """Eight test and twelve training squares a class, in its colour on grounds of any colour."""
    rng = np.random.default_rng(0)
    for split, count in (("test", 8), ("train", 12)):
        for kind in CLASSES:
            (tmp_path / split / kind).mkdir(parents=True)
            for number in range(count):
                pixels = np.full((40, 56, 3), rng.integers(0, 256, 3), np.uint8)
                pixels[8:32, 12:44] = COLOURS[kind]
                Image.fromarray(pixels).save(tmp_path / split / kind / f"{number}.png")
    return image_folder("squares", str(tmp_path), "accuracy", TEMPLATES, probe_epochs=20)


def metrics(encoder: DualEncoder, evaluation_set: ClassificationSet) -> dict[str, Metric]:
    with tempfile.TemporaryDirectory() as folder:
        found = encoder.evaluate([evaluation_set], [], Path(folder), CPU)[evaluation_set.name]
    return {metric.name: metric for metric in found}


def values(encoder: DualEncoder, evaluation_set: ClassificationSet) -> dict[str, float | None]:
    return {name: metric.value for name, metric in metrics(encoder, evaluation_set).items()}


def test_zero_shot_against_the_definition(checkpoints: Checkpoints, squares: ClassificationSet) -> None:
    encoder = built("locked", checkpoints)
    embeddings = []
    for label in CLASSES:  # the loader sorts: blue, green, red
        vectors = [encoder.embed_texts([template.replace("{label}", label)])[0] for template in TEMPLATES]
        mean = np.mean(vectors, axis=0)
        embeddings.append(mean / np.linalg.norm(mean))
    order = [CLASSES.index(label) for label in squares.classes]
    assert np.allclose(class_embeddings(encoder, squares), np.array(embeddings)[order], atol=1e-6)
    right = []
    for item in squares.test:
        similarity = np.array(embeddings)[order] @ encoder.embed_images([item.load()])[0]
        right.append(similarity.argmax() == item.label)
    found = values(encoder, squares)
    assert list(found) == NAMES
    assert found["zero_shot_acc@1"] == pytest.approx(np.mean(right))
    assert found["zero_shot"] == found["zero_shot_acc@1"]
    # Classes are of one size here: take away images of one, and the two scores differ.
    fewer = replace(squares, test=squares.test[6:], score="mean_per_class")
    of_class = [np.mean(right[6:8]), np.mean(right[8:16]), np.mean(right[16:])]
    fewer_found = metrics(encoder, fewer)["zero_shot"]
    assert fewer_found.value == pytest.approx(np.mean(of_class))
    low, high = fewer_found.interval or (1.0, 0.0)
    assert low < np.mean(of_class) < high


def test_a_locked_tower_has_no_probe(checkpoints: Checkpoints, squares: ClassificationSet) -> None:
    def never() -> Any:
        raise AssertionError("training images are not needed")

    probe = metrics(built("locked", checkpoints), replace(squares, train=never))["linear_probe"]
    assert (probe.value, probe.reason, probe.count) == (None, LOCKED, 24)
    probe = metrics(built("unlocked", checkpoints), replace(squares, train=None))["linear_probe"]
    assert probe.reason == "the set has no training images"


def test_the_probe_learns_colours_that_names_do_not_tell(
    checkpoints: Checkpoints, squares: ClassificationSet
) -> None:
    encoder = built("unlocked", checkpoints)
    before = weights(encoder)
    found = values(encoder, replace(squares, probe_epochs=25))
    assert (found["linear_probe"] or 0) > 0.8
    assert same_weights(weights(encoder), before)


def test_the_probe_depends_on_neither_workers_nor_global_rng(
    checkpoints: Checkpoints, squares: ClassificationSet
) -> None:
    short, state = replace(squares, probe_epochs=2), torch.get_rng_state()
    one, other = (values(built("unlocked", checkpoints, six_steps(workers=n)), short) for n in (0, 1))
    assert one == other
    assert torch.equal(state, torch.get_rng_state())


def test_every_epoch_sees_every_image_in_another_view(
    checkpoints: Checkpoints, squares: ClassificationSet
) -> None:
    assert squares.train is not None
    items, processor = squares.train(), built("unlocked", checkpoints).collate.processor

    def batches(seed: int) -> ProbeBatches:
        return ProbeBatches(items, SampleOrder.over(36, seed), 5 * 36, View(32, 2), processor)

    one = batches(5)
    assert len(one) == 2
    (first, labels), (second, more) = one[0], one[1]
    assert (len(first), len(second)) == (128, 5 * 36 - 128)
    assert torch.bincount(torch.cat([labels, more])).tolist() == [60, 60, 60]
    assert len({view.numpy().tobytes() for view in torch.cat([first, second])}) == 180
    assert torch.equal(batches(5)[0][0], first)
    assert not torch.equal(batches(6)[0][0], first)


def test_the_probes_features_are_from_before_the_head(
    checkpoints: Checkpoints, squares: ClassificationSet
) -> None:
    encoder = built("unlocked", checkpoints)
    first = values(encoder, replace(squares, probe_epochs=1))
    with torch.no_grad():
        encoder.model.image_head.weight.zero_()  # type: ignore[union-attr]
    again = values(encoder, replace(squares, probe_epochs=1))
    assert again["linear_probe"] == first["linear_probe"]
    assert again["zero_shot"] != first["zero_shot"]


def test_views() -> None:
    image = Image.fromarray(np.arange(40 * 60 * 3, dtype=np.uint32).reshape(40, 60, 3).astype(np.uint8))
    view = View(40, Image.Resampling.BILINEAR)
    assert view.centre(image).tobytes() == image.crop((10, 0, 50, 40)).tobytes()
    rng = np.random.default_rng(0)
    gradient = Image.fromarray(np.tile(np.linspace(0, 255, 64, dtype=np.uint8), (64, 1)))
    left, means = [], []
    for _ in range(200):
        drawn = np.asarray(View(16, 2).random(gradient, rng)).astype(int)
        assert drawn.shape == (16, 16)
        left.append(drawn[:, 0].mean() < drawn[:, -1].mean())
        means.append(abs(drawn[:, -1].mean() - drawn[:, 0].mean()) / 255)
    assert 0.4 < np.mean(left) < 0.6  # flipped half of the time
    assert min(means) < 0.4 < 0.85 < max(means)  # widths from a quarter of the image to nearly all of it
    strip = Image.new("RGB", (400, 4))
    assert View(8, 2).random(strip, rng).size == (8, 8)
