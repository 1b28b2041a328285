"""The evaluations as tables, after Tables 3, 4 and 6 of the ICC paper."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmark.results.report.table import MISSING, Cell, Table, plain
from pairsift.studies.icc.concreteness.correlation import NAMES, Correlation
from pairsift.studies.icc.concreteness.evaluation import ConcretenessEvaluation
from pairsift.studies.icc.concreteness.rated_texts import CAPTIONS, DEMO, WORDS

SYMBOLS = dict(zip(NAMES, ("ρ", "ρ_s", "τ"), strict=True))
# Benchmarks that share a table, by the end of its title: the paper's two in its order, and the demo's.
GROUPS = {(WORDS, CAPTIONS): "", (DEMO,): ", demo captions"}
# Rows of Table 3 in its order; other filters come after them.
METHODS = ("lexicon", "clip_stroop", "ave_clip", "llm_rating", "sba", "vba", "icc", "score_file")
SIMILARITIES = {"edit": "ED", "bertscore": "BSc"}  # Table 6's abbreviations
PARTS = {"sba": "llm", "vba": "captioner"}  # the setting of each pipeline that Table 6 varies
CIRCULAR = ("lexicon", WORDS)  # the lexicon is made of the ratings of these words
STEPS = {"direct": "before", "distilled": "after"}


def concreteness_tables(evaluations: Sequence[ConcretenessEvaluation]) -> list[Table]:
    """Return the tables that have rows: by method, before and after distillation, by part, and with intervals."""
    labels = _labels(evaluations)
    ordered = sorted(evaluations, key=lambda e: (_position(e.filter), labels[e.run_id], e.run_id))
    tables = []
    for benchmarks, ending in GROUPS.items():
        group = [e for e in ordered if e.benchmark in benchmarks]
        of_group = [_by_method(group, labels), _by_step(group), _by_part(group)]
        tables += [replace(table, title=table.title + ending) for table in of_group]
    for name in (name for benchmarks in GROUPS for name in benchmarks):
        tables.append(_signed(name, [e for e in ordered if e.benchmark == name], labels))
    return [table for table in tables if table.rows]


def _position(name: str) -> int:
    return METHODS.index(name) if name in METHODS else len(METHODS)


def _labels(evaluations: Iterable[ConcretenessEvaluation], ignored: str = "") -> dict[str, str]:
    """Return labels by run id: the filter, and the settings in which filters of that name differ, `ignored` aside."""
    named: dict[str, list[ConcretenessEvaluation]] = defaultdict(list)
    for evaluation in evaluations:
        named[evaluation.filter].append(evaluation)
    labels = {}
    for name, group in named.items():
        settings = {key: {str(e.config.get(key)) for e in group} for e in group for key in e.config}
        differing = sorted(key for key, values in settings.items() if len(values) > 1 and key != ignored)
        for e in group:
            settings_of_e = [f"{key}={_short(e.config[key])}" for key in differing if key in e.config]
            labels[e.run_id] = f"{name} ({', '.join(settings_of_e)})" if settings_of_e else name
    return labels


def _short(value: Any) -> str:
    """Return a setting as a cell shows it: the last two parts of a path, the name of a model."""
    if isinstance(value, Mapping):
        return _short(value.get("checkpoint", "..."))
    return "/".join(str(value).split("/")[-2:])


def _rows(
    evaluations: Iterable[ConcretenessEvaluation], row_of: Callable[[ConcretenessEvaluation], Hashable]
) -> dict[Hashable, dict[str, ConcretenessEvaluation]]:
    """Gather evaluations into rows, by benchmark; among several in one cell, the last to finish is kept."""
    rows: dict[Hashable, dict[str, ConcretenessEvaluation]] = defaultdict(dict)
    for evaluation in evaluations:
        row = rows[row_of(evaluation)]
        known = row.get(evaluation.benchmark)
        if known is None or known.finished <= evaluation.finished:
            row[evaluation.benchmark] = evaluation
    return dict(rows)


def _table(title: str, header: list[str], rows: dict[Any, dict[str, ConcretenessEvaluation]]) -> Table:
    """Return a row per key of `rows`, a tuple of texts, with three columns per benchmark, the best value bold."""
    shown = [name for group in GROUPS for name in group if any(name in row for row in rows.values())]
    columns = [(name, coefficient) for name in shown for coefficient in NAMES]
    best = {
        column: max((v for row in rows.values() if (v := _absolute(row, *column)) is not None), default=None)
        for column in columns
    }
    body = [
        plain(*names) + [_cell(_absolute(row, *column), best[column]) for column in columns]
        for names, row in rows.items()
    ]
    header = header + [f"{name} {SYMBOLS[coefficient]}" for name, coefficient in columns]
    reasons = [
        f"{e.filter} on {e.benchmark} is missing: {reason}"
        for row in rows.values()
        for e in row.values()
        if (reason := e.correlations[NAMES[0]].reason)
    ]
    return Table(title, header, body, reasons)


def _absolute(row: dict[str, ConcretenessEvaluation], benchmark: str, coefficient: str) -> float | None:
    return row[benchmark].correlations[coefficient].absolute if benchmark in row else None


def _cell(value: float | None, best: float | None) -> Cell:
    return Cell(MISSING) if value is None else Cell(f"{value:.3f}", bold=value == best)


def _by_method(evaluations: Sequence[ConcretenessEvaluation], labels: dict[str, str]) -> Table:
    def row_of(e: ConcretenessEvaluation) -> tuple[str]:
        sample = f", {e.count} texts" if e.count < e.total else ""
        return (labels[e.run_id] + sample,)

    shown = [e for e in evaluations if (e.filter, e.benchmark) != CIRCULAR]
    title = "Absolute correlation with ratings of concreteness (as Table 3)"
    table = _table(title, ["method"], _rows(shown, row_of))
    if len(shown) < len(evaluations):
        table.notes.append("lexicon on words is left out: the lexicon is made of those ratings")
    return table


def _by_step(evaluations: Sequence[ConcretenessEvaluation]) -> Table:
    chosen = [e for e in evaluations if e.filter in {"sba", "vba", "icc"} and e.config.get("mode") in STEPS]
    chosen.sort(key=lambda e: (_position(e.filter), e.config["mode"] == "distilled"))
    labels = _labels(chosen, ignored="mode")
    rows = _rows(chosen, lambda e: (labels[e.run_id], STEPS[e.config["mode"]]))
    return _table("Before and after distillation (as Table 4)", ["score", "distillation"], rows)


def _by_part(evaluations: Sequence[ConcretenessEvaluation]) -> Table:
    chosen = [e for e in evaluations if e.filter in PARTS and e.config.get("mode") == "direct"]

    def row_of(e: ConcretenessEvaluation) -> tuple[str, str, str]:
        similarity = str(e.config.get("similarity", MISSING))
        model = _short(e.config.get(PARTS[e.filter], MISSING))
        return e.filter, model, SIMILARITIES.get(similarity, similarity)

    return _table(
        "Parts of the pipelines (as Table 6)", ["pipeline", "model", "similarity"], _rows(chosen, row_of)
    )


def _signed(benchmark: str, evaluations: Sequence[ConcretenessEvaluation], labels: dict[str, str]) -> Table:
    header = ["method", "n", "no score", *(SYMBOLS[name] for name in NAMES)]
    rows = [
        plain(
            labels[e.run_id],
            f"{e.count:,}",
            f"{e.unscored:,}",
            *(_with_interval(e.correlations[name]) for name in NAMES),
        )
        for e in evaluations
    ]
    return Table(f"Correlation on {benchmark}, signed, with 95% bootstrap intervals", header, rows)


def _with_interval(c: Correlation) -> str:
    if c.value is None:
        return MISSING
    return f"{c.value:.3f}" if c.low is None else f"{c.value:.3f} [{c.low:.2f}, {c.high:.2f}]"
