from dataclasses import replace

from benchmark.results.report.run_tables import evaluation_tables, run_table
from benchmark.results.result import Evaluation, Result
from tests.benchmark.results.report.made_results import metric, protocol, result, texts, trained

REASON = "no models"


def run(name: str, cider: float, *, seed: int = 0) -> Result:
    captions = [metric("CIDEr", cider), metric("SPICE", None, REASON), metric("Polos", None, REASON)]
    models = {
        "captioner": trained(coco=captions, nocaps=captions),
        "dual_encoder": trained(
            coco=[metric("text_to_image_R@1", 0.1)], classes=[metric("linear_probe", None, "locked")]
        ),
    }
    return result(name, seed=seed, downstream=models)


def test_random_of_the_same_protocol_stands_below() -> None:
    other = replace(run("random", 0.9), protocol=protocol(precision="bf16"))
    table = run_table(
        run("icc", 0.5), [run("random", 0.1), run("clip", 0.2), run("random", 0.3, seed=1), other]
    )
    assert table.title == "demo 200k"
    assert table.header == ["filter", "model", "evaluation set", "CIDEr", "T2I R@1"]
    assert texts(table)[:2] == [
        ["icc", "captioner", "coco", "50.0", ""], ["random", "captioner", "coco", "20.0", ""],
    ]  # fmt: skip
    assert [row[1:3] for row in texts(table)[::2]] == [
        ["captioner", "coco"], ["captioner", "nocaps"], ["dual_encoder", "coco"], ["dual_encoder", "classes"],
    ]  # fmt: skip


def test_a_run_alone_has_one_row_per_set() -> None:
    random = run("random", 0.1)
    assert [row[0] for row in texts(run_table(random, [random]))] == ["random"] * 4


def test_the_reference_is_used_where_the_folder_lacks_a_filter() -> None:
    committed = [
        run("random", 0.1),
        run("oracle", 0.7),
        replace(run("oracle", 0.9), protocol=protocol("web")),
    ]
    table = run_table(run("icc", 0.5), [run("clip", 0.2)], committed)
    assert [row[0] for row in texts(table)][:2] == ["icc", "random (reference)"]
    assert texts(table)[1][:4] == ["random (reference)", "captioner", "coco", "10.0"]
    own = run_table(run("icc", 0.5), [run("random", 0.2)], committed)
    assert texts(own)[1][:4] == ["random", "captioner", "coco", "20.0"]
    assert {row[0] for row in texts(run_table(run("random", 0.5), [], committed))} == {"random"}


def test_what_is_missing_is_said_once() -> None:
    notes = run_table(run("icc", 0.5), []).notes
    assert notes == ["SPICE, Polos missing: no models", "linear_probe missing: locked"]
    assert run_table(run("icc", 0.5), [], expected=frozenset({REASON})).notes == notes[1:]


def test_a_single_run_shows_its_interval() -> None:
    captions = [replace(metric("CIDEr", 0.5), interval=(0.48, 0.54)), metric("METEOR", 0.2)]
    table = run_table(result("icc", downstream={"captioner": trained(coco=captions)}), [])
    assert texts(table) == [["icc", "captioner", "coco", "50.0 ±3.0", "20.0"]]
    assert "does not include seed variance" in table.notes[0]


def test_evaluations_are_a_table_per_set_and_the_last_counts() -> None:
    older, newer = (
        Evaluation(
            "a", "a", {}, {"coco": [metric("CIDEr", cider), metric("Diversity", 0.5)]}, {}, finished=time
        )
        for cider, time in ((0.1, "1"), (0.2, "2"))
    )
    scores = {"coco": [metric("zero_shot", 0.3), metric("zero_shot_tied", 0.5)], "nocaps": []}
    ties, diversity = evaluation_tables([newer, Evaluation("b", "b", {}, scores, {}), older])
    assert ties.title == "evaluated on coco"
    assert ties.header == ["model", "images or queries", "C", "zero-shot"]
    assert texts(ties) == [["a", "10", "20.0", "–"], ["b", "10", "–", "30.0"]]
    assert ties.notes[0].endswith("in points: zero-shot 50.0.")
    assert diversity.title == "evaluated on coco, best reference and diversity"
    assert texts(diversity) == [["a", "10", "50.0"]]
