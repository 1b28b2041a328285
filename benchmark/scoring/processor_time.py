"""Processor seconds behind scores: of scoring itself, and of each feature under the filter."""

from collections import Counter
from collections.abc import Iterable, Mapping

from benchmark.core.usage import Seconds

# Seconds of scoring under `SCORING` and of features under their keys; None where a part of them was not recorded.
ProcessorSeconds = dict[str, float] | None
SCORING = ""


def of_shard(scoring: Seconds, features: Mapping[str, Seconds]) -> ProcessorSeconds:
    """Return the seconds of scoring one shard, and of its features by their keys."""
    total: dict[str, float] = {}
    for key, seconds in {SCORING: scoring, **features}.items():
        if seconds.processor is None:
            return None
        total[key] = seconds.processor
    return total


def add_shards(shards: Iterable[ProcessorSeconds]) -> ProcessorSeconds:
    """Return the seconds of several shards together."""
    total = Counter[str]()
    for seconds in shards:
        if seconds is None:
            return None
        total.update(seconds)
    return dict(total)


def add_filters(filters: Iterable[ProcessorSeconds]) -> ProcessorSeconds:
    """Return the seconds of several filters of one pool; a feature that they share counts once."""
    total: dict[str, float] = {}
    for seconds in filters:
        if seconds is None:
            return None
        total |= seconds | {SCORING: total.get(SCORING, 0.0) + seconds.get(SCORING, 0.0)}
    return total
