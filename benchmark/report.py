"""The leaderboard: results as tables like the paper's Tables 1 and 2, sizes by filters."""

import json
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmark.results import Result

# The columns of the paper's tables, in its order, with its abbreviations; PAC-S after them.
# Percentages but for `FRACTIONS`.
CAPTION_COLUMNS = {
    "BLEU-4": "B@4",
    "METEOR": "M",
    "ROUGE_L": "R",
    "CIDEr": "C",
    "SPICE": "S",
    "BERTScore": "BSc",
    "Polos": "P",
    "PAC-S": "PAC",
    "RefPAC-S": "RefPAC",
}
RETRIEVAL_COLUMNS = {
    "text_to_image_R@1": "T2I R@1",
    "text_to_image_R@5": "R@5",
    "text_to_image_R@10": "R@10",
    "image_to_text_R@1": "I2T R@1",
}
FRACTIONS = frozenset({"BERTScore", "Polos", "PAC-S", "RefPAC-S"})
FILTER_ORDER = (
    "no_filter", "random", "clip", "complexity_action", "tmars", "no_text", "cotr", "rsa", "rsc", "debiased",
    "pacscore", "sba", "vba", "icc",
)  # fmt: skip
MISSING = "–"


@dataclass(frozen=True)
class Table:
    """A titled table of text cells; `notes` say why cells are missing."""

    title: str
    header: list[str]
    rows: list[list[str]]
    notes: list[str]


@dataclass(frozen=True)
class Entry:
    """The runs of one filter at one size, over seeds."""

    label: str
    size: int
    runs: list[Result]


def leaderboard(results: Iterable[Result]) -> list[Table]:
    """Return the tables of every pool: one for each downstream model and evaluation set, and what filters keep."""
    pools: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        pools[result.pool].append(result)
    tables: list[Table] = []
    for pool, found in sorted(pools.items()):
        entries = group(found)
        tables += [
            _metric_table(pool, model, evaluation, entries) for model, evaluation in _evaluations(found)
        ]
        tables += _cost_tables(pool, entries)
    return [table for table in tables if table.rows]


def group(results: Sequence[Result]) -> list[Entry]:
    """Gather runs that differ in nothing but the seed; order them by size, then as the paper does, oracle last."""
    groups: dict[tuple[int, str, str], list[Result]] = defaultdict(list)
    for result in results:
        settings = {k: v for k, v in result.selection["config"].items() if k != "seed"}
        settings |= {"downstream": {n: d.training.get("samples_seen") for n, d in result.downstream.items()}}
        groups[result.size, result.filter, json.dumps(settings, sort_keys=True)].append(result)
    seen: dict[tuple[int, str], int] = defaultdict(int)
    entries = []
    for (size, name, _), runs in sorted(groups.items()):
        seen[size, name] += 1
        label = name if seen[size, name] == 1 else f"{name} #{seen[size, name]}"
        entries.append(Entry(label, size, runs))
    return sorted(entries, key=lambda e: (e.size, _place(e.runs[0].filter), e.label))


def _place(name: str) -> int:
    if name == "oracle":
        return len(FILTER_ORDER) + 1
    return FILTER_ORDER.index(name) if name in FILTER_ORDER else len(FILTER_ORDER)


def _evaluations(results: Iterable[Result]) -> list[tuple[str, str]]:
    """Return (downstream model, evaluation set) in the order in which runs report them."""
    return list(
        dict.fromkeys(
            (model, name)
            for result in results
            for model, trained in result.downstream.items()
            for name in trained.evaluations
        )
    )


