"""``task=train``: score, select and train, without evaluation."""

from omegaconf import DictConfig

from benchmark.core.devices import resolve_device
from benchmark.core.launch import is_main_process, main_process_first
from benchmark.core.sharing import require_shared_cache, shared_by_main
from benchmark.pool.other_captions import CaptionSources
from benchmark.pool.pool import Pool
from benchmark.pool.subset import Subset, index_tars
from benchmark.run.choose import choose
from benchmark.run.config import make_engine, make_pool, make_tracker, resolved, run_facts
from benchmark.run.downstream_config import load_evaluation_sets, make_models
from benchmark.run.open_subset import note_lost, open_subset
from benchmark.run.output import print_result
from benchmark.run.preflight import check_before_run
from benchmark.run.run_id import make_run_id, without_evaluation_sets
from benchmark.run.training import train as train_one


def train(cfg: DictConfig) -> None:
    """Train every downstream model on the subset; print the folder of each."""
    check_before_run(cfg)
    device, tracker, models = resolve_device(cfg.device), make_tracker(cfg), make_models(cfg)
    require_shared_cache(device)
    with main_process_first(device):
        pool = make_pool(cfg)
        validated = any(model.training.validate_every for model in models.values())
        cfg = cfg if validated else without_evaluation_sets(cfg)
        sets = load_evaluation_sets(cfg)
    selected = _select(cfg, pool) if is_main_process() else None
    with shared_by_main(selected, device) as (subset, sha256):
        tracker.start(run_facts(cfg, make_run_id(cfg, subset.captions.sha256)))
        for model in models.values():
            trained = train_one(model, subset, sha256, device, tracker, sets)
            print_result(str(trained.folder))


def _select(cfg: DictConfig, pool: Pool) -> tuple[Subset, str]:
    """Return the selected samples, and the hash of their uids."""
    sources = CaptionSources(pool, **resolved(cfg.captions))
    chosen = choose(cfg, pool)
    index_tars(pool, make_engine(cfg))
    subset = open_subset(pool, chosen.selection, sources, cfg.selection.tolerate)
    note_lost(chosen, subset)
    return subset, chosen.selection.sha256
