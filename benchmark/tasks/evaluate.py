"""``task=evaluate task.checkpoint=FOLDER downstream=captioner``: evaluate a trained checkpoint."""

import json
from dataclasses import asdict
from pathlib import Path

import hydra
from omegaconf import DictConfig

from benchmark.config import load_evaluation_sets, make_pool
from benchmark.core.devices import resolve_device
from benchmark.core.errors import UserError
from benchmark.pipeline import Trained, evaluate_all
from benchmark.tasks.output import print_result


def evaluate(cfg: DictConfig) -> None:
    """Evaluate one saved downstream model; print its metrics as JSON."""
    if len(cfg.downstream) != 1:
        raise UserError("task=evaluate takes one model: add downstream=captioner or downstream=dual_encoder")
    folder = Path(cfg.task.checkpoint)
    if not folder.is_dir():
        raise UserError(f"task.checkpoint={folder} must be a folder that task=train printed")
    make_pool(cfg)  # making the demo's pool also makes its evaluation sets
    (name,) = cfg.downstream
    model = hydra.utils.instantiate(cfg.downstream[name], _convert_="all")
    model.load(folder, resolve_device(cfg.device))
    evaluations = evaluate_all(cfg, Trained(model, folder), load_evaluation_sets(cfg))
    metrics = {name: [asdict(metric) for metric in metrics] for name, metrics in evaluations.items()}
    print_result(json.dumps(metrics, indent=2))
