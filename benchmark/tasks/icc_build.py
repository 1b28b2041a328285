"""``task=icc_build``: build an ICC scorer from captions; a build that was stopped goes on where it was."""

from functools import partial
from pathlib import Path

import hydra
from omegaconf import DictConfig

from benchmark.config import make_engine, resolved
from benchmark.devices import resolve_device
from benchmark.icc_build.build import Build, Plan
from benchmark.tasks.output import say
from filters.icc.modes import measures
from filters.icc.sba import FrozenParts, SemanticBottleneck
from filters.icc.vba import ImageCaptioner, TextToImage, VisualBottleneck


def icc_build(cfg: DictConfig) -> None:
    """Do the steps that are missing; print the folder of the final scorer, the last line on stdout."""
    build = Build(make_plan(cfg), Path(cfg.icc.output), make_engine(cfg), resolve_device(cfg.device))
    say(str(build.run()))


def make_plan(cfg: DictConfig) -> Plan:
    """Turn the configuration into a plan; no model is loaded and no caption read."""
    icc, models = cfg.icc, resolved(cfg.models)
    frozen = FrozenParts(models["icc"]["clip"], models["icc"]["llm"])
    drawing, describing = TextToImage(**models["text_to_image"]), ImageCaptioner(**models["image_captioner"])
    return Plan(
        captions=partial(hydra.utils.instantiate, icc.captions),
        source=resolved(icc.captions),
        training_captions=int(icc.training_captions),
        scoring_captions=int(icc.scoring_captions),
        frozen=frozen,
        bridge=hydra.utils.instantiate(icc.bridge, seed=cfg.seed),
        sba=partial(SemanticBottleneck, frozen),
        vba=VisualBottleneck(drawing, describing, icc.images_dir),
        similarities=measures(models["bertscore"]),
        chosen=resolved(icc.similarity),
        annotations=hydra.utils.instantiate(icc.annotations),
        base=models["icc"]["base"],
        distillation=hydra.utils.instantiate(icc.distillation, seed=cfg.seed),
    )
