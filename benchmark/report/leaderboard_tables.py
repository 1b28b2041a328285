"""The leaderboard: results as tables like the paper's Tables 1 and 2, sizes by filters."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmark.core.batch import NO_SCORE
from benchmark.report.entries import Entry, by_pool, group
from benchmark.results.result import Result

# The columns of the ICC paper's tables, in its order, with its abbreviations; then what later papers report.
# Percentages but for `UNITS`.
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
DIVERSITY_COLUMNS = {
    "SPICE-1": "S-1",
    "Diversity": "Div",
    "Unique-1": "U-1",
    "Unique-2": "U-2",
    "Unique-4": "U-4",
}
RETRIEVAL_COLUMNS = {
    "text_to_image_R@1": "T2I R@1",
    "text_to_image_R@5": "R@5",
    "text_to_image_R@10": "R@10",
    "image_to_text_R@1": "I2T R@1",
}
CLASSIFICATION_COLUMNS = {
    "zero_shot": "zero-shot",
    "zero_shot_acc@5": "acc@5",
    "linear_probe": "probe",
}
# What the columns of a table are about, added to its title; AVA-Captions' metrics have a table of their own.
COLUMNS = {
    "": CAPTION_COLUMNS | RETRIEVAL_COLUMNS | CLASSIFICATION_COLUMNS,
    ", best reference and diversity": DIVERSITY_COLUMNS,
}
# Factor and decimals of what is no percentage.
UNITS = dict.fromkeys(("BERTScore", "Polos", "PAC-S", "RefPAC-S"), (1.0, 3))
UNITS |= dict.fromkeys(("Unique-1", "Unique-2", "Unique-4"), (1.0, 1))
MISSING = "–"
LEGEND = "Best of each size in bold; the oracle, which knows the noise, is meant as an upper bound."


@dataclass(frozen=True)
class Table:
    """A titled table of text cells; `notes` say why cells are missing."""

    title: str
    header: list[str]
    rows: list[list[str]]
    notes: list[str]


def leaderboard(results: Iterable[Result]) -> list[Table]:
    """Return the tables of every pool: one for each downstream model and evaluation set, and what filters keep."""
    tables: list[Table] = []
    for pool, found in by_pool(results):
        entries = group(found)
        tables += [
            _metric_table(
                f"{model} on {evaluation}, pool {pool}{about}", columns, (model, evaluation), entries
            )
            for model, evaluation in _evaluations(found)
            for about, columns in COLUMNS.items()
        ]
        tables += _cost_tables(pool, entries)
    return [table for table in tables if table.rows]


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


def _metric_table(
    title: str, wanted: Mapping[str, str], evaluated: tuple[str, str], entries: Sequence[Entry]
) -> Table:
    """Return the table of one downstream model on one evaluation set; without rows if it has none of the columns."""
    model, evaluation = evaluated
    values: list[dict[str, list[float]]] = []
    reasons: dict[str, str] = {}
    shown = []
    for entry in entries:
        found: dict[str, list[float]] = defaultdict(list)
        for run in entry.runs:
            trained = run.downstream.get(model)
            for metric in trained.evaluations.get(evaluation, []) if trained else []:
                if metric["name"] not in wanted:
                    continue
                if metric["value"] is None:
                    reasons[metric["name"]] = metric["reason"]
                else:
                    found[metric["name"]].append(metric["value"])
        if found:
            shown.append(entry)
            values.append(found)
    names = {name for found in values for name in found} | set(reasons)
    columns = {name: short for name, short in wanted.items() if name in names}
    best = _best(shown, values, columns)
    rows = []
    for entry, found in zip(shown, values, strict=True):
        bounds = {} if entry.runs[0].filter == "oracle" else best
        cells = [_cell(name, found.get(name, []), bounds.get((entry.size, name))) for name in columns]
        rows.append([entry.label, thousands(entry.size), *cells])
    notes = [f"{columns[name]} is missing: {reason}" for name, reason in reasons.items()]
    return Table(title, ["filter", "size", *columns.values()], rows, notes)


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
    factor, digits = UNITS.get(name, (100.0, 1))
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
        names = [entry.label, thousands(entry.size)]
        threshold = f"{run.selection['threshold']:.4g}"
        seconds = run.scoring.get("seconds", 0.0)
        # What got no score was looked at too.
        looked_at = run.selection["scored"] + run.selection.get("drops", {}).get(NO_SCORE, 0)
        rate = f"{looked_at / seconds:,.0f}" if seconds else MISSING
        distinct = f"{run.selection.get('distinct', run.k):,}"
        costs.append([*names, f"{run.k:,}", distinct, threshold, f"{seconds:.1f}", rate])
        total = sum(run.kept.values())
        if total:
            shares.append(names + [f"{100 * run.kept.get(kind, 0) / total:.1f}" for kind in kinds])
    return [
        Table(
            f"cost, pool {pool}",
            ["filter", "size", "kept", "distinct", "threshold", "scoring s", "pairs/s"],
            costs,
            [],
        ),
        Table(
            f"kept by kind of noise (%), pool {pool}",
            ["filter", "size", *(kind.replace("_", " ") for kind in kinds)],
            shares,
            [],
        ),
    ]


def thousands(size: int) -> str:
    """Return a size as tables show it: 200k."""
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
    body = "\n\n".join(blocks)
    return f"# Leaderboard\n\n{LEGEND}\n\n{body}\n"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
