"""Validation on a fixed part of the first set that fits the model, with the metric of the final evaluation."""

from pathlib import Path

import pytest
import torch

from downstream.evaluation.evaluation_sets import EvaluationSet, ImageFile, Item
from downstream.evaluation.validation import IMAGES, SHOWN, make_validation, part_of
from tests.downstream.models.conftest import FOUR
from tests.downstream.tiny_models import (
    CAPTIONS,
    Checkpoints,
    MemorySubset,
    Recorder,
    built,
    draw,
    make,
    same_weights,
    six_steps,
    weights,
)

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def squares(tmp_path_factory: pytest.TempPathFactory) -> list[Item]:
    folder = tmp_path_factory.mktemp("squares")
    items = []
    for number, caption in enumerate([*CAPTIONS, CAPTIONS[0]]):
        draw(caption).save(folder / f"{number}.png")
        items.append(Item(number, ImageFile(folder / f"{number}.png"), [caption]))
    return items


@pytest.fixture
def sets(squares: list[Item]) -> list[EvaluationSet]:
    return [EvaluationSet("coco", squares, True, False), EvaluationSet("flickr30k", squares[:8], False, True)]


@pytest.mark.parametrize("kind", ["captioner", "unlocked"])
def test_validated_models_end_with_the_same_bits(
    kind: str, checkpoints: Checkpoints, sets: list[EvaluationSet], tmp_path: Path
) -> None:
    models, trackers = [], []
    for every in (None, 4):
        recipe = six_steps(samples_seen=8, batch_size=4, validate_every=every)
        model, tracker = make(kind, checkpoints, recipe), Recorder()
        model.validate = make_validation(model, sets)
        model.train(MemorySubset(FOUR), tmp_path / str(every), CPU, tracker, "f")
        models.append(model)
        trackers.append(tracker)
    assert trackers[0].losses() == trackers[1].losses()
    assert same_weights(*map(weights, models))
    metric = "text_to_image_R@1" if kind == "unlocked" else "CIDEr"
    name = f"{model.name}/validation/{metric}"
    rows = [(step, row) for step, row in trackers[1].rows if name in row]
    assert [step for step, _ in rows] == [4, 8]
    assert [step for step, _ in trackers[1].captions] == ([] if kind == "unlocked" else [4, 8])
    for _, captions in trackers[1].captions:
        assert [c.references for c in captions] == [(caption,) for caption in CAPTIONS[:SHOWN]]
    if kind == "unlocked":  # the whole set is the part here: the last point is the final metric
        final = model.evaluate(sets, [], tmp_path / "evaluated", CPU)["flickr30k"]
        assert rows[-1][1] == {name: next(m.value for m in final if m.name == metric)}


def test_a_part_is_spread_over_the_set_and_fixed(squares: list[Item]) -> None:
    items = [Item(number, squares[0].image, ["a"]) for number in range(1001)]
    part = part_of(EvaluationSet("coco", items, True, True))
    ids = [item.image_id for item in part.items]
    assert len(set(ids)) == IMAGES
    assert (ids[0], ids[-1]) == (0, 1000)
    assert part_of(EvaluationSet("coco", items, True, True)).items == part.items


def test_a_model_without_a_set_has_no_validation(checkpoints: Checkpoints, sets: list[EvaluationSet]) -> None:
    assert make_validation(built("captioner", checkpoints), sets[1:]) is None
    assert make_validation(built("locked", checkpoints), sets[:1]) is None
    assert make_validation(object(), sets) is None
