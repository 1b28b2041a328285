"""The demo's leaderboard in worlds with more or fewer mismatched pairs, with the ICC paper's claims."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean

from benchmark.core.hashes import hash_json
from benchmark.results.report.leaderboard import settings_of
from benchmark.results.report.table import Cell, Table, plain
from benchmark.results.result import Result
from pairsift.studies.findings import CIDER, FINDINGS, MIDDLE, RECALL

MEASURES = (CIDER, RECALL)
ONE_SEED = "One seed: no difference between two values of a row is tested."
Worlds = dict[float, dict[str, Result]]  # by the fraction of mismatched pairs, then by filter


def worlds(results: Iterable[Result]) -> Worlds:
    """Return runs at 200k with the first seed that differ only in ``pool.demo.mismatched`` and in their filter.

    Of several such families the one with the most fractions is returned; an empty one if none has two. A filter with
    several settings or selectors in the family is left out.
    """
    families = defaultdict[str, list[tuple[float, Result]]](list)
    for run in sorted(results, key=lambda run: -run.seed):
        demo = run.config.get("pool", {}).get("demo")
        if demo is not None and run.size == MIDDLE and "mismatched" in demo:
            drawn = dict(demo)
            facts = {name: fact for name, fact in run.protocol.facts.items() if name != "pool"}
            value = drawn.pop("mismatched")
            families[hash_json([facts, drawn], 12)].append((value, run))
    largest = max(families.values(), key=lambda family: len({value for value, _ in family}), default=[])
    variants = defaultdict[str, set[str]](set)
    for _, run in largest:
        settings = settings_of(run.config, run.selection.config)
        variants[run.filter].add(hash_json([settings, run.selection.selector], 12))
    found: Worlds = {value: {} for value in sorted({value for value, _ in largest})}
    for value, run in largest:
        if len(variants[run.filter]) == 1:
            found[value][run.filter] = run
    return found if len(found) > 1 else {}


def world_tables(results: Sequence[Result]) -> dict[str, list[Table]]:
    """Return both measures of each filter, and the paper's claims, by the fraction of mismatched pairs."""
    of_worlds = worlds(results)
    tables = {"mismatched": _values(of_worlds), "claims": _claims(of_worlds)}
    return {name: [table] for name, table in tables.items() if table.rows}


def _values(of_worlds: Worlds) -> Table:
    header = [f"{measure.label}, {value:g}" for measure in MEASURES for value in of_worlds]
    rows = [
        [name, *(m.text(fmean(m.values(of[name]))) for m in MEASURES for of in of_worlds.values())]
        for name in shared_filters(of_worlds)
    ]
    rows.sort(key=lambda row: -float(row[1]))
    return Table("Worlds by mismatched pairs", ["filter", *header], [plain(*row) for row in rows], [ONE_SEED])


def _claims(of_worlds: Worlds) -> Table:
    """Return each claim at one size with the values of its two filters in each world, bold in the paper's order."""
    rows, shared = [], shared_filters(of_worlds)
    for finding in FINDINGS:
        if {finding.better, finding.worse} <= set(shared) and finding.sizes == (MIDDLE, MIDDLE):
            paper = ", ".join(f"{figure:.1f}" for figure in finding.paper_figures())
            row = plain(finding.claim, finding.measure.label, paper)
            for of in of_worlds.values():
                better, worse = (
                    fmean(finding.measure.values(of[name])) for name in (finding.better, finding.worse)
                )
                row.append(Cell(", ".join(map(finding.measure.text, (better, worse))), bold=better > worse))
            rows.append(row)
    header = ["the ICC paper's claim", "metric", "its figures", *(f"{value:g}" for value in of_worlds)]
    return Table("Claims by mismatched pairs", header, rows, [f"Bold: in the paper's order. {ONE_SEED}"])


def shared_filters(of_worlds: Worlds) -> list[str]:
    """Return the filters with both models evaluated in every world."""
    names = [
        {name for name, run in of.items() if all(m.values(run) for m in MEASURES)}
        for of in of_worlds.values()
    ]
    return sorted(set.intersection(*names)) if names else []
