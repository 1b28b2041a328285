"""``task=dashboard``: a saved view and a report on W&B that compare the filters of a project."""

from typing import TYPE_CHECKING

from benchmark.core.errors import UserError
from benchmark.core.extras import require
from benchmark.results.wandb_tracker import has_key
from benchmark.run.config import evaluation_nodes
from benchmark.run.job import Job
from benchmark.run.output import print_result

if TYPE_CHECKING:
    from benchmark.results.wandb_dashboard import DashboardSettings

# Model: the use of an evaluation set in its config, and the metric that filters are compared by there.
COMPARED = {
    **dict.fromkeys(("captioner", "lstm_captioner"), (("captioning", "CIDEr"),)),
    **dict.fromkeys(
        ("dual_encoder", "clip_scratch"), (("retrieval", "text_to_image_R@1"), ("score", "zero_shot"))
    ),
}


def dashboard(job: Job) -> None:
    """Make the view and the report, or replace those of an earlier call; print their addresses."""
    require("dashboard")
    if not has_key():
        raise UserError("task=dashboard needs a W&B account; run `wandb login`, or set WANDB_API_KEY")
    import wandb

    from benchmark.results.wandb_dashboard import save

    for url in save(dashboard_settings(job, job.cfg.task.entity or str(wandb.Api().default_entity))):
        print_result(url)


def dashboard_settings(job: Job, entity: str) -> "DashboardSettings":
    """Return what is compared: the models and evaluation sets of the configuration."""
    from benchmark.results.wandb_dashboard import DashboardSettings

    cfg = job.cfg
    models = [model for model in COMPARED if model in cfg.downstream]
    headlines = [
        f"{model}/{name}/{metric}"
        for model in models
        for use, metric in COMPARED[model]
        for name, node in evaluation_nodes(cfg).items()
        if node.get(use)
    ]
    validated = {model: COMPARED[model][0][1] for model in models}
    return DashboardSettings(entity, cfg.task.project, cfg.task.title, headlines, validated)