def _metric_table(pool: str, model: str, evaluation: str, entries: Sequence[Entry]) -> Table:
    values: list[dict[str, list[float]]] = []
    reasons: dict[str, str] = {}
    shown = []
    for entry in entries:
        found: dict[str, list[float]] = defaultdict(list)
        for run in entry.runs:
            trained = run.downstream.get(model)
            for metric in trained.evaluations.get(evaluation, []) if trained else []:
                if metric["value"] is None:
                    reasons[metric["name"]] = metric["reason"]
                else:
                    found[metric["name"]].append(metric["value"])
        if found:
            shown.append(entry)
            values.append(found)
    columns = _columns(values, reasons)
    best = _best(shown, values, columns)
    rows = []
    for entry, found in zip(shown, values, strict=True):
        bounds = {} if entry.runs[0].filter == "oracle" else best
        cells = [_cell(name, found.get(name, []), bounds.get((entry.size, name))) for name in columns]
        rows.append([entry.label, _thousands(entry.size), *cells])
    notes = [f"{columns[name]} is missing: {reason}" for name, reason in reasons.items() if name in columns]
    return Table(f"{model} on {evaluation}, pool {pool}", ["filter", "size", *columns.values()], rows, notes)


def _columns(values: Sequence[Mapping[str, list[float]]], reasons: Mapping[str, str]) -> dict[str, str]:
    names = {name for found in values for name in found} | set(reasons)
    return {name: short for name, short in (CAPTION_COLUMNS | RETRIEVAL_COLUMNS).items() if name in names}


def _best(
    entries: Sequence[Entry], values: Sequence[Mapping[str, list[float]]], columns: Iterable[str]
) -> dict[tuple[int, str], float]:
    """Return the best mean of each size and column; upper bounds do not compete."""
    best: dict[tuple[int, str], float] = {}
    for entry, found in zip(entries, values, strict=True):
        if entry.runs[0].filter == "oracle":
            continue
        for name in columns:
            if found.get(name):
                mean = statistics.fmean(found[name])
                best[entry.size, name] = max(mean, best.get((entry.size, name), mean))
    return best


def _cell(name: str, values: Sequence[float], best: float | None) -> str:
    if not values:
        return MISSING
    factor, digits = (1.0, 3) if name in FRACTIONS else (100.0, 1)
    mean = statistics.fmean(values)
    text = f"{mean * factor:.{digits}f}"
    if len(values) > 1:
        text += f" ± {statistics.stdev(values) * factor:.{digits}f}"
    return f"**{text}**" if mean == best else text


def _cost_tables(pool: str, entries: Sequence[Entry]) -> list[Table]:
    """What each filter costs, and what it keeps by planted kind of noise (demo pools)."""
    kinds = sorted({kind for entry in entries for kind in entry.runs[0].kept})
    costs, shares = [], []
    for entry in entries:
        run = entry.runs[0]
        names = [entry.label, _thousands(entry.size)]
        threshold = f"{run.selection['threshold']:.4g}"
        seconds = run.scoring.get("seconds", 0.0)
        rate = f"{run.selection['scored'] / seconds:,.0f}" if seconds else MISSING
        costs.append([*names, f"{run.k:,}", threshold, f"{seconds:.1f}", rate])
        total = sum(run.kept.values())
        if total:
            shares.append(names + [f"{100 * run.kept.get(kind, 0) / total:.1f}" for kind in kinds])
    return [
        Table(
            f"cost, pool {pool}", ["filter", "size", "kept", "threshold", "scoring s", "pairs/s"], costs, []
        ),
        Table(
            f"kept by kind of noise (%), pool {pool}",
            ["filter", "size", *(kind.replace("_", " ") for kind in kinds)],
            shares,
            [],
        ),
    ]


def _thousands(size: int) -> str:
    return f"{size // 1000}k" if size % 1000 == 0 else f"{size:,}"


def to_markdown(tables: Iterable[Table]) -> str:
    """Render tables as Markdown; cells are escaped."""
    blocks = []
    for table in tables:
        lines = [
            f"## {table.title}",
            "",
            _row(table.header),
            _row(["---", "---:", *["---:"] * (len(table.header) - 2)]),
        ]
        lines += [_row(row) for row in table.rows]
        lines += ["", *[f"{note}  " for note in table.notes]]
        blocks.append("\n".join(lines).rstrip())
    return (
        "# Leaderboard\n\nBest of each size in bold; oracle is an upper bound.\n\n"
        + "\n\n".join(blocks)
        + "\n"
    )


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
