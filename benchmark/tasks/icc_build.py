"""``task=icc_build``: build an ICC scorer from captions; a build that was stopped goes on where it was."""

from functools import partial
from pathlib import Path

import hydra
from omegaconf import DictConfig

from benchmark.config import make_engine, resolved
from benchmark.core.devices import resolve_device
from benchmark.core.extras import require
from benchmark.models.checkpoints import locate_checkpoint
from benchmark.studies.icc_build.build import Build, Plan
from benchmark.tasks.output import say
from filters.icc.modes import choose_measure, measures
from filters.icc.sba import FrozenParts, SemanticBottleneck
from filters.icc.vba import ImageCaptioner, TextToImage, VisualBottleneck


def icc_build(cfg: DictConfig) -> None:
    """Do the steps that are missing; print the folder of the final scorer, the last line on stdout."""
    plan = make_plan(cfg)
    find_models(plan)
    build = Build(plan, Path(cfg.icc.output), make_engine(cfg), resolve_device(cfg.device))
    say(str(build.run()))


def find_models(plan: Plan) -> None:
    """Locate every checkpoint. Raises `UserError` for one that cannot be had, before hours of work that need it."""
    for part in (plan.frozen, plan.vba, *plan.similarities.values()):
        part.identity()
    locate_checkpoint(plan.base)


def make_plan(cfg: DictConfig) -> Plan:
    """Turn the configuration into a plan; no model is loaded and no caption read."""
    require("studies")
    icc, models = cfg.icc, resolved(cfg.models)
    frozen = FrozenParts(models["icc"]["clip"], models["icc"]["llm"])
    chosen = resolved(icc.similarity)
    for name in chosen.values():
        choose_measure(name, models["bertscore"])
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
        chosen=chosen,
        annotations=hydra.utils.instantiate(icc.annotations),
        base=models["icc"]["base"],
        distillation=hydra.utils.instantiate(icc.distillation, seed=cfg.seed),
    )
