import csv
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats

from benchmark.core.batch import Batch
from filters.lexicon import Lexicon
from tests.pools import numbered_uids

RATINGS = (
    'Word\tBigram\tConc.M\r\ndog\t0\t4.8\r\nHope\t0\t1.2\r\nzoo animal\t1\t5\r\n"a\t0\t1.5\r\nof\t0\t1.6\r\n'
)
MEANS = {
    "dog": 4.8,
    "A DOG's hope!": (4.8 + 1.2) / 2,
    "dog-dog, hope2of": (4.8 * 2 + 1.2 + 1.6) / 4,
    "zoo animal": np.nan,
    "": np.nan,
    "🙂 ... 42": np.nan,
    "dog " * 5000: 4.8,
}


def lexicon(path: Path) -> Lexicon:
    made = Lexicon(str(path))
    made.setup(torch.device("cpu"))
    return made


def test_mean_ratings_by_hand(tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_bytes(RATINGS.encode())
    scores = lexicon(tmp_path / "r.txt").score(Batch(numbered_uids(len(MEANS)), list(MEANS)))
    assert scores == pytest.approx([*MEANS.values()], nan_ok=True)


def test_the_500_annotated_captions(shared_data: Path) -> None:
    """Known figures, .362 / .404 / .301, count the three captions without a rated word as 0; ours have no score."""
    folder = shared_data / "brysbaert_concreteness"
    made = lexicon(folder / "Concreteness_ratings_Brysbaert_et_al_BRM.txt")
    path = shared_data / "icc_annotations" / "caption_concreteness_annotations.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    truth = np.array([float(row["concreteness_annotation"]) for row in rows])
    scores = made.score(Batch(numbered_uids(500), [row["caption"] for row in rows]))
    assert (~np.isnan(scores)).sum() == 497
    coefficients = (stats.pearsonr, stats.spearmanr, stats.kendalltau)
    with_zeros = [c(np.nan_to_num(scores), truth).statistic for c in coefficients]
    assert with_zeros == pytest.approx([0.362, 0.404, 0.301], abs=5e-4)
