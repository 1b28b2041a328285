"""Real captions: the constants are measured again."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from pairsift.studies.icc.concreteness.rated_texts import RatedTexts, read_annotations
from pairsift.studies.profile.web_likeness.statistics import Likeness, measure_likeness
from pairsift.studies.profile.web_likeness.tables import CC3M, COCO, LAION
from pairsift.studies.profile.web_likeness.tokens import read_rated_words
from tools.demo_world.faithfulness import GRADED_CAPTIONS
from tools.demo_world.graded_likeness import bits_per_character, mean_by_grade, pearson, sba_correlations

pytestmark = pytest.mark.slow


def laion(data: Path) -> list[str]:
    texts = pq.read_table(data / "laion_alt_text" / "test_10000.parquet")["TEXT"].to_pylist()
    return [text for text in texts if text]


def cc3m(data: Path) -> list[str]:
    path = data / "cc3m_val" / "Validation_GCC-1.1.0-Validation.tsv"
    return [line.split("\t")[0] for line in path.read_text(encoding="utf-8").splitlines()]


def coco(data: Path) -> list[str]:
    files = sorted(data.glob("coco_mini/annotations/*captions*.json"))
    files.append(data / "coco_golden_eval" / "small_captions_val2014.json")
    captions = [a["caption"] for file in files for a in json.loads(file.read_text())["annotations"]]
    return list(dict.fromkeys(captions))


@pytest.fixture(scope="module")
def rated(shared_data: Path) -> frozenset[str]:
    return read_rated_words(
        shared_data / "brysbaert_concreteness" / "Concreteness_ratings_Brysbaert_et_al_BRM.txt"
    )


@pytest.fixture(scope="module")
def graded(shared_data: Path) -> RatedTexts:
    return read_annotations(shared_data / "icc_annotations" / "caption_concreteness_annotations.csv")


@pytest.mark.parametrize(
    ("read", "reference"), [(laion, LAION), (cc3m, CC3M), (coco, COCO)], ids=["LAION", "CC3M", "COCO"]
)
def test_references_are_those_of_the_real_captions(
    shared_data: Path, rated: frozenset[str], read: Callable[[Path], list[str]], reference: Likeness
) -> None:
    found, expected = asdict(measure_likeness(read(shared_data), rated)), asdict(reference)
    for name, value in expected.items():
        rounding = 0.5 if value > 50 else 0.05 if name == "words_per_caption" else 0.0051
        assert found[name] == pytest.approx(value, abs=rounding), name


def test_graded_references_are_those_of_the_500_captions(shared_data: Path, graded: RatedTexts) -> None:
    web, texts, grades = laion(shared_data), graded.texts, graded.ratings
    asked = set(texts)
    for others, reference in ((cc3m(shared_data), "sba_cc3m"), (web, "sba_laion")):
        found = sba_correlations(texts, grades, others)
        assert found == pytest.approx(getattr(GRADED_CAPTIONS, reference), abs=0.0051), reference
    bits = bits_per_character(texts, [text for text in web if text not in asked][:6_000])
    assert pearson(-bits, grades) == pytest.approx(GRADED_CAPTIONS.predictability, abs=0.0051)
    assert mean_by_grade(bits, grades) == pytest.approx(GRADED_CAPTIONS.bits_per_character, abs=0.0051)
    lengths = np.array([len(text.split()) for text in texts], np.float64)
    assert mean_by_grade(lengths, grades) == pytest.approx(GRADED_CAPTIONS.words_per_caption, abs=0.051)
