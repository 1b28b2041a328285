"""The scale models: what each stands for, what it learns from, and how it is trained and judged."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmark.demo.training import (
    bert,
    blip,
    clip,
    diffusion,
    gpt2,
    llama,
    masked_lm,
    pacscore,
    parser,
    roberta,
    supervised_pretraining,
    swin,
    vit,
)

MODELS = Path(__file__).resolve().parent.parent / "models"
CLEAN, MIXED, NOISY = "clean scenes of `models`", "captions of `models`, all kinds", "noisy pairs of `clip`"
CLEANED, FITTING = "mostly clean pairs of `llm`", "clean pairs of `llm`; starts from `vit`"
POSITIVES = "clean pairs of `pacscore`, and generated ones; starts from `clip`"
TREES = "gold trees of captions of `models`"
PAGES = "pages about captions of `llm`, all kinds"


@dataclass(frozen=True)
class Script:
    """One scale model. `evaluate` gives figures on held-out samples: (folder, samples, seed) to name and value."""

    like: str
    data: str
    config: Any
    train: Callable[[Path, Any, torch.device], None]
    evaluate: Callable[[Path, int, int], dict[str, float]]


SCRIPTS: dict[str, Script] = {
    "swin": Script(
        "microsoft/swin-base-patch4-window7-224-in22k",
        CLEAN,
        swin.SwinTraining(),
        swin.train,
        supervised_pretraining.evaluate,
    ),
    "vit": Script(
        "google/vit-base-patch16-224", CLEAN, vit.ViTTraining(), vit.train, supervised_pretraining.evaluate
    ),
    "gpt2": Script("openai-community/gpt2", MIXED, gpt2.GPT2Training(), gpt2.train, gpt2.evaluate),
    "bert": Script(
        "google-bert/bert-base-uncased", MIXED, bert.BertTraining(), bert.train, masked_lm.evaluate
    ),
    "roberta": Script(
        "distilbert/distilroberta-base", MIXED, roberta.RobertaTraining(), roberta.train, masked_lm.evaluate
    ),
    "llama": Script("meta-llama/Llama-2-7b-hf", PAGES, llama.LlamaTraining(), llama.train, llama.evaluate),
    "clip": Script("open_clip RN50 (openai)", NOISY, clip.ClipTraining(), clip.train, clip.evaluate),
    "diffusion": Script(
        "stabilityai/stable-diffusion-2",
        CLEANED,
        diffusion.DiffusionTraining(),
        diffusion.train,
        diffusion.evaluate,
    ),
    "blip": Script(
        "Salesforce/blip-image-captioning-base", FITTING, blip.BlipTraining(), blip.train, blip.evaluate
    ),
    "parser": Script("en_core_web_sm (spaCy)", TREES, parser.ParserTraining(), parser.train, parser.evaluate),
    "pacscore": Script(
        "clip_ViT-B-32.pth of PAC-S",
        POSITIVES,
        pacscore.PacTraining(),
        pacscore.train,
        pacscore.evaluate,
    ),
}
