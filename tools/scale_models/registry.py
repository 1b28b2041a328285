"""All scale models: the original that each replaces, its training data, and how to train and evaluate it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tools.scale_models import (
    bert,
    blip,
    clip,
    cut,
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
from tools.scale_models.data import caption_world, clean_world, scene_world
from tools.scale_models.described_scenes import described_world

# Training data as the model card describes it; names in backquotes are draws, or scale models to start from.
SCENES = "scenes of `models`, about half with text over them"
CAPTIONS = "captions of `models`, all kinds"
CAPTIONS_AND_SCENES = "captions of `models`, all kinds, and several descriptions of each of its scenes"
NOISY_PAIRS = "noisy pairs of `clip`"
MOSTLY_CLEAN_PAIRS = "mostly clean pairs of `llm`"
CLEAN_PAIRS = "clean pairs of `llm`; starts from `vit`"
PAIRS_AND_GENERATED = "clean pairs of `pacscore`, and generated ones; starts from `clip`"
GOLD_TREES = "gold trees of captions of `models`"
DRAWN_PAIRS = "pairs of `pool`, cut by `clip`"
DOCUMENTS = "captions of `llm`, all kinds, written from summaries and from keywords"


@dataclass(frozen=True)
class Script:
    """The training script of a scale model.

    Args:
        original: the checkpoint that the scale model replaces.
        data: description of the training data.
        config: shape and recipe.
        train: trains with (folder to write, config, device).
        evaluate: maps (folder of the model, samples, seed) to named figures on held-out samples.
        world: returns a string that identifies the part of the demo's world that it learns from.
    """

    original: str
    data: str
    config: Any
    train: Callable[[Path, Any, torch.device], None]
    evaluate: Callable[[Path, int, int], dict[str, float]]
    world: Callable[[], str] = caption_world


SCRIPTS: dict[str, Script] = {
    "swin": Script(
        "microsoft/swin-base-patch4-window7-224-in22k",
        SCENES,
        swin.SwinTraining(),
        swin.train,
        supervised_pretraining.evaluate,
        world=scene_world,
    ),
    "vit": Script(
        "google/vit-base-patch16-224",
        SCENES,
        vit.ViTTraining(),
        vit.train,
        supervised_pretraining.evaluate,
        world=scene_world,
    ),
    "gpt2": Script(
        "openai-community/gpt2",
        CAPTIONS_AND_SCENES,
        gpt2.GPT2Training(),
        gpt2.train,
        gpt2.evaluate,
        described_world,
    ),
    "bert": Script(
        "google-bert/bert-base-uncased", CAPTIONS, bert.BertTraining(), bert.train, masked_lm.evaluate
    ),
    "roberta": Script(
        "distilbert/distilroberta-base",
        CAPTIONS,
        roberta.RobertaTraining(),
        roberta.train,
        masked_lm.evaluate,
    ),
    "llama": Script(
        "meta-llama/Llama-2-7b-hf", DOCUMENTS, llama.LlamaTraining(), llama.train, llama.evaluate
    ),
    "clip": Script(
        "open_clip RN50 (openai)",
        NOISY_PAIRS,
        clip.ClipTraining(),
        clip.train,
        clip.evaluate,
        clip.queried_world,
    ),
    "diffusion": Script(
        "stabilityai/stable-diffusion-2",
        MOSTLY_CLEAN_PAIRS,
        diffusion.DiffusionTraining(),
        diffusion.train,
        diffusion.evaluate,
        diffusion.world,
    ),
    "blip": Script(
        "Salesforce/blip-image-captioning-base",
        CLEAN_PAIRS,
        blip.BlipTraining(),
        blip.train,
        blip.evaluate,
        clean_world,
    ),
    "parser": Script(
        "en_core_web_sm (spaCy)", GOLD_TREES, parser.ParserTraining(), parser.train, parser.evaluate
    ),
    "pacscore": Script(
        "clip_ViT-B-32.pth of PAC-S",
        PAIRS_AND_GENERATED,
        pacscore.PacTraining(),
        pacscore.train,
        pacscore.evaluate,
        clean_world,
    ),
    "cut": Script(
        "LAION-400M's cut at CLIP 0.3", DRAWN_PAIRS, cut.Cut(), cut.train, cut.evaluate, cut.drawn_world
    ),
}
