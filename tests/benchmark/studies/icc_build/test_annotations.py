"""Annotations for the combination: not the captions that scorers are tested on."""

import csv
from pathlib import Path

import pytest

from benchmark.core.errors import UserError
from benchmark.studies.icc_build.captions import annotated_captions

HEADER = ["caption", "concreteness_annotation"]


def write(path: Path, rows: list[list[str]]) -> str:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([HEADER, *rows])
    return str(path)


def test_other_captions_are_read(tmp_path: Path) -> None:
    rated = annotated_captions(write(tmp_path / "a.csv", [["a dog", "3"], ["hope", "0"]]))
    assert (rated.texts, rated.ratings.tolist()) == (["a dog", "hope"], [3, 0])


def test_a_missing_file_names_the_setting(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"icc\.annotations\.path=.* does not exist"):
        annotated_captions(str(tmp_path / "none.csv"))


def test_captions_of_the_benchmark_are_refused_unless_told(tmp_path: Path, shared_data: Path) -> None:
    benchmark = shared_data / "icc_annotations" / "caption_concreteness_annotations.csv"
    with benchmark.open(encoding="utf-8-sig", newline="") as file:
        rows = [[row[name] for name in HEADER] for row in csv.DictReader(file)]
    path = write(tmp_path / "half.csv", rows[::2])
    with pytest.raises(UserError, match="holds captions of the concreteness benchmark"):
        annotated_captions(path)
    assert len(annotated_captions(path, allow_benchmark=True).texts) == 250
