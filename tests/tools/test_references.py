"""Real captions: the constants are measured again, and the statistics agree with the script that defined them."""

import importlib.util
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmark.studies.concreteness.rated_texts import RatedTexts, read_annotations
from benchmark.studies.web_likeness.references import CC3M, COCO, LAION
from benchmark.studies.web_likeness.statistics import Likeness, measure_likeness
from benchmark.studies.web_likeness.tokens import read_rated_words
from tools.demo_world.faithfulness import GRADED_CAPTIONS
from tools.demo_world.graded_likeness import (
    bits_per_character,
    mean_by_grade,
    measure_graded,
    pearson,
    sba_correlations,
)

pytestmark = pytest.mark.slow
# `make test-slow` measures the constants again; that the script would, too, is checked before a release.


def laion(data: Path) -> list[str]:
    texts = pq.read_table(data / "laion_alt_text" / "test_10000.parquet")["TEXT"].to_pylist()
    return [text for text in texts if text]


def cc3m(data: Path) -> list[str]:
    path = data / "cc3m_val" / "Validation_GCC-1.1.0-Validation.tsv"
    return [line.split("\t")[0] for line in path.read_text(encoding="utf-8").splitlines()]


def coco(data: Path) -> list[str]:
    files = [
        *sorted(data.glob("coco_mini/annotations/*captions*.json")),
        data / "coco_golden_eval" / "small_captions_val2014.json",
    ]
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


@pytest.fixture(scope="module")
def script(shared_data: Path) -> ModuleType:
    path = shared_data.parent / "tools" / "web_likeness.py"
    if not path.is_file():
        pytest.skip(f"no {path}, which defined the statistics")
    spec = importlib.util.spec_from_file_location("web_likeness_script", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.full
def test_statistics_agree_with_the_defining_script(
    shared_data: Path, rated: frozenset[str], script: ModuleType
) -> None:
    texts = laion(shared_data)
    grades = [-len(text.split()) for text in texts]
    expected = script.statistics(texts, grades)
    found, by_grade = measure_likeness(texts, rated), measure_graded(texts, grades)
    assert {
        "word types": found.word_types,
        "Heaps exponent (3,500 to 35,000)": round(found.heaps_exponent, 2),
        "distinct 2-grams": round(found.distinct_bigrams, 2),
        "distinct 3-grams": round(found.distinct_trigrams, 2),
        "trigram perplexity": round(found.trigram_perplexity),
        "unseen words %": round(100 * found.unseen_words, 1),
        "bits a caption (character 7-grams)": round(found.bits_per_caption),
        "bits a character": round(found.bits_per_character, 2),
        "exact repeats in 4,000 %": round(100 * found.exact_repeats, 1),
        "near copies %": round(100 * found.near_copies, 1),
        "words, mean": round(found.words_per_caption, 1),
        "rated words %": round(100 * found.rated_words),
        "words with digits %": round(100 * found.digit_words, 1),
        "other unrated words %": round(100 * found.other_words, 1),
        "URL or file name %": round(100 * found.web_strings, 1),
        "minus bits a character against grade, r": round(by_grade.predictability, 2),
        "bits a character, lowest quarter over highest tenth": round(by_grade.bits_ratio, 2),
    }.items() <= expected.items()
    raw, standard = (float(r) for r in expected[next(n for n in expected if "SBA" in n)].split(";"))
    assert (by_grade.sba, by_grade.sba_standardised) == pytest.approx((raw, standard), abs=0.0101)
