"""Results of earlier runs, which a sweep does not make again."""

import logging
from collections.abc import Callable
from pathlib import Path

from benchmark.core.records import scan_records
from benchmark.core.seals import intact
from benchmark.core.uids import read_subset, unite_uids
from benchmark.results.protocol import Protocol
from benchmark.results.result import Result
from benchmark.run.identity import make_run_id
from benchmark.run.job import Job
from benchmark.run.select import Selected, subset_path

log = logging.getLogger(__name__)


def earlier_result(
    job: Job, make_protocol: Callable[[], Protocol], select: Callable[[], Selected]
) -> Path | None:
    """Return the path of the result that this run would make again, None if there is none.

    Its settings, schema, protocol and selection are this run's. The protocol has the pool's content and the versions
    of all metrics; the subset file's name changes with the filter's code and weights. If it has another name, or
    with `rescore`, the pairs are selected again: the same pairs give the same result. The commit may be another: the
    caches of scores and trained models do not depend on it either.

    Args:
        job: the run.
        make_protocol: returns its protocol; called only for a result of the same settings.
        select: scores and selects.
    """
    subset, rescore = subset_path(job), bool(job.cfg.rescore)
    since = "scored again" if rescore else "whose code or weights have changed since"
    captions = None
    if (
        job.captions
    ):  # their hash is of the selected pairs' captions, so that the selection must be in the cache
        files = [subset] if subset.is_file() else sorted(subset.parent.glob(f"{subset.stem}-epoch*.npy"))
        if not files or not all(intact(file) for file in files):
            return None
        captions = job.captions.of(unite_uids([read_subset(file) for file in files])).sha256
    path = job.results_dir / f"{make_run_id(job, captions)}.json"
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
    elif Path(result.subset).stem.partition("-epoch")[0] == subset.stem and not rescore:
        log.info("%s is there (commit %s); delete it to make it again", path, result.git_commit)
        return path
    elif select().selection.sha256 == result.selection.sha256:
        log.info("%s is there: its filter, %s, selects the same pairs", path, since)
        return path
    else:
        reason = f"its filter, {since}, selects other pairs"
    log.info("%s is made again: %s", path, reason)
    return None
