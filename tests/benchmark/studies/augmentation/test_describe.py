"""Describing: a captioner as it is, and a chat model that sees, built small."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from benchmark.config import demo_model
from benchmark.core.batch import Sample
from benchmark.studies.augmentation.describe import Describe
from filters.icc.vba import ImageCaptioner
from tests.benchmark.studies.augmentation.tiny_writers import llava_model

CPU = torch.device("cpu")
PROMPT = "Tell me in detail what is main object description in this picture."


def samples(count: int) -> list[Sample]:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (count, 4, 4, 3), dtype=np.uint8)
    return [
        Sample(f"{n:032x}", "unused", Image.fromarray(p).resize((24 + n, 32), Image.Resampling.NEAREST))
        for n, p in enumerate(pixels)
    ]


@pytest.mark.parametrize("kind", ["blip", "llava"])
def test_a_description_is_of_its_image_alone(kind: str, tmp_path: Path) -> None:
    checkpoint = demo_model("blip") if kind == "blip" else str(llava_model(tmp_path))
    given = samples(5)
    together = Describe(checkpoint, PROMPT, max_new_tokens=6)
    alone = Describe(checkpoint, PROMPT, max_new_tokens=6, batch_size=1)
    for made in (together, alone):
        made.setup(CPU)
    found = together.captions(given)
    assert found == alone.captions(given[::-1])[::-1]
    assert len(set(found)) > 1
    assert all("<image>" not in text for text in found)


def test_a_captioner_says_its_best_beam() -> None:
    made, captioner = Describe(demo_model("blip"), PROMPT), ImageCaptioner(demo_model("blip"))
    for model in (made, captioner):
        model.setup(CPU)
    given = samples(2)
    assert made.captions(given) == [beams[0] for beams in captioner.caption([s.image for s in given])]


def test_a_chat_model_is_asked_the_prompt(tmp_path: Path) -> None:
    made = Describe(str(llava_model(tmp_path)), "cat", max_new_tokens=3)
    made.setup(CPU)
    asked = []
    generate = made._model.generate
    made._model.generate = lambda **inputs: asked.append(inputs["input_ids"]) or generate(**inputs)
    made.captions(samples(1))
    # 2 x 2 patches of 8 pixels; the newline of the template is a token of its own.
    assert made._processor.batch_decode(asked[0]) == [
        "USER: <image> <image> <image> <image> \n cat ASSISTANT:"
    ]
    other = Describe(made.checkpoint, "a cat", max_new_tokens=3)
    assert made.key() != other.key()
