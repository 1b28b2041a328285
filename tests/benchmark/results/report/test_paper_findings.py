"""The ICC paper's findings beside those of a pool's runs."""

from benchmark.results.report.certainty import RunFolders
from benchmark.results.report.findings import FINDINGS, findings_tables
from benchmark.results.result import Result
from tests.benchmark.results.report.made_results import metric, result, texts, trained

NOTHING = RunFolders({})


def run(name: str, cider: float, size: int = 200_000, seed: int = 0) -> Result:
    models = {"captioner": trained(coco=[metric("CIDEr", cider)])}
    return result(name, size=size, seed=seed, downstream=models)


def test_the_papers_own_figures_agree_with_its_claims() -> None:
    assert all(f.paper_figure(f.better) > f.paper_figure(f.worse) for f in FINDINGS)
    assert len({finding.claim for finding in FINDINGS}) == len(FINDINGS)


def test_figures_of_both_stand_beside_the_claim() -> None:
    runs = [run("random", 0.05), run("clip", 0.031), run("clip", 0.051, seed=1), run("tmars", 0.04)]
    (table,) = findings_tables(runs, NOTHING)
    assert table.title == "Findings of the ICC paper, pool demo"
    assert [row[2:5] for row in texts(table)[:2]] == [
        ["random 5.0, clip 3.4", "5.0*, 4.1*", "not significant"],
        ["tmars 6.5, random 5.0", "4.0*, 5.0*", "not significant"],
    ]


def test_findings_over_sizes_name_them() -> None:
    (table,) = findings_tables([run("icc", 0.3, size=100_000), run("icc", 0.3, size=500_000)], NOTHING)
    assert [row[2:5] for row in texts(table)] == [
        ["icc 100k 35.8, icc 500k 30.9", "30.0*, 30.0*", "not significant"]
    ]


def test_without_both_selections_there_is_no_finding() -> None:
    assert findings_tables([run("clip", 0.1), run("oracle", 0.2)], NOTHING) == []
    assert findings_tables([], NOTHING) == []
