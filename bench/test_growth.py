"""The tables of docs/performance.md: the text of a row, and one file for the rows of all tables."""

import json
from pathlib import Path

import pytest

from bench import measured_once, measurement
from bench.growth import BEGIN, END, growth
from bench.measured_once import measure_once
from bench.measurement import Usage, compare


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(measurement, "ROWS", tmp_path / "performance.json")
    monkeypatch.setattr(measurement, "PAGE", tmp_path / "performance.md")
    marks = [measurement.BEGIN, measurement.END, "between", BEGIN, END]
    marks += ["between", measured_once.BEGIN, measured_once.END]
    (tmp_path / "performance.md").write_text("\n".join(marks))
    return tmp_path / "performance.md"


def quadratic(pairs: int) -> Usage:
    return Usage(1.0, pairs**2 / 1e6, pairs / 2**20, pairs / 2**21)


def test_growth_is_the_slope_from_the_second_size_to_the_last(page: Path) -> None:
    row = growth("compare all", (10, 2000, 8000), quadratic)
    assert row.exponent == pytest.approx(2)
    assert (row.bytes_per_pair, row.anonymous_bytes_per_pair) == pytest.approx((1024, 512))
    assert "| compare all | 10 / 2,000 / 8,000 | 0.0001 / 4 / 64 | 2.00 |" in page.read_text()


def test_rows_that_a_page_lists_stay_when_others_are_measured(page: Path) -> None:
    growth("one", (1, 2, 3), quadratic)
    compare("two", lambda: quadratic(5), "reference", lambda: quadratic(6))
    measure_once("four", lambda: Usage(468.2, 713.9, 1.5, 0.25), "150 s")
    growth("three", (1, 2, 3), quadratic)
    first, second, third = page.read_text().split("between")
    assert ("| two |" in first, "| one |" in first) == (True, False)
    assert ("| one |" in second, "| three |" in second, "| two |" in second) == (True, False, False)
    assert "| four | 468 | 714 | 1.50 | 0.25 | 150 s |" in third
    assert third.count("| 20") == 1
    assert list(json.loads(page.with_suffix(".json").read_text())) == ["one", "two", "four", "three"]
