"""Describe: the demo's captioner, and a tiny chat model with vision."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from benchmark.core.batch import Sample
from filters.icc.vba import ImageCaptioner
from pairsift.studies.ds_clip.describe import Describe
from tests.demos import demo_model
from tests.pairsift.studies.ds_clip.tiny_writers import llava_model

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
def test_a_description_does_not_depend_on_the_batch(kind: str, tmp_path: Path) -> None:
    checkpoint = demo_model("blip") if kind == "blip" else str(llava_model(tmp_path))
    given = samples(3)
    together = Describe(checkpoint, PROMPT, max_new_tokens=6)
    alone = Describe(checkpoint, PROMPT, max_new_tokens=6, batch_size=1)
    for augmenter in (together, alone):
        augmenter.setup(CPU)
    descriptions = together.captions(given)
    assert descriptions == alone.captions(given[::-1])[::-1]
    assert len(set(descriptions)) > 1
    assert all("<image>" not in text for text in descriptions)


def test_a_captioner_returns_its_best_beam() -> None:
    made, captioner = Describe(demo_model("blip"), PROMPT), ImageCaptioner(demo_model("blip"))
    for model in (made, captioner):
        model.setup(CPU)
    given = samples(2)
    assert made.captions(given) == [beams[0] for beams in captioner.caption([s.image for s in given])]
    assert (
        made.key() == Describe(demo_model("blip"), PROMPT).key() != Describe(demo_model("blip"), "cat").key()
    )


def test_a_chat_model_gets_the_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import AutoProcessor, LlavaForConditionalGeneration

    prompts: list[torch.Tensor] = []
    generate = LlavaForConditionalGeneration.generate

    def record(model: LlavaForConditionalGeneration, **inputs: Any) -> Any:
        prompts.append(inputs["input_ids"])
        return generate(model, **inputs)

    monkeypatch.setattr(LlavaForConditionalGeneration, "generate", record)
    checkpoint = str(llava_model(tmp_path))
    describer = Describe(checkpoint, "cat", max_new_tokens=3)
    describer.setup(CPU)
    describer.captions(samples(1))
    # 2 x 2 patches of 8 pixels; the newline of the template is a token of its own.
    assert AutoProcessor.from_pretrained(checkpoint).batch_decode(prompts[0]) == [
        "USER: <image> <image> <image> <image> \n cat ASSISTANT:"
    ]
