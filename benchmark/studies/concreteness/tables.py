"""The ICC paper's Tables 3, 4 and 6, of whatever evaluations there are."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmark.report.leaderboard_tables import MISSING, Table
from benchmark.studies.concreteness.correlation import NAMES, Correlation
from benchmark.studies.concreteness.evaluation import Evaluation
from benchmark.studies.concreteness.rated_texts import CAPTIONS, DEMO, WORDS

SYMBOLS = dict(zip(NAMES, ("ρ", "ρ_s", "τ"), strict=True))
# What stands side by side, and how the title says so: the paper's two, in its order, and the demo's.
GROUPS = {(WORDS, CAPTIONS): "", (DEMO,): ", demo captions"}
ORDER = ("lexicon", "clip_stroop", "ave_clip", "llm_rating", "sba", "vba", "icc", "score_file")
SIMILARITIES = {"edit": "ED", "bertscore": "BSc"}  # Table 6's abbreviations
PARTS = {"sba": "llm", "vba": "captioner"}  # the setting that names the part that Table 6 varies
CIRCULAR = ("lexicon", WORDS)
STEPS = {"direct": "before", "distilled": "after"}


def concreteness_tables(evaluations: Sequence[Evaluation]) -> list[Table]:
    """Return the tables that have rows: by method, before and after distillation, by part, and signed."""
    labels = _labels(evaluations)
    ordered = sorted(evaluations, key=lambda e: (_place(e.filter), labels[e.run_id], e.run_id))
    tables = []
    for benchmarks, words in GROUPS.items():
        group = [e for e in ordered if e.benchmark in benchmarks]
        found = [_by_method(group, labels), _by_step(group), _by_part(group)]
        tables += [replace(table, title=table.title + words) for table in found]
    for name in (name for benchmarks in GROUPS for name in benchmarks):
        tables.append(_signed(name, [e for e in ordered if e.benchmark == name], labels))
    return [table for table in tables if table.rows]


def _place(name: str) -> int:
    return ORDER.index(name) if name in ORDER else len(ORDER)


def _labels(evaluations: Iterable[Evaluation], but: str = "") -> dict[str, str]:
    """Name each evaluation by its filter, and by the settings, `but` one, in which filters of that name differ."""
    named: dict[str, list[Evaluation]] = defaultdict(list)
    for evaluation in evaluations:
        named[evaluation.filter].append(evaluation)
    labels = {}
    for name, group in named.items():
        settings = {key: {str(e.config.get(key)) for e in group} for e in group for key in e.config}
        differing = sorted(key for key, values in settings.items() if len(values) > 1 and key != but)
        for e in group:
            words = [f"{key}={_short(e.config[key])}" for key in differing if key in e.config]
            labels[e.run_id] = f"{name} ({', '.join(words)})" if words else name
    return labels


def _short(value: Any) -> str:
    """Return a setting as a cell shows it: of a path its end, of a model its name."""
    if isinstance(value, Mapping):
        return _short(value.get("checkpoint", "..."))
    return "/".join(str(value).split("/")[-2:])


def _rows(
    evaluations: Iterable[Evaluation], row_of: Callable[[Evaluation], Hashable]
) -> dict[Hashable, dict[str, Evaluation]]:
    """Gather evaluations into rows, by benchmark; of several the one finished last counts."""
    rows: dict[Hashable, dict[str, Evaluation]] = defaultdict(dict)
    for evaluation in evaluations:
        row = rows[row_of(evaluation)]
        known = row.get(evaluation.benchmark)
        if known is None or known.finished <= evaluation.finished:
            row[evaluation.benchmark] = evaluation
    return dict(rows)


def _table(title: str, header: list[str], rows: dict[Any, dict[str, Evaluation]]) -> Table:
    """Draw one row for each tuple of cells in `rows`, three columns for each benchmark, the best in bold."""
    shown = [name for group in GROUPS for name in group if any(name in row for row in rows.values())]
    columns = [(name, coefficient) for name in shown for coefficient in NAMES]
    best = {
        column: max((v for row in rows.values() if (v := _absolute(row, *column)) is not None), default=None)
        for column in columns
    }
    body = [
        [*cells, *(_cell(_absolute(row, *column), best[column]) for column in columns)]
        for cells, row in rows.items()
    ]
    header = header + [f"{name} {SYMBOLS[coefficient]}" for name, coefficient in columns]
    return Table(title, header, body, _reasons(rows.values()))


def _absolute(row: dict[str, Evaluation], benchmark: str, coefficient: str) -> float | None:
    return row[benchmark].correlations[coefficient].absolute if benchmark in row else None


def _cell(value: float | None, best: float | None) -> str:
    if value is None:
        return MISSING
    text = f"{value:.3f}"
    return f"**{text}**" if value == best else text


def _reasons(rows: Iterable[dict[str, Evaluation]]) -> list[str]:
    found = (e for row in rows for e in row.values())
    return [
        f"{e.filter} on {e.benchmark} is missing: {c.reason}"
        for e in found
        if (c := e.correlations[NAMES[0]]).reason
    ]


def _by_method(evaluations: Sequence[Evaluation], labels: dict[str, str]) -> Table:
    def row_of(e: Evaluation) -> tuple[str]:
        part = f", {e.count} texts" if e.count < e.total else ""
        return (labels[e.run_id] + part,)

    judged = [e for e in evaluations if (e.filter, e.benchmark) != CIRCULAR]
    title = "Absolute correlation with ratings of concreteness (as Table 3)"
    table = _table(title, ["method"], _rows(judged, row_of))
    if len(judged) < len(evaluations):
        table.notes.append("lexicon on words is left out: it is made of those ratings")
    return table


def _by_step(evaluations: Sequence[Evaluation]) -> Table:
    chosen = [e for e in evaluations if e.filter in {"sba", "vba", "icc"} and e.config.get("mode") in STEPS]
    chosen.sort(key=lambda e: (_place(e.filter), e.config["mode"] == "distilled"))
    labels = _labels(chosen, but="mode")
    rows = _rows(chosen, lambda e: (labels[e.run_id], STEPS[e.config["mode"]]))
    return _table("Before and after distillation (as Table 4)", ["score", "distillation"], rows)


def _by_part(evaluations: Sequence[Evaluation]) -> Table:
    chosen = [e for e in evaluations if e.filter in PARTS and e.config.get("mode") == "direct"]

    def row_of(e: Evaluation) -> tuple[str, str, str]:
        similarity = str(e.config.get("similarity", MISSING))
        model = _short(e.config.get(PARTS[e.filter], MISSING))
        return e.filter, model, SIMILARITIES.get(similarity, similarity)

    return _table(
        "Parts of the pipelines (as Table 6)", ["pipeline", "model", "similarity"], _rows(chosen, row_of)
    )


def _signed(benchmark: str, evaluations: Sequence[Evaluation], labels: dict[str, str]) -> Table:
    header = ["method", "n", "no score", *(SYMBOLS[name] for name in NAMES)]
    rows = [
        [labels[e.run_id], f"{e.count:,}", f"{e.unscored:,}"]
        + [_with_interval(e.correlations[name]) for name in NAMES]
        for e in evaluations
    ]
    return Table(f"Correlation on {benchmark}, signed, with 95% bootstrap intervals", header, rows, [])


def _with_interval(c: Correlation) -> str:
    if c.value is None:
        return MISSING
    return f"{c.value:.3f}" if c.low is None else f"{c.value:.3f} [{c.low:.2f}, {c.high:.2f}]"
