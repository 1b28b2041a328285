"""Which runs stand in one row of the leaderboard, what the row is called, and where it stands."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmark.results.result import Result

FILTER_ORDER = (
    "no_filter", "random", "english", "basic", "text_based", "image_based", "image_based_clip", "laion2b",
    "near_duplicates", "clip", "negcliploss", "normsim", "vas", "informativeness", "complexity_action", "tmars",
    "no_text", "cotr", "rsa", "rsc", "debiased", "pacscore", "sba", "vba", "icc",
)  # fmt: skip
# What of a run's configuration sets it apart from others of its filter, and what therein changes no metric.
SETTINGS = ("filter", "selector", "captions", "downstream", "models")
INERT = frozenset({"seed", "device", "workers", "log_every", "checkpoint_every"})
Settings = dict[str, str]


@dataclass(frozen=True)
class Entry:
    """The runs of one filter at one size, over seeds."""

    label: str
    size: int
    runs: list[Result]


def by_pool(results: Iterable[Result]) -> list[tuple[str, list[Result]]]:
    """Return the names of pools, sorted, each with its results."""
    pools: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        pools[result.pool].append(result)
    return sorted(pools.items())


def group(results: Sequence[Result]) -> list[Entry]:
    """Gather runs that differ in nothing but the seed; order them by size, then as the paper does, oracle last."""
    groups: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        groups[_name(result), json.dumps(_settings(result), sort_keys=True)].append(result)
    variants: dict[str, list[Settings]] = defaultdict(list)
    for name, settings in sorted(groups):
        variants[name].append(json.loads(settings))
    seen: dict[tuple[int, str], int] = defaultdict(int)
    entries = []
    for (name, settings), runs in sorted(groups.items()):
        full = name + _difference(json.loads(settings), variants[name])
        for size in sorted({run.size for run in runs}):
            seen[size, full] += 1
            label = full if seen[size, full] == 1 else f"{full} #{seen[size, full]}"
            entries.append(Entry(label, size, [run for run in runs if run.size == size]))
    return sorted(entries, key=lambda e: (e.size, _place(e.runs[0].filter), e.label))


def _name(result: Result) -> str:
    """Return the filter's name, and what else sets a run apart: its selector, other captions."""
    selector = result.selection.get("selector", "best")
    captions = any(result.config.get("captions", {}).values())
    parts = [selector] * (selector != "best") + ["other captions"] * captions
    return ", ".join([result.filter, *parts])


def _settings(result: Result) -> Settings:
    """Return the settings that a run's metrics depend on, by their dotted names."""
    filter_config = {"filter": result.selection["config"]}
    chosen = {name: result.config[name] for name in SETTINGS if name in result.config} | filter_config
    return dict(_flat(chosen))


def _flat(node: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(node, Mapping):
        for key, value in node.items():
            if key not in INERT:
                yield from _flat(value, f"{name}.{key}" if name else str(key))
    else:
        # Of a path its last part: where a checkout or a file lies does not set runs apart.
        yield name, str(node).rstrip("/").rpartition("/")[2]


def _difference(settings: Settings, variants: Sequence[Settings]) -> str:
    """Return in brackets the settings that runs of one name do not share, as far as all of them have these."""
    shared = set.intersection(*(set(other) for other in variants))
    odd = sorted(key for key in shared if len({other[key] for other in variants}) > 1)
    # What the models' group says, filter and downstream models repeat: told once.
    odd = [key for key in odd if not key.startswith("models.")] or odd
    text = ", ".join(f"{key.rpartition('.')[2]}={settings[key]}" for key in odd)
    return f" ({text})" if text else ""


def _place(name: str) -> int:
    if name == "oracle":
        return len(FILTER_ORDER) + 1
    return FILTER_ORDER.index(name) if name in FILTER_ORDER else len(FILTER_ORDER)
