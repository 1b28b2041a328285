"""DataComp's basic filter and LAION-2B-en: languages, sizes and lengths by hand, and the English of real captions."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from benchmark.core.batch import Batch
from benchmark.core.uids import decode_uids, encode_uids
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import score_pool
from filters.basic import Basic
from filters.clip import Clip
from filters.english import English, language_detector
from filters.laion2b import laion2b
from filters.random import Random
from tests.extras import needs_extra
from tests.pools import Row, numbered_uids, write_metadata

pytestmark = needs_extra("language")

CLIP: dict[str, str | None] = {"model": "unused", "pretrained": None}
CAPTION = "a red bicycle in front of an old house"
SIZES = [
    (200, 200, True), (199, 400, False), (400, 199, False), (600, 200, True), (601, 200, False), (200, 601, False),
    (0, 0, False), (None, 480, False), (np.nan, 480, False),
]  # an aspect ratio of 3 is kept  # fmt: skip
TEXTS = {
    CAPTION: True,
    "the red dog": True,
    "red dog": False,  # two words
    "a b c": False,  # five characters
    "a  red   dog\n": True,
    "Ein rotes Fahrrad vor einem alten Haus": False,
    "Un vélo rouge devant une vieille maison": False,
    "赤い 自転車 と 古い 家 の 写真": False,
    "": False,
}


def kept(made: Basic, text: str, width: object = 640, height: object = 480) -> bool:
    columns = {"original_width": np.array([width]), "original_height": np.array([height])}
    (score,) = made.score(Batch(numbered_uids(1), [text], columns=columns))
    assert np.isnan(score) or score == 1
    return bool(score == 1)


def test_sizes_and_captions_by_hand() -> None:
    made, small = Basic(minimum_side=200), Basic(minimum_side=128)
    for filter_ in (made, small):
        filter_.setup(torch.device("cpu"))
    assert [kept(made, CAPTION, *size) for *size, _ in SIZES] == [expected for *_, expected in SIZES]
    assert {text: kept(made, text) for text in TEXTS} == TEXTS
    assert [kept(small, CAPTION, width, 128) for width in (128, 127)] == [True, False]
    assert small.key() != made.key()


def test_english_is_1_and_the_rest_is_absent() -> None:
    made = English()
    made.setup(torch.device("cpu"))
    texts = ["a dog on the beach", "un perro en la playa con su amo", "a dog\non the beach"]
    scores = made.score(Batch(numbered_uids(3), texts))
    assert scores == pytest.approx(np.array([1, np.nan, 1], np.float32), nan_ok=True)


def test_real_captions_are_english(shared_data: Path) -> None:
    """CC3M's are all English; the fraction of LAION-400M's is in laion2b's header. gcld3 finds 5,072 of these."""
    language = language_detector()
    lines = (shared_data / "cc3m_val" / "Validation_GCC-1.1.0-Validation.tsv").read_text("utf-8").splitlines()
    assert np.mean([language(line.split("\t")[0]) == "en" for line in lines[:2000]]) > 0.99
    path = shared_data / "laion_alt_text" / "test_10000.parquet"
    if not path.exists():
        pytest.skip("needs laion_alt_text")
    texts = pq.read_table(path, columns=["TEXT"])["TEXT"].to_pylist()
    made = English()
    made.setup(torch.device("cpu"))
    scores = made.score(Batch(numbered_uids(len(texts)), texts))
    assert (scores == 1).sum() == pytest.approx(8888, abs=10)


def test_pairs_above_the_bound_of_a_column_are_in_a_random_order(tmp_path: Path) -> None:
    captions = [
        "a dog on the beach",
        "un perro en la playa con su amo",
        "a boat at sea in the evening",
        "a bicycle",
    ]
    samples = [Row(f"{n:05d}", f"u{n}", text, b"") for n, text in enumerate(captions)]
    column = np.array([0.28, 0.4, 0.27, 0.3], np.float32)
    write_metadata(tmp_path / "metadata" / "0.parquet", samples, clip_b32_similarity_score=column)
    made = laion2b(CLIP, "clip_b32_similarity_score", 0.28)
    table = score_pool(Pool("p", str(tmp_path)), made, LocalEngine("cpu"))
    by_uid = dict(zip(decode_uids(table.uids), table.scores.tolist(), strict=True))
    drawn = Random(0).score(Batch(encode_uids([s.uid for s in samples]), captions))
    expected = np.where([True, False, False, True], drawn, np.nan)
    assert [by_uid[s.uid] for s in samples] == pytest.approx(expected.tolist(), nan_ok=True)


def test_without_a_column_a_clip_scores() -> None:
    made = laion2b(CLIP, None, 0.28)
    assert isinstance(made.filters["clip"], Clip)
    assert made.needs == {"text", "image"}
