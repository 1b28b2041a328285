"""Results of earlier runs, which a sweep does not make again."""

import logging
from collections.abc import Callable
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from benchmark.core.cached_files import intact
from benchmark.core.records import scan_records
from benchmark.core.uids import read_subset, unite_uids
from benchmark.pool.other_captions import CaptionSources
from benchmark.pool.pool import Pool
from benchmark.results.protocol import Protocol
from benchmark.results.result import Result
from benchmark.run.choose import Chosen, subset_path
from benchmark.run.config import make_filter
from benchmark.run.run_id import make_run_id

log = logging.getLogger(__name__)


def is_sweep() -> bool:
    """Return whether this run is one of a sweep."""
    return bool(HydraConfig.get().mode == RunMode.MULTIRUN)


def earlier_result(
    cfg: DictConfig,
    pool: Pool,
    sources: CaptionSources,
    make_protocol: Callable[[], Protocol],
    select: Callable[[], Chosen],
) -> Path | None:
    """Return the path of the result that this run would make again, None where there is none.

    Its settings, schema, protocol and selection are this run's. The protocol has the pool's content and the versions
    of all metrics; the subset file's name changes with the filter's code and weights. If it has another name, or
    with `rescore`, the pairs are selected again: the same pairs give the same result. The commit may be another: the
    caches of scores and trained models do not depend on it either.

    Args:
        cfg: the configuration.
        pool: the pool.
        sources: of other captions.
        make_protocol: returns the protocol of this run; called only for a result of the same settings.
        select: scores and selects.
    """
    subset = subset_path(cfg, pool, make_filter(cfg))
    captions = None
    if sources:  # their hash is of the selected pairs' captions, so that the selection must be in the cache
        files = [subset] if subset.is_file() else sorted(subset.parent.glob(f"{subset.stem}-epoch*.npy"))
        if not files or not all(intact(file) for file in files):
            return None
        captions = sources.of(unite_uids([read_subset(file) for file in files])).sha256
    path = Path(cfg.results_dir) / f"{make_run_id(cfg, captions)}.json"
    if not path.is_file():
        return None
    results, left_out = scan_records(path.parent, Result)
    result = results.get(path)
    if result is None:
        reason = next((file.reason for file in left_out if file.path == path), "no result")
    elif result.failed_metrics:
        reason = f"{result.failed_metrics[0]} failed"
    elif result.protocol.fingerprint != (protocol := make_protocol()).fingerprint:
        reason = protocol.differences(result.protocol)
    elif Path(result.subset).stem.partition("-epoch")[0] == subset.stem and not cfg.rescore:
        log.info("%s is there (commit %s); delete it to make it again", path, result.git_commit)
        return path
    elif select().selection.sha256 == result.selection.sha256:
        log.info("%s is there: its filter, %s, selects the same pairs", path, _since(cfg))
        return path
    else:
        reason = f"its filter, {_since(cfg)}, selects other pairs"
    log.info("%s is made again: %s", path, reason)
    return None


def _since(cfg: DictConfig) -> str:
    return "scored anew" if cfg.rescore else "whose code or weights have changed since"
