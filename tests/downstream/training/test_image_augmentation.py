"""Random changes of training images: seeded by position, the same for any rank, worker or resume."""

import numpy as np
import torch
from PIL import Image

from downstream.models.networks import ImageAugmentation, augment_image, ds_clip_changes
from downstream.training.batch_loader import loader
from downstream.training.training_data import SampleOrder, StepBatches, TrainingData
from tests.downstream.tiny_models import CAPTIONS, MemorySubset

AUGMENT = ImageAugmentation(24)


def pixels(samples: list) -> dict[str, torch.Tensor]:
    return {"pixels": torch.stack([torch.from_numpy(np.array(sample.image)) for sample in samples])}


def views(ranks: int = 1, workers: int = 0, start: int = 0) -> torch.Tensor:
    """The images of positions 16 * start to 48, those of all ranks interleaved."""
    subset = MemorySubset(CAPTIONS)
    data = TrainingData(subset, SampleOrder.over(8, seed=3), pixels, AUGMENT)
    found = torch.empty(48 - 16 * start, 24, 24, 3, dtype=torch.uint8)
    for rank in range(ranks):
        steps = StepBatches(data, 48, 16, rank, ranks)
        batches = loader(steps, range(start, 3), workers, torch.device("cpu"))
        found[rank::ranks] = torch.cat([batch.inputs["pixels"] for batch in batches])
    return found


def test_views_follow_from_seed_and_position_alone() -> None:
    whole = views()
    assert torch.equal(views(ranks=2), whole)
    assert torch.equal(views(workers=2), whole)
    assert torch.equal(views(start=1), whole[16:])


def test_every_epoch_sees_another_view() -> None:
    order = SampleOrder.over(8, seed=3).indices(0, 48)
    whole = views()
    for index in range(8):
        seen = whole[torch.from_numpy(order == index)]
        assert len({image.numpy().tobytes() for image in seen}) == 6


def test_a_view_has_the_models_size_and_spares_the_global_rng() -> None:
    image = Image.fromarray(np.random.default_rng(0).integers(0, 256, (40, 90, 3), dtype=np.uint8))
    state = torch.random.get_rng_state()
    changed = [augment_image(image, ds_clip_changes(24), np.random.default_rng(seed)) for seed in (0, 0, 1)]
    assert torch.equal(torch.random.get_rng_state(), state)
    assert {view.size for view in changed} == {(24, 24)}
    one, again, other = map(np.asarray, changed)
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_an_image_without_structure_gains_none() -> None:
    """Crop, flip, colour and blur of one colour give one colour; only RandAugment's fill adds black."""
    grey = Image.new("RGB", (30, 30), (120, 120, 120))
    for seed in range(20):
        view = np.asarray(augment_image(grey, ds_clip_changes(16), np.random.default_rng(seed))).reshape(
            -1, 3
        )
        colours = {tuple(colour) for colour in view.tolist()} - {(0, 0, 0)}
        assert len(colours) <= 3
