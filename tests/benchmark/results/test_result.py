from dataclasses import replace
from pathlib import Path

from benchmark.core.records import read_records, scan_records, write_record
from benchmark.results.result import Result
from tests.benchmark.results.report.made_results import metric, result, trained

METRICS = [metric("Unique-1", 2.0, curve=(1.0, 3.0)), metric("SPICE", None, "no models")]
MADE = result("clip", downstream={"captioner": trained(coco=METRICS)}, kept={"concrete": 3})


def test_a_result_is_read_back_as_it_was(tmp_path: Path) -> None:
    path = write_record(tmp_path, MADE)
    assert path == tmp_path / "demo-clip-200000-0.json"
    assert read_records(tmp_path, Result) == [MADE]


def test_a_metric_without_value_and_reason_is_damage(tmp_path: Path) -> None:
    path = write_record(tmp_path, MADE)
    path.write_text(path.read_text().replace('"reason": "no models"', '"reason": null'))
    _, (left_out,) = scan_records(tmp_path, Result)
    assert "downstream.captioner.evaluations.coco.1: " in left_out.reason
    assert "either a value or a" in left_out.reason


def test_a_record_with_nan_is_written_with_null(tmp_path: Path) -> None:
    path = write_record(tmp_path, replace(MADE, config={"lr": float("nan")}))
    assert "NaN" not in path.read_text()
    assert read_records(tmp_path, Result) == [replace(MADE, config={"lr": None})]
