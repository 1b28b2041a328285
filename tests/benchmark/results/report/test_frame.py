"""Choosing metrics by name."""

import re

import pytest

from benchmark.core.errors import UserError
from benchmark.results.report.frame import (
    SHORT,
    chart_measures,
    choose_metrics,
    few_columns,
    heading,
    headlines,
    only_metrics,
    table_columns,
    unit_of,
)
from benchmark.results.result import Evaluation
from tests.benchmark.results.report.made_results import metric, result, trained

RETRIEVAL = [metric("text_to_image_R@1", 0.1), metric("text_to_image_tied", 0.02), metric("zero_shot", 0.3)]
MADE = result(
    "clip",
    downstream={
        "captioner": trained(coco=[metric("CIDEr", 0.5), metric("SPICE", None, "no models")]),
        "dual_encoder": trained(coco=RETRIEVAL, flickr30k=RETRIEVAL[:2]),
    },
)


def test_names_and_columns_choose_alike() -> None:
    for name in ("CIDEr", "cider", "C", "c"):
        assert choose_metrics([name], [MADE]) == {"CIDEr"}
    assert choose_metrics(["T2I R@1", "S"], [MADE]) == {"text_to_image_R@1", "SPICE"}
    evaluation = Evaluation("e", "e", {}, {"coco": [metric("Polos", 0.5)]}, {})
    assert choose_metrics(["polos"], [MADE, evaluation]) == {"Polos"}
    assert [SHORT[name] for name in ("RefPAC-S", "Unique-4", "linear_probe")] == ["RefPAC", "U-4", "probe"]
    names = [text.casefold() for pair in SHORT.items() for text in pair]
    assert len(set(names)) == len({*SHORT, *SHORT.values()})  # no two columns differ in case alone


def test_an_unknown_name_lists_what_the_results_hold() -> None:
    known = "C, CIDEr, S, SPICE, T2I R@1, text_to_image_R@1, text_to_image_tied, zero-shot, zero_shot"
    line = f"task.columns=cidre is not in these results; did you mean 'CIDEr'? known: {known}"
    with pytest.raises(UserError, match=f"^{re.escape(line)}$"):
        choose_metrics(["CIDEr", "cidre"], [MADE])


def test_results_keep_the_chosen_metrics_and_their_ties() -> None:
    kept = only_metrics(MADE, {"text_to_image_R@1"})
    assert {name: t.evaluations for name, t in kept.downstream.items()} == {
        "captioner": {},
        "dual_encoder": {"coco": RETRIEVAL[:2], "flickr30k": RETRIEVAL[:2]},
    }
    assert only_metrics(MADE, {"CIDEr"}).downstream["captioner"].evaluations == {
        "coco": [metric("CIDEr", 0.5)]
    }


def test_columns_have_known_metrics_first_and_details_only_by_name() -> None:
    given = [metric("Words", 3.0), metric("BLEU-1", 0.5, detail=True), metric("Unique-1", 2.0)]
    given += [metric("SPICE", 0.1), metric("CIDEr", 0.2)]
    columns = table_columns(given)
    assert list(columns[""]) == ["CIDEr", "SPICE", "Words"]
    assert list(columns[", best reference and diversity"]) == ["Unique-1"]
    chosen = only_metrics(result("clip", downstream={"captioner": trained(coco=given)}), {"BLEU-1"})
    assert table_columns(chosen.metrics("captioner", "coco")) == {"": {"BLEU-1": metric("BLEU-1", 0.5)}}
    classes = [metric("linear_probe", None, "locked"), metric("zero_shot_acc@5", 0.5)]
    assert list(few_columns([given, classes, [metric("zero_shot_tied", 0.1)]])) == [
        "CIDEr", "Words", "zero_shot_acc@5"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("unit", "higher", "value", "header", "text"),
    [
        ("fraction", True, 0.1234, "Mine (%)", "12.3"),
        ("score", False, 0.1234, "Mine ↓", "0.123"),
        ("words", True, 12.34, "Mine (words)", "12.3"),
        ("", True, 0.01234, "Mine", "0.012"),
    ],
)
def test_units_and_directions_show(unit: str, higher: bool, value: float, header: str, text: str) -> None:
    made = metric("Mine", value, unit=unit, higher_is_better=higher)
    assert (heading(made), unit_of(unit).text(unit_of(unit).factor * value)) == (header, text)


def test_own_metrics_and_models_have_headlines() -> None:
    coco = [metric("SPICE", None, "no Java"), metric("Mine", 0.1), metric("CIDEr", 0.5)]
    own = {name: [metric("BLEU-1", 0.5, detail=True), metric("METEOR", 0.2)] for name in ("nocaps", "coco")}
    captioner = trained(nocaps=coco, coco=coco)
    made = result("clip", downstream={"own": trained(**own), "captioner": captioner})
    assert [(m.model, m.evaluation, m.metric) for m in headlines([made])] == [
        ("captioner", "coco", "CIDEr"), ("captioner", "coco", "Mine"),
        ("own", "nocaps", "METEOR"), ("own", "coco", "METEOR"),
    ]  # fmt: skip
    charts = chart_measures([result("clip", downstream={"captioner": captioner})])
    assert list(charts) == ["CIDEr, coco (captioner)", "Mine (%), coco (captioner)"]
