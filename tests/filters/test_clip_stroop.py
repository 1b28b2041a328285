from pathlib import Path

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf

from benchmark.core.batch import Batch
from benchmark.models.clip_models import load_clip
from benchmark.run.config import CONF
from filters.clip_stroop import ClipStroop
from tests.pools import numbered_uids

CPU = torch.device("cpu")
PROMPTS = ["I see [*]", "a photo of [*] there"]
CAPTIONS = ["a red ball", "hope", "", "a long caption " * 40, "🙂 ..."]


def test_the_mean_cosine_of_each_prompt_empty_and_filled(clip: str) -> None:
    made = ClipStroop(clip, None, PROMPTS)
    made.setup(CPU)
    found = made.score(Batch(numbered_uids(len(CAPTIONS)), CAPTIONS))
    loaded = load_clip(clip, None, CPU)
    for caption, score in zip(CAPTIONS, found, strict=True):
        cosines = []
        for prompt in PROMPTS:
            before, after = (loaded.embed_texts([prompt.replace("[*]", text)])[0] for text in ("", caption))
            cosines.append(before @ after / np.linalg.norm(before) / np.linalg.norm(after))
        assert score == pytest.approx(np.mean(cosines), abs=1e-5)
    assert len(set(found.tolist())) > 2


def test_the_configured_prompts_leave_out_alice_and_bob() -> None:
    prompts = OmegaConf.load(Path(CONF) / "filter" / "clip_stroop.yaml").prompts
    assert len(set(prompts)) == len(prompts) > 1
    assert not [prompt for prompt in prompts if "Alice" in prompt]
