"""What the workers of engines use: the operating system does not count them as children of this process."""

from collections.abc import Iterable
from dataclasses import dataclass

from benchmark.core.usage import helpers_peak_rss_bytes, peak_rss_bytes, processor_seconds, record_helpers


@dataclass(frozen=True)
class Usage:
    """Processor seconds and peak resident bytes, of one worker or added up over the workers of an engine's run."""

    processor_seconds: float
    peak_rss_bytes: int


# One entry per engine run of this process that started workers, in order.
WORKER_RUNS: list[Usage] = []


def own_usage() -> Usage:
    """Return what this process has used since it started, with its ended children and its helpers."""
    return Usage(processor_seconds(), peak_rss_bytes() + helpers_peak_rss_bytes())


def record_workers(workers: Iterable[Usage]) -> None:
    """Record what the workers of one engine run used; their peaks may have been at different times.

    From now on `processor_seconds` of this process counts them, so whatever is timed around the run does.
    """
    usages = list(workers)
    seconds = sum(usage.processor_seconds for usage in usages)
    record_helpers(seconds, 0)  # their memory is that of the run, see `Stopwatch`
    WORKER_RUNS.append(Usage(seconds, sum(usage.peak_rss_bytes for usage in usages)))
