import shutil

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from benchmark.core.errors import UserError
from filters.icc.autoencoder import caption_seed
from filters.icc.vba import ImageCaptioner, TextToImage, VisualBottleneck
from tests.demos import demo_model
from tests.extras import needs_extra

pytestmark = [needs_extra("diffusion"), pytest.mark.slow]

CPU = torch.device("cpu")
CAPTIONS = ["a red boat on a lake", "", "👍?!", "a dog " * 1700]


@pytest.fixture(scope="module")
def painter():
    made = TextToImage(demo_model("diffusion"), steps=3)
    made.setup(CPU)
    return made


@pytest.fixture(scope="module")
def captioner():
    made = ImageCaptioner(demo_model("blip"), max_new_tokens=12)
    made.setup(CPU)
    return made


def pixels(images):
    return np.stack([np.asarray(image, np.float32) for image in images])


def test_an_image_depends_on_its_caption_and_seed_alone(painter):
    seeds = [caption_seed(caption) for caption in CAPTIONS]
    together = pixels(painter.generate(CAPTIONS, seeds))
    alone = pixels([painter.generate([c], [s])[0] for c, s in zip(CAPTIONS, seeds, strict=True)])
    assert together.shape == (len(CAPTIONS), 64, 64, 3)
    np.testing.assert_allclose(together, alone, atol=2)  # levels of 0 to 255
    other = pixels(painter.generate(CAPTIONS[:1], [1]))
    assert np.abs(other[0] - together[0]).mean() > 5


def test_a_network_without_one_weight_is_refused(tmp_path):
    folder = shutil.copytree(demo_model("diffusion"), tmp_path / "diffusion")
    (path,) = (folder / "unet").glob("*.safetensors")
    weights = load_file(path)
    weights.pop("conv_out.weight")
    save_file(weights, path, {"format": "pt"})
    with pytest.raises(UserError, match="lacks 1 weights of UNet2DConditionModel: conv_out"):
        TextToImage(str(folder)).setup(CPU)


def test_the_papers_sampler_is_used(painter):
    from diffusers import DPMSolverMultistepScheduler

    scheduler = painter._pipeline.scheduler
    assert isinstance(scheduler, DPMSolverMultistepScheduler)
    assert scheduler.config.algorithm_type == "dpmsolver++"
    default = TextToImage("x")
    assert (default.steps, default.guidance) == (20, 9.0)


def test_guidance_is_classifier_free_guidance(painter):
    """At guidance 1 the unconditional pass does not matter; at 9 the caption's pull is larger."""
    weak, strong = (TextToImage(demo_model("diffusion"), 3, guidance) for guidance in (1.0, 9.0))
    for made in (weak, strong):
        made._pipeline = painter._pipeline
    empty = pixels(weak.generate([""], [3]))
    pulls = [np.abs(pixels(m.generate(["a red boat on a lake"], [3])) - empty).mean() for m in (weak, strong)]
    assert pulls[1] > pulls[0] > 0


def test_beams_are_those_of_each_image_alone(captioner):
    rng = np.random.default_rng(0)
    images = [
        Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)).resize((64, 64)) for _ in range(5)
    ]
    together = captioner.caption(images)
    assert [len(beams) for beams in together] == [5] * 5
    assert together == [captioner.caption([image])[0] for image in images]
    assert all(beam == " ".join(beam.split()) for beams in together for beam in beams)


def test_as_released_an_image_has_its_best_beam_alone_and_prompts_are_taken_off(captioner):
    released = ImageCaptioner(demo_model("blip"), max_new_tokens=12, returned=1)
    prompted = ImageCaptioner(demo_model("blip"), prompt="a red ", max_new_tokens=12)
    for made in (released, prompted):
        made._model, made._processor = captioner._model, captioner._processor
    images = [Image.new("RGB", (64, 64), colour) for colour in ("red", "blue")]
    assert released.caption(images) == [beams[:1] for beams in captioner.caption(images)]
    assert released.identity() == captioner.identity() | {"returned": 1}
    (beams,) = prompted.caption(images[:1])
    assert all(beam and not beam.startswith("a red") for beam in beams)


def test_reconstructions_do_not_depend_on_the_batch(painter, captioner, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plain = VisualBottleneck(painter, captioner, batch=3)
    beams = plain.reconstruct(CAPTIONS)
    assert [len(found) for found in beams] == [5] * len(CAPTIONS)
    assert plain.reconstruct(CAPTIONS[::-1]) == beams[::-1]
    assert not list(tmp_path.rglob("*"))
