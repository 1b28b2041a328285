from dataclasses import replace

from benchmark.results.report.certainty import NOISES, RunFolders
from benchmark.results.report.entry_facts import seconds_text
from benchmark.results.report.frame import headlines
from benchmark.results.report.leaderboard import REFERENCE_ONLY, group, leaderboards
from benchmark.results.report.leaderboard_tables import leaderboard
from benchmark.results.report.significance import OVER_IMAGES
from benchmark.results.result import DownstreamResult, Result, Scoring
from tests.benchmark.results.report.made_results import (
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


def test_rows_are_ordered_by_family() -> None:
    tables = metric_tables(run(name) for name in ("oracle", "clip", "zeta", "random"))
    assert [row[0] for row in texts(tables[0])] == ["random", "clip", "zeta", "oracle" + REFERENCE_ONLY]


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


def test_means_in_percent_without_emphasis() -> None:
    runs = [run("random", cider=0.4), run("clip", cider=0.51234), run("oracle", cider=2.0)]
    table = metric_tables(runs)[0]
    assert table.header == ["filter", "C", "S", "BSc"]
    assert texts(table) == [
        ["random", "40.0", "–", "0.800"],
        ["clip", "51.2", "–", "0.800"],
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


def test_seeds_are_averaged_with_their_interval() -> None:
    runs = [run("clip", seed=seed, cider=cider) for seed, cider in enumerate((0.4, 0.5, 0.6))]
    assert texts(metric_tables(runs)[0]) == [["clip", "50.0 (25.2 to 74.8)", "–", "0.800 (0.800 to 0.800)"]]
    assert texts(metric_tables(runs[:1])[0]) == [["clip", "40.0", "–", "0.800"]]


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
