from dataclasses import replace
from pathlib import Path

from benchmark.results.report.certainty import RunFolders
from benchmark.results.result import Result
from pairsift.studies.findings import FINDINGS, findings_tables, rank_agreement_tables
from tests.benchmark.results.report.made_results import captioned, metric, protocol, result, texts, trained
from tests.benchmark.results.report.made_run_folders import Folder

NOTHING = RunFolders({})


def test_the_papers_own_figures_agree_with_its_claims() -> None:
    figures = [finding.paper_figures() for finding in FINDINGS]
    assert all(better > worse for better, worse in figures)
    assert len({finding.claim for finding in FINDINGS}) == len(FINDINGS)


def test_figures_of_both_are_in_the_row_of_the_claim() -> None:
    (table,) = findings_tables(
        [captioned("random", 0.05), captioned("clip", 0.041), captioned("tmars", 0.04)], NOTHING
    )
    assert table.title == "Findings of the ICC paper, pool demo"
    assert [row[2:5] for row in texts(table)[:2]] == [
        ["random 5.0, clip 3.4", "5.0, 4.1", "training noise unknown"],
        ["tmars 6.5, random 5.0", "4.0, 5.0", "training noise unknown"],
    ]
    sizes = [captioned("icc", 0.3, size=100_000), captioned("icc", 0.3, size=500_000)]
    assert [row[2:4] for row in texts(findings_tables(sizes, NOTHING)[0])] == [
        ["icc 100k 35.8, icc 500k 30.9", "30.0, 30.0"]
    ]
    assert findings_tables([captioned("clip", 0.1), captioned("oracle", 0.2)], NOTHING) == []


NAMES = ("random", "clip", "icc", "tmars")


def runs(*values: float, size: int = 200_000, seed: int = 0, **other_sets: tuple[float, ...]) -> list[Result]:
    sets = {"coco": values} | other_sets
    return [
        result(
            name, size=size, seed=seed,
            downstream={"captioner": trained(**{s: [metric("CIDEr", v[n])] for s, v in sets.items()})},
        )
        for n, name in enumerate(NAMES[: len(values)])
    ]  # fmt: skip


def rows(results: list[Result], *, with_paper: bool = False) -> list[list[str]]:
    every = [row for table in rank_agreement_tables(results) for row in texts(table)]
    return [row for row in every if ("paper" in row[0]) == with_paper]


def test_sizes_are_compared_by_the_order_of_filters() -> None:
    small, large = runs(0.1, 0.2, 0.3, 0.4, size=100_000), runs(0.1, 0.2, 0.4, 0.3)
    # Five of the six pairs are in the same order: (5 - 1) / 6.
    assert rows(small + large) == [["coco: 100k and 200k", "CIDEr", "4", "0.67"]]
    assert rows(small + runs(4, 3, 2, 1)) == [["coco: 100k and 200k", "CIDEr", "4", "-1.00"]]


def test_seeds_and_evaluation_sets_are_compared_at_a_size() -> None:
    first = runs(0.1, 0.2, 0.3, 0.4, nocaps=(0.4, 0.3, 0.2, 0.1))
    second = runs(0.2, 0.1, 0.3, 0.4, seed=1, nocaps=(0.4, 0.3, 0.2, 0.1))
    assert rows(first + second) == [
        ["coco, 200k: seeds 0 and 1", "CIDEr", "4", "0.67"],
        # The means of coco are .15, .15, .3, .4: five pairs in reverse order and one tied, -5 / sqrt(5 * 6).
        ["200k: coco and nocaps", "CIDEr", "4", "-0.91"],
    ]


def test_rankings_are_compared_with_the_papers() -> None:
    # At 200k the paper has random 5.0, clip 3.4, icc 35.5, tmars 6.5: five of the six pairs are in this order.
    (row,) = rows(runs(0.1, 0.2, 0.5, 0.3), with_paper=True)
    assert row == ["200k: coco and the ICC paper's Table 1", "CIDEr", "4", "0.67"]


def test_equal_means_and_fewer_than_four_filters_have_no_tau() -> None:
    assert rows(runs(0.1, 0.2, 0.3, 0.4) + runs(1, 1, 1, 1, seed=1))[0][-1] == "–"
    assert rows(runs(0.1, 0.2, 0.3) + runs(0.1, 0.2, 0.3, 0.4, seed=1)) == []
    oracle = [replace(made, filter="oracle", family="planted") for made in runs(0.9)]
    more = [replace(made, seed=1) for made in oracle]
    assert rows(runs(0.1, 0.2, 0.3) + oracle + runs(0.1, 0.2, 0.3, seed=1) + more) == []


def test_settings_are_not_compared_with_each_other() -> None:
    budget = protocol(**{"captioner.training.samples_seen": "2000"})
    other = [replace(made, protocol=budget) for made in runs(0.1, 0.2, 0.3, 0.4, seed=1)]
    assert rows(runs(0.1, 0.2, 0.3, 0.4) + other) == []
    again = [replace(made, seed=2) for made in other]
    tables = rank_agreement_tables([*runs(0.1, 0.2, 0.3, 0.4), *other, *again])
    of_seeds = [t.title for t in tables if any("seeds" in row[0].text for row in t.rows)]
    assert of_seeds == [f"Agreement of rankings, pool demo [{budget.setting}]"]


def test_every_headline_metric_has_rankings() -> None:
    metrics = [[metric("text_to_image_R@1", n), metric("zero_shot", -n)] for n in range(4)]
    made = [
        replace(run, downstream={"dual_encoder": trained(coco=metrics[n])})
        for size in (100_000, 200_000)
        for n, run in enumerate(runs(1, 2, 3, 4, size=size))
    ]
    assert rows(made) == [
        ["coco: 100k and 200k", "text-to-image R@1 (%)", "4", "1.00"],
        ["coco: 100k and 200k", "zero-shot (%)", "4", "1.00"],
        # The second metric ranks them in reverse: two metrics are compared at each size.
        ["coco, 100k", "text-to-image R@1 (%) and zero-shot (%)", "4", "-1.00"],
        ["coco, 200k", "text-to-image R@1 (%) and zero-shot (%)", "4", "-1.00"],
    ]


def test_a_finding_agrees_only_where_it_is_significant(tmp_path: Path) -> None:
    runs = Folder(tmp_path)
    runs.add("random", [0.10, 0.11, 0.12])
    runs.add("icc", [0.30, 0.31, 0.32])
    runs.add("clip", [0.09, 0.12, 0.13])
    runs.add("tmars", [0.20])
    runs.add("oracle", [0.50, 0.51, 0.52])
    (table,) = findings_tables(runs.results, runs.folders)
    agrees = {row[0]: row[4] for row in texts(table)}
    assert agrees["ICC is far above random"] == "yes (p < .001)"
    assert agrees["Random is above CLIP"].startswith("not shown (p ")
    assert agrees["T-MARS is above random"] == "yes (p .003)"
