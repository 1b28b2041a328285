"""The leaderboards as CSV and JSON, and the lines of ``eval_results.jsonl``."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

from benchmark.core.records import LeftOut
from benchmark.results.report.leaderboard import leaderboards
from benchmark.results.report.report_data import eval_results, leaderboards_csv, leaderboards_json
from benchmark.results.result import Result
from tests.benchmark.results.report.made_results import metric, protocol, result, trained

CIDER = replace(metric("CIDEr", 0.5), interval=(0.4, 0.6))
SPICE = metric("SPICE", None, "no models, no Java")


def run(name: str, **changes: object) -> Result:
    return result(name, downstream={"captioner": trained(coco=[CIDER, SPICE])}, **changes)


def read(results: list[Result]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(leaderboards_csv(leaderboards(results)))))


def test_a_row_per_run_evaluation_and_metric() -> None:
    rows = read([run("clip", seed=3), run("random")])
    assert [(row["filter"], row["metric"]) for row in rows] == [
        ("random", "CIDEr"), ("random", "SPICE"), ("clip", "CIDEr"), ("clip", "SPICE"),
    ]  # fmt: skip
    assert list(rows[2].items()) == [
        ("run_id", "demo-clip-200000-3"), ("protocol", "demo 200k"), ("fingerprint", protocol().fingerprint),
        ("published", ""), ("filter", "clip"), ("label", "clip"), ("family", "clip"), ("size", "200000"),
        ("k", "2000"), ("pool", "demo"), ("seed", "3"), ("model", "captioner"), ("evaluation", "coco"),
        ("metric", "CIDEr"), ("value", "0.5"), ("low", "0.4"), ("high", "0.6"), ("unit", "fraction"),
        ("higher_is_better", "True"), ("count", "10"), ("version", "v"), ("reason", ""),
    ]  # fmt: skip
    assert [rows[3][n] for n in ("value", "low", "high", "reason")] == ["", "", "", "no models, no Java"]


def test_no_text_is_a_formula_and_numbers_stay_numbers() -> None:
    for text in ("=1+1", "+1", "-1", "@A1", "\t=1\r", " =1"):
        evil = run(text, pool=text, family=text, run_id=text)
        row = read([replace(evil, downstream={text: trained(**{text: [metric(text, -0.5, None)]})})])[0]
        assert row["value"] == "-0.5"
        assert {
            row[name] for name in ("run_id", "filter", "label", "pool", "model", "evaluation", "metric")
        } == {f"'{text.strip()}"}
    assert "\x1b" not in leaderboards_csv(leaderboards([run("\x1b[31m")]))


def test_json_holds_the_leaderboards_nested() -> None:
    boards = leaderboards([run("clip"), run("clip", seed=1), run("oracle"), run("clip", size=100_000)])
    data = json.loads(leaderboards_json(boards, [LeftOut(Path("a.json"), "why")]))
    assert (data["kind"], data["left_out"]) == ("report", [{"file": "a.json", "reason": "why"}])
    smaller, board = data["leaderboards"]
    assert [(b["title"], b["k"]) for b in (smaller, board)] == [("demo 100k", 1000), ("demo 200k", 2000)]
    assert board["protocol"]["fingerprint"] == protocol().fingerprint
    assert board["protocol"]["facts"] == protocol().facts
    entries = [(e["label"], e["competes"], [r["seed"] for r in e["runs"]]) for e in board["entries"]]
    assert entries == [("clip", True, [0, 1]), ("oracle", False, [0])]
    first, second = board["entries"][0]["runs"][0]["models"]["captioner"]["coco"]
    assert (first["value"], first["interval"], second["reason"]) == (0.5, [0.4, 0.6], "no models, no Java")


def test_a_line_of_json_per_run_model_and_set() -> None:
    captioned = trained(
        coco=[metric("CIDEr", 0.9), metric("SPICE", None, "no jar")], nocaps=[metric("CIDEr", 1.0)]
    )
    both = {"a": captioned, "b": trained(coco=[metric("text_to_image_R@1", 0.2)])}
    lines = eval_results([result("icc", seed=seed, downstream=both) for seed in (0, 1)]).splitlines()
    found = [json.loads(line) for line in lines]
    assert found[0] == {
        "run": "demo-icc-200000-0", "model": "a", "evaluation": "coco", "metrics": {"CIDEr": 0.9},
    }  # fmt: skip
    assert len({(row["run"], row["model"], row["evaluation"]) for row in found}) == len(found) == 6
