"""``task=icc_build``: build an ICC scorer from captions; an interrupted build resumes at the unfinished step."""

from functools import partial
from pathlib import Path

import hydra
from omegaconf import DictConfig

from benchmark.core.distributed import make_accelerator, one_launch, same_folder
from benchmark.core.errors import UserError
from benchmark.core.extras import require
from benchmark.core.launch import process_count
from benchmark.models.checkpoints import locate_checkpoint
from benchmark.run.config import resolved
from benchmark.run.job import Job
from benchmark.run.output import print_result
from filters.icc.modes import measures
from filters.icc.sba import FrozenParts, SemanticBottleneck
from filters.icc.vba import ImageCaptioner, TextToImage, VisualBottleneck
from pairsift.studies.icc.building.build import Build, Plan


def icc_build(job: Job) -> None:
    """Run the unfinished steps; the last line on stdout is the folder of the final scorer."""
    plan = make_plan(job.cfg)
    check_plan(plan)
    root = Path(job.cfg.icc.output)
    device = make_accelerator(job.device).device if process_count() > 1 else job.device
    if len(same_folder(device, root)) < process_count():
        raise UserError(f"icc.output={root} must be a folder that all nodes of the launch share")
    with one_launch(root, device):
        scorer = Build(plan, root, job.engine, device).run()
    print_result(str(scorer))


def check_plan(plan: Plan) -> None:
    """Check batches and locate every checkpoint before the first step, as the last are needed only after hours.

    Raises `UserError` if a checkpoint is missing, or a batch cannot be spread over the processes of the launch.
    """
    processes = process_count()
    for name, recipe in (("bridge", plan.bridge), ("distillation", plan.distillation)):
        if recipe.batch % processes:
            raise UserError(
                f"icc.{name}.batch={recipe.batch} must be a multiple of the number of processes, {processes}"
            )
    for part in (plan.frozen, plan.vba, *plan.similarities.values()):
        part.identity()
    locate_checkpoint(plan.base)


def make_plan(cfg: DictConfig) -> Plan:
    """Return the plan that the configuration describes, without loading models or captions."""
    require("studies")
    icc, models = cfg.icc, resolved(cfg.models)
    decoding = resolved(icc.decoding)
    frozen = FrozenParts(models["icc"]["clip"], models["icc"]["llm"], decoding["sba"]["first_token"])
    generator = TextToImage(**models["text_to_image"])
    captioner = ImageCaptioner(**models["image_captioner"], **decoding["vba"])
    return Plan(
        captions=partial(hydra.utils.instantiate, icc.captions),
        training_captions=icc.training_captions,
        scoring_captions=icc.scoring_captions,
        frozen=frozen,
        bridge=hydra.utils.instantiate(icc.bridge, seed=cfg.seed),
        bridge_max_tokens=icc.bridge_max_tokens,
        sba=partial(
            SemanticBottleneck,
            frozen,
            max_new_tokens=models["icc"]["max_new_tokens"],
            together=decoding["sba"]["together"],
        ),
        vba=VisualBottleneck(generator, captioner),
        similarities=measures(models["bertscore"]),
        chosen=resolved(icc.similarity),
        mu=icc.mu,
        annotations=hydra.utils.instantiate(icc.annotations),
        base=models["icc"]["base"],
        distillation=hydra.utils.instantiate(icc.distillation, seed=cfg.seed),
    )
