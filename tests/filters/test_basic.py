from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from benchmark.core.batch import Batch
from filters.basic import Basic
from filters.english import english_detector
from tests.extras import needs_extra
from tests.pools import numbered_uids

pytestmark = needs_extra("language")

CAPTION = "a red bicycle in front of an old house"


@pytest.fixture(scope="module")
def made() -> Basic:
    made = Basic(minimum_side=200)
    made.setup(torch.device("cpu"))
    return made


def kept(made: Basic, text: str, width: object = 640, height: object = 480) -> bool:
    columns = {"original_width": np.array([width]), "original_height": np.array([height])}
    score = made.score(Batch(numbered_uids(1), [text], columns=columns))
    assert (score.shape, score.dtype) == ((1,), np.float32)
    assert np.isnan(score[0]) or score[0] == 1
    return bool(score[0] == 1)


@pytest.mark.parametrize(
    ("width", "height", "expected"),
    [
        (200, 200, True),
        (199, 400, False),
        (400, 199, False),
        (600, 200, True),  # an aspect ratio of 3 is kept
        (601, 200, False),
        (200, 601, False),
        (0, 0, False),
        (None, 480, False),
        (np.nan, 480, False),
    ],
)
def test_image_sizes_by_hand(made: Basic, width: object, height: object, expected: bool) -> None:
    assert kept(made, CAPTION, width, height) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CAPTION, True),
        ("the red dog", True),
        ("red dog", False),  # two words
        ("a b c", False),  # five characters
        ("a  red   dog\n", True),
        ("Ein rotes Fahrrad vor einem alten Haus", False),
        ("Un vélo rouge devant une vieille maison", False),
        ("赤い 自転車 と 古い 家 の 写真", False),
        ("", False),
    ],
)
def test_captions_by_hand(made: Basic, text: str, expected: bool) -> None:
    assert kept(made, text) == expected


def test_smaller_images_where_the_config_says_so() -> None:
    small = Basic(minimum_side=128)
    small.setup(torch.device("cpu"))
    assert kept(small, CAPTION, 128, 128)
    assert not kept(small, CAPTION, 127, 128)
    assert small.key() != Basic(minimum_side=200).key()


@pytest.mark.parametrize(
    "text", ["", " ", "🙂🙂🙂", "?!...", "word " * 2000, "x" * 10_000, "a\u2028b\r\n\x00c", "{x} %s"]
)
def test_any_text_has_a_language_or_none(text: str) -> None:
    assert english_detector()(text) in (True, False)


def test_real_captions_are_english(shared_data: Path) -> None:
    """CC3M's are all English; of LAION-400M's raw alt texts, names and product codes among them, most are."""
    is_english = english_detector()
    lines = (shared_data / "cc3m_val" / "Validation_GCC-1.1.0-Validation.tsv").read_text("utf-8").splitlines()
    assert np.mean([is_english(line.split("\t")[0]) for line in lines[:2000]]) > 0.99
    texts = pq.read_table(shared_data / "laion_alt_text" / "test_1000.parquet")["TEXT"].to_pylist()
    assert 0.8 < np.mean([is_english(text) for text in texts if text]) < 0.95
