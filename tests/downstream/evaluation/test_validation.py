"""What is validated: a fixed part of the first set that fits the model, with the metric of the final evaluation."""

from pathlib import Path

import pytest
import torch

from downstream.evaluation.evaluation_sets import EvaluationSet, ImageFile, Item
from downstream.evaluation.validation import IMAGES, SHOWN, make_validation, part_of
from downstream.models.base import Downstream
from downstream.models.captioner import Captioner
from downstream.models.dual_encoder import DualEncoder
from downstream.models.lstm_captioner import LstmCaptioner
from downstream.training.trainer import TrainConfig
from tests.downstream.tiny_models import (
    CAPTIONS,
    UNLOCKED,
    Checkpoints,
    MemorySubset,
    Recorder,
    draw,
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


def made(kind: str, checkpoints: Checkpoints, every: int | None) -> Downstream:
    config = TrainConfig(samples_seen=48, batch_size=8, lr=3e-3, log_every=1, validate_every=every)
    if kind == "captioner":
        return Captioner(checkpoints.swin, checkpoints.gpt2, config, 16, 2, 8, 5)
    if kind == "lstm_captioner":
        return LstmCaptioner(checkpoints.swin, config, 32, 0.5, 1, 10, 2, 5)
    return DualEncoder(checkpoints.vit, checkpoints.bert, config, False, False, 16, 5, UNLOCKED)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["captioner", "lstm_captioner", "dual_encoder"])
def test_validated_models_end_with_the_same_bits(
    kind: str, checkpoints: Checkpoints, eight_pairs: MemorySubset, sets: list[EvaluationSet], tmp_path: Path
) -> None:
    models, trackers = [], []
    for every in (None, 16):
        model, tracker = made(kind, checkpoints, every), Recorder()
        model.validate = make_validation(model, sets)
        model.train(eight_pairs, tmp_path / str(every), CPU, tracker, "f")
        models.append(model)
        trackers.append(tracker)
    assert trackers[0].losses() == trackers[1].losses()
    states = [model.model.state_dict() for model in models]  # type: ignore[attr-defined]
    assert all(torch.equal(tensor, states[1][name]) for name, tensor in states[0].items())
    metric = "text_to_image_R@1" if kind == "dual_encoder" else "CIDEr"
    rows = [(step, row) for step, row in trackers[1].rows if f"{kind}/validation/{metric}" in row]
    assert [step for step, _ in rows] == [16, 32, 48]
    assert [step for step, _ in trackers[1].captions] == ([] if kind == "dual_encoder" else [16, 32, 48])
    for _, captions in trackers[1].captions:
        assert [c.references for c in captions] == [(caption,) for caption in CAPTIONS[:SHOWN]]
    if kind == "dual_encoder":  # the whole set is the part here: the last point is the final metric
        final = model.evaluate(sets, [], tmp_path / "evaluated", CPU)["flickr30k"]
        assert rows[-1][1].popitem()[1] == next(m.value for m in final if m.name == metric)


def test_a_part_is_spread_over_the_set_and_fixed(squares: list[Item]) -> None:
    items = [Item(number, squares[0].image, ["a"]) for number in range(1001)]
    part = part_of(EvaluationSet("coco", items, True, True))
    ids = [item.image_id for item in part.items]
    assert len(set(ids)) == IMAGES
    assert (ids[0], ids[-1]) == (0, 1000)
    assert part_of(EvaluationSet("coco", items, True, True)).items == part.items


def test_a_model_without_a_set_has_no_validation(checkpoints: Checkpoints, sets: list[EvaluationSet]) -> None:
    assert make_validation(made("captioner", checkpoints, None), sets[1:]) is None
    assert make_validation(made("dual_encoder", checkpoints, None), sets[:1]) is None
    assert make_validation(object(), sets) is None
