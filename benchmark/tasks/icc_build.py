"""``task=icc_build``: build an ICC scorer from captions; an interrupted build resumes at the unfinished step."""

from functools import partial
from pathlib import Path

import hydra
from omegaconf import DictConfig

from benchmark.config import make_engine, resolved
from benchmark.core.devices import resolve_device
from benchmark.core.extras import require
from benchmark.models.checkpoints import locate_checkpoint
from benchmark.studies.icc_build.build import Build, Plan
from benchmark.tasks.output import print_result
from filters.icc.modes import choose_measure, measures
from filters.icc.sba import FrozenParts, SemanticBottleneck
from filters.icc.vba import ImageCaptioner, TextToImage, VisualBottleneck


def icc_build(cfg: DictConfig) -> None:
    """Run the unfinished steps; the last line on stdout is the folder of the final scorer."""
    plan = make_plan(cfg)
    check_checkpoints(plan)
    build = Build(plan, Path(cfg.icc.output), make_engine(cfg), resolve_device(cfg.device))
    print_result(str(build.run()))


def check_checkpoints(plan: Plan) -> None:
    """Locate every checkpoint before the first step, as the last ones are needed only after hours.

    Raises:
        UserError: if a checkpoint is missing.
    """
    for part in (plan.frozen, plan.vba, *plan.similarities.values()):
        part.identity()
    locate_checkpoint(plan.base)


def make_plan(cfg: DictConfig) -> Plan:
    """Return the plan that the configuration describes, without loading models or captions."""
    require("studies")
    icc, models = cfg.icc, resolved(cfg.models)
    frozen = FrozenParts(models["icc"]["clip"], models["icc"]["llm"])
    chosen = resolved(icc.similarity)
    for name in chosen.values():
        choose_measure(name, models["bertscore"])
    generator, captioner = TextToImage(**models["text_to_image"]), ImageCaptioner(**models["image_captioner"])
    return Plan(
        captions=partial(hydra.utils.instantiate, icc.captions),
        source=resolved(icc.captions),
        training_captions=int(icc.training_captions),
        scoring_captions=int(icc.scoring_captions),
        frozen=frozen,
        bridge=hydra.utils.instantiate(icc.bridge, seed=cfg.seed),
        sba=partial(SemanticBottleneck, frozen),
        vba=VisualBottleneck(generator, captioner, icc.images_dir),
        similarities=measures(models["bertscore"]),
        chosen=chosen,
        annotations=hydra.utils.instantiate(icc.annotations),
        base=models["icc"]["base"],
        distillation=hydra.utils.instantiate(icc.distillation, seed=cfg.seed),
    )
