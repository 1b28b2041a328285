"""The tables of leaderboards: of metrics, costs and noise, and the summary for README."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.core.errors import UserError
from benchmark.results.report.certainty import NOISES, RunFolders
from benchmark.results.report.entry_facts import seconds_text
from benchmark.results.report.frame import headlines
from benchmark.results.report.leaderboard import REFERENCE_ONLY, group, leaderboards
from benchmark.results.report.leaderboard_tables import leaderboard, size_table, summary_board, summary_table
from benchmark.results.report.significance import OVER_IMAGES
from benchmark.results.report.table import Cell, Table, publish
from benchmark.results.result import DownstreamResult, Result, Scoring
from downstream.evaluation.image_scores import ImageScores
from tests.benchmark.results.report.made_results import (
    captioned,
    metric,
    metric_tables,
    protocol,
    result,
    texts,
    trained,
)


def run(name: str, *, cider: float = 0.5, size: int = 200_000, seed: int = 0) -> Result:
    captions = [metric("CIDEr", cider), metric("SPICE", None, "no models"), metric("BERTScore", 0.8)]
    models = {"captioner": trained(coco=captions), "dual_encoder": trained(coco=[metric("zero_shot", 0.1)])}
    kept = {"concrete": 15, "person": 5}
    return result(name, size=size, seed=seed, downstream=models, kept=kept)


def test_a_table_holds_runs_of_one_protocol_alone() -> None:
    usual = [run("clip", cider=0.4), run("random", cider=0.3), run("clip", size=100_000)]
    budget = {"captioner.training.samples_seen": "2000"}
    longer = replace(run("clip", cider=0.9), protocol=protocol(**budget))
    tables = [table for table in metric_tables([longer, *usual]) if "captioner on coco" in table.title]
    first, second = protocol().fingerprint, longer.protocol.fingerprint
    assert [table.title for table in tables] == [
        "demo 100k: captioner on coco",
        f"demo 200k [{first}]: captioner on coco",
        f"demo 200k [{second}]: captioner on coco",
    ]
    assert [[row[:2] for row in texts(table)] for table in tables] == [
        [["clip", "50.0"]], [["random", "30.0"], ["clip", "40.0"]], [["clip", "90.0"]],
    ]  # fmt: skip
    every = leaderboard([longer, *usual], RunFolders({}))
    noted = [table for table in every if any("Not comparable" in note for note in table.notes)]
    assert [table.title for table in noted] == [f"demo 200k [{second}]: captioner on coco: CIDEr"]
    first_note = noted[0].notes.index(f"Protocol: demo 200k ({second}), 1 run.")
    assert noted[0].notes[first_note + 1] == (
        "Not comparable with the first leaderboard: captioner.training.samples_seen 2000 instead of none; size 2,000"
        " pairs instead of 1,000 pairs."
    )


def test_own_metrics_and_models_have_headlines() -> None:
    sets = {
        name: [metric("SPICE", 0.2), metric("Mine", 0.1), metric("CIDEr", 0.5)] for name in ("nocaps", "coco")
    }
    own = {name: [metric("BLEU-1", 0.5, detail=True), metric("METEOR", 0.2)] for name in ("nocaps", "coco")}
    models = {"own": trained(**own), "captioner": trained(**sets)}
    found = headlines(group([result("clip", downstream=models)]))
    assert [(m.model, m.evaluation, m.metric) for m in found] == [
        ("captioner", "coco", "CIDEr"), ("captioner", "coco", "Mine"),
        ("own", "nocaps", "METEOR"), ("own", "coco", "METEOR"),
    ]  # fmt: skip


def test_overrides_are_in_a_note_and_not_in_titles() -> None:
    override = "metrics.bertscore.num_layers=3"
    other = replace(protocol(layers="3"), name=f"demo 200k, {override}", overridden=(override,))
    runs = [run("clip"), run("random"), replace(run("clip"), protocol=other)]
    boards = leaderboards(runs)
    assert [board.title for board in boards] == ["demo 200k", f"demo 200k [{other.fingerprint}]"]
    assert boards[1].protocol_note == f"Protocol: demo 200k, {override} ({other.fingerprint}), 1 run."


def test_means_in_percent_in_the_order_of_families() -> None:
    runs = [run("oracle", cider=2.0), run("zeta"), run("clip", cider=0.51234), run("random", cider=0.4)]
    table = metric_tables(runs)[0]
    assert table.header == ["filter", "C", "S", "BSc"]
    assert texts(table) == [
        ["random", "40.0", "–", "0.800"],
        ["clip", "51.2", "–", "0.800"],
        ["zeta", "50.0", "–", "0.800"],
        ["oracle" + REFERENCE_ONLY, "200.0", "–", "0.800"],
    ]
    assert table.notes == [NOISES[OVER_IMAGES], "S is missing: no models"]


def test_ties_are_explained_beside_retrieval() -> None:
    def pairs(tied: float) -> dict[str, DownstreamResult]:
        coco = [metric("text_to_image_R@1", 0.5), metric("text_to_image_tied", tied)]
        return {"dual_encoder": trained(coco=coco)}

    table = metric_tables([result("clip", downstream=pairs(0.002)), result("icc", downstream=pairs(0.013))])[
        0
    ]
    assert table.header == ["filter", "T2I R@1"]
    _, note = table.notes
    assert note.startswith(
        "Ties count against the model. By CLIP_benchmark's rule, figures would be higher by at most"
    )
    assert note.endswith("in points: T2I 1.3.")


def test_costs_and_kinds_of_noise_kept() -> None:
    memory = {"peak_rss_bytes": 2 * 2**30, "workers_peak_rss_bytes": 3 * 2**30}
    cost, noise = metric_tables([replace(run("clip"), **memory)])[-2:]
    assert cost.header[1:] == [
        "kept", "distinct", "threshold", "scoring s", "pairs/s", "training", "peak memory"
    ]  # fmt: skip
    assert texts(cost) == [["clip", "2,000", "2,000", "0.25", "12.5", "6,400", "4 s", "2 GiB, workers 3 GiB"]]
    assert noise.header == ["filter", "concrete", "person"]
    assert texts(noise) == [["clip", "75.0", "25.0"]]


def test_scores_that_cost_nothing_have_no_rate() -> None:
    cost = metric_tables([replace(run("random"), scoring=Scoring(0.0, 1.0))])[-2]
    assert texts(cost)[0][4:] == ["0.0", "–", "4 s", "–"]
    assert [seconds_text(s) for s in (0.137, 9.96, 12.4, 12345)] == ["0.14 s", "10 s", "12 s", "12,345 s"]


def test_selectors_and_other_captions_label_a_run() -> None:
    clusters = run("clip")
    clusters = replace(clusters, selection=replace(clusters.selection, selector="cluster_sorted", sha256="c"))
    described = replace(run("clip"), config={"captions": {"columns": [], "files": ["described"]}})
    tables = metric_tables([run("clip"), clusters, described])
    assert [row[0] for row in texts(tables[0])] == ["clip", "clip, cluster_sorted", "clip, other captions"]


def test_classification_and_diversity_in_their_units() -> None:
    captions = [metric("CIDEr", 0.5), metric("Diversity", 0.5), metric("Unique-2", 83.84)]
    classes = [metric("zero_shot", 0.125), metric("linear_probe", None, "the image tower is locked")]
    models = {"captioner": trained(coco=captions), "dual_encoder": trained(classes=classes)}
    headline, diversity, zero_shot = metric_tables([result("clip", downstream=models)])[:3]
    assert headline.header == ["filter", "C"]
    assert diversity.title == "demo 200k: captioner on coco, best reference and diversity"
    assert diversity.header == ["filter", "Div", "U-2"]
    assert texts(diversity) == [["clip", "50.0", "83.8"]]
    assert zero_shot.header == ["filter", "zero-shot", "probe"]
    assert texts(zero_shot) == [["clip", "12.5", "–"]]
    assert zero_shot.notes == [NOISES[OVER_IMAGES], "probe is missing: the image tower is locked"]


def test_labels_hold_the_settings_that_differ() -> None:
    def vas(seed: int, target: str | None, weights: str) -> Result:
        made = run("vas", seed=seed)
        settings = made.selection.config | {"target": target, "weights": weights}
        return replace(made, selection=replace(made.selection, config=settings, sha256=str(target)))

    runs = [
        vas(0, None, "/a/l14"),
        vas(1, None, "/b/l14"),
        vas(2, None, "l14"),
        vas(0, "x/coco.npy", "/a/l14"),
    ]
    rows = texts(metric_tables(runs)[0])
    assert [row[0] for row in rows] == ["vas (target=None)", "vas (target=coco.npy)"]
    boards = leaderboards(runs)
    assert [len(entry.runs) for entry in boards[0].entries] == [3, 1]  # of other seeds and folders: one row


def summary_of(results: list[Result]) -> Table:
    return summary_table(summary_board(leaderboards(results)), RunFolders({}))


def test_filters_are_rows_and_the_best_comes_first() -> None:
    table = summary_of([captioned("random", 0.2), captioned("clip", 0.3)])
    assert [row[:2] for row in texts(table)] == [["clip", "30.0"], ["random", "20.0"]]
    assert any(note.startswith("Training noise unknown") for note in table.notes)
    assert table.header[:2] == ["filter", "CIDEr, coco"]


def of_sizes(folder: Path, shared: float) -> tuple[list[Result], RunFolders]:
    """Runs of a filter at three sizes, two of them alike, with two seeds at each."""
    runs, rng = [], np.random.default_rng(0)
    for size, mean in {100_000: 0.2, 200_000: 0.29, 500_000: 0.3}.items():
        for seed in range(2):
            values = mean + rng.normal(0, 0.05, 200) + rng.normal(0, shared)
            runs.append(captioned("clip", float(values.mean()), size=size, seed=seed))
            scores = ImageScores()
            scores.add("coco", "CIDEr", range(200), values.tolist())
            scores.write(folder / runs[-1].run_id / "captioner")
    return runs, RunFolders({run.run_id: folder / run.run_id for run in runs})


def test_best_sizes_are_not_shown_to_be_worse(tmp_path: Path) -> None:
    runs, folders = of_sizes(tmp_path, 0.004)
    runs.append(captioned("icc", 0.2))
    boards = leaderboards(runs)
    table = summary_table(boards[1], folders, boards)
    column = table.header.index("best sizes")
    assert {row[0]: row[column] for row in texts(table)} == {"clip": "200k, 500k", "icc": "–"}
    sizes = size_table(boards[1], boards)
    assert sizes.header == ["filter", "CIDEr, 100k", "CIDEr, 200k", "CIDEr, 500k"]
    assert [row[0] for row in texts(sizes)] == ["clip"]
    assert "best sizes" not in summary_table(boards[1], folders).header


def test_with_one_seed_the_best_size_is_unknown() -> None:
    boards = leaderboards([captioned("clip", mean, size=n) for n, mean in ((100_000, 0.1), (200_000, 0.9))])
    table = summary_table(boards[0], RunFolders({}), boards)
    assert [row[table.header.index("best sizes")] for row in texts(table)] == ["unknown"]


def test_descriptions_are_a_percentage_of_the_kept_pairs() -> None:
    made = replace(captioned("clip", 0.3), kept={"concrete": 15, "person": 4, "abstract": 1})
    table = summary_of([made, captioned("random", 0.2)])
    assert table.header[2:] == ["descriptions among the kept", "scoring, worker s"]
    assert [row[2:] for row in texts(table)] == [["75%", "12"], ["–", "12"]]


def test_only_the_lines_between_the_markers_change() -> None:
    table = Table("", ["filter", "C"], [[Cell("clip"), Cell("1.0", bold=True)]], ["Of one protocol."])
    around = "before\n<!-- leaderboard -->\n{}\n<!-- /leaderboard -->\nafter\n"
    published = publish(around.format("old"), {"findings": table, "leaderboard": table}, "README.md")
    assert published == around.format(
        "| filter | C |\n| --- | ---: |\n| clip | **1.0** |\n\nOf one protocol."
    )


def test_a_marker_may_ask_for_the_first_rows() -> None:
    table = Table(
        "", ["filter", "C"], [[Cell("clip"), Cell("1.0")], [Cell("random"), Cell("0.5")]], ["Note."]
    )
    around = "<!-- leaderboard: 1 rows -->\n{}\n<!-- /leaderboard -->\n"
    assert publish(around.format("old"), {"leaderboard": table}, "README.md") == around.format(
        "| filter | C |\n| --- | ---: |\n| clip | 1.0 |\n\nThe first 1 of 2 rows."
    )


def test_a_file_without_markers_is_refused() -> None:
    with pytest.raises(UserError, match=r"README\.md must have the lines <!-- leaderboard -->"):
        publish("nothing here", {"leaderboard": Table("", ["filter"], [])}, "README.md")


def test_the_size_with_the_most_runs_is_published_and_named() -> None:
    smaller = [captioned(name, 0.3, size=100_000) for name in ("clip", "icc")]
    runs = [captioned("clip", 0.3, seed=seed) for seed in range(3)]
    elsewhere = [replace(captioned("icc", 0.3), protocol=protocol("web"), seed=seed) for seed in range(4)]
    table = summary_of([*smaller, *runs, *elsewhere])
    assert [row[0].text for row in table.rows] == ["clip"]
    assert f"Protocol: demo 200k ({protocol().fingerprint}), 3 runs." in table.notes


def test_no_results_to_publish_are_refused() -> None:
    with pytest.raises(UserError, match="needs results; results_dir has none"):
        summary_board([])
