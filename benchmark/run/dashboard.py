"""``task=dashboard``: a saved view on W&B that compares the filters of a project."""

from benchmark.core.errors import UserError
from benchmark.core.extras import require
from benchmark.results.wandb_tracker import has_key
from benchmark.run.config import evaluation_nodes
from benchmark.run.job import Job
from benchmark.run.output import print_result

# Model: the use of an evaluation set in its config, and the metric that filters are compared by there.
COMPARED = {
    **dict.fromkeys(("captioner", "lstm_captioner"), (("captioning", "CIDEr"),)),
    **dict.fromkeys(
        ("dual_encoder", "clip_scratch"), (("retrieval", "text_to_image_R@1"), ("score", "zero_shot"))
    ),
}


def dashboard(job: Job) -> None:
    """Make the view, or replace an earlier call's; print its address."""
    require("dashboard")
    if not has_key():
        raise UserError("task=dashboard needs a W&B account; run `wandb login`, or set WANDB_API_KEY")
    import wandb

    from benchmark.results.wandb_dashboard import save, workspace

    task = job.cfg.task
    entity = task.entity or str(wandb.Api().default_entity)
    print_result(save(workspace(entity, task.project, task.title, *compared(job))))


def compared(job: Job) -> tuple[list[str], dict[str, str]]:
    """Return the headline metrics of the configured models and sets, and the metric that validates each model."""
    models = [model for model in COMPARED if model in job.cfg.downstream]
    headlines = [
        f"{model}/{name}/{metric}"
        for model in models
        for use, metric in COMPARED[model]
        for name, node in evaluation_nodes(job.cfg).items()
        if node.get(use)
    ]
    return headlines, {model: COMPARED[model][0][1] for model in models}
