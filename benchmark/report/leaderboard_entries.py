"""The rows of the leaderboard: which runs share one, its label and its position."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmark.report.families import UPPER_BOUND, family_position
from benchmark.results.result import Result

# The settings that tell runs of one filter apart, and those among them that do not change a metric.
SETTINGS = ("filter", "selector", "captions", "downstream", "models")
INERT = frozenset({"seed", "device", "workers", "log_every", "checkpoint_every"})
Settings = dict[str, str]


@dataclass(frozen=True)
class Entry:
    """The runs of one filter at one size, over seeds."""

    label: str
    size: int
    runs: list[Result]

    @property
    def is_upper_bound(self) -> bool:
        """Whether the filter reads the planted noise labels, so that it does not compete."""
        return self.runs[0].family == UPPER_BOUND


def by_pool(results: Iterable[Result]) -> list[tuple[str, list[Result]]]:
    """Return the names of pools, sorted, each with its results."""
    pools: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        pools[result.pool].append(result)
    return sorted(pools.items())


def group(results: Sequence[Result]) -> list[Entry]:
    """Gather runs that differ only in the seed; order them by size, then by family, then by label."""
    groups: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        groups[_name(result), json.dumps(_settings(result), sort_keys=True)].append(result)
    variants: dict[str, list[Settings]] = defaultdict(list)
    for name, settings in sorted(groups):
        variants[name].append(json.loads(settings))
    labelled: dict[tuple[int, str], int] = defaultdict(int)
    entries = []
    for (name, settings), runs in sorted(groups.items()):
        full = name + _difference(json.loads(settings), variants[name])
        for size in sorted({run.size for run in runs}):
            labelled[size, full] += 1
            label = full if labelled[size, full] == 1 else f"{full} #{labelled[size, full]}"
            entries.append(Entry(label, size, [run for run in runs if run.size == size]))
    return sorted(entries, key=lambda e: (e.size, family_position(e.runs[0].family), e.label))


def _name(result: Result) -> str:
    """Return the filter's name, and the selector and other captions where a run has them."""
    selector = result.selection.selector
    captions = any(result.config.get("captions", {}).values())
    parts = [selector] * (selector != "best") + ["other captions"] * captions
    return ", ".join([result.filter, *parts])


def _settings(result: Result) -> Settings:
    """Return the settings that a run's metrics depend on, by their dotted names."""
    chosen = {name: result.config[name] for name in SETTINGS if name in result.config}
    return dict(_flat(chosen | {"filter": result.selection.config}))


def _flat(node: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(node, Mapping):
        for key, value in node.items():
            if key not in INERT:
                yield from _flat(value, f"{name}.{key}" if name else str(key))
    else:
        # Of a path its last part: where a checkout or a file lies does not set runs apart.
        yield name, str(node).rstrip("/").rpartition("/")[2]


def _difference(settings: Settings, variants: Sequence[Settings]) -> str:
    """Return in brackets the settings in which runs of one name differ, of those that all of them have."""
    shared = set.intersection(*(set(other) for other in variants))
    differing = sorted(key for key in shared if len({other[key] for other in variants}) > 1)
    # Filter and downstream models repeat the settings of the group `models`: show these only where they differ alone.
    differing = [key for key in differing if not key.startswith("models.")] or differing
    text = ", ".join(f"{key.rpartition('.')[2]}={settings[key]}" for key in differing)
    return f" ({text})" if text else ""
