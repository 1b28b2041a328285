"""``task=train``: score, select and train, without evaluation."""

from omegaconf import DictConfig

from benchmark.config import make_models, make_pool, make_tracker, resolved
from benchmark.core.devices import resolve_device
from benchmark.core.launch import main_process_first
from benchmark.pipeline import choose, open_subset
from benchmark.pipeline import train as train_one
from benchmark.subset.other_captions import CaptionSources
from benchmark.tasks.output import print_result
from benchmark.tasks.run import make_run_id


def train(cfg: DictConfig) -> None:
    """Train every downstream model on the subset; print the folder of each."""
    device, models = resolve_device(cfg.device), make_models(cfg)
    with main_process_first(device):
        pool = make_pool(cfg)
        sources = CaptionSources(pool, **resolved(cfg.captions))
        chosen = choose(cfg, pool)
        subset = open_subset(pool, chosen.selection, sources)
    tracker = make_tracker(cfg, make_run_id(cfg, subset.captions.sha256))
    for model in models.values():
        print_result(str(train_one(model, subset, chosen.selection.sha256, device, tracker).folder))
