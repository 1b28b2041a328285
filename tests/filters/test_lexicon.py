import csv
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from filters.lexicon import Lexicon
from tests.pools import numbered_uids

RATINGS = (
    'Word\tBigram\tConc.M\r\ndog\t0\t4.8\r\nHope\t0\t1.2\r\nzoo animal\t1\t5\r\n"a\t0\t1.5\r\nof\t0\t1.6\r\n'
)


def lexicon(path: Path) -> Lexicon:
    made = Lexicon(str(path))
    made.setup(torch.device("cpu"))
    return made


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    path = tmp_path / "r.txt"
    path.write_bytes(RATINGS.encode())
    return path


@pytest.mark.parametrize(
    ("caption", "expected"),
    [
        ("dog", 4.8),
        ("A DOG's hope!", (4.8 + 1.2) / 2),
        ("dog-dog, hope2of", (4.8 * 2 + 1.2 + 1.6) / 4),
        ("zoo animal", np.nan),
        ("", np.nan),
        ("🙂 ... 42", np.nan),
        ("dog " * 5000, 4.8),
    ],
)
def test_mean_rating_by_hand(ratings: Path, caption: str, expected: float) -> None:
    found = lexicon(ratings).score(Batch(numbered_uids(1), [caption]))
    assert found.dtype == np.float32
    assert found == pytest.approx([expected], nan_ok=True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Word,Conc.M\na,1", "no column 'Word'"),
        ("Word\tConc.M\na\tx", "Conc.M of line 2 must be a number"),
        ("Word\tConc.M\na", "Conc.M of line 2 must be a number"),
    ],
)
def test_broken_ratings(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "r.txt").write_text(content)
    with pytest.raises(UserError, match=message):
        lexicon(tmp_path / "r.txt")


def test_ratings_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"filter\.ratings=.* cannot be read"):
        lexicon(tmp_path / "absent.txt")


def test_ratings_that_are_not_given() -> None:
    with pytest.raises(UserError, match=r"needs filter\.ratings=FILE"):
        Lexicon(None)


def test_the_same_ratings_elsewhere_are_the_same_filter(ratings: Path, tmp_path: Path) -> None:
    other = tmp_path / "copy.txt"
    other.write_bytes(ratings.read_bytes())
    assert Lexicon(str(ratings)).key() == Lexicon(str(other)).key()
    other.write_bytes(ratings.read_bytes() + b"cat\t0\t4.9\r\n")
    assert Lexicon(str(ratings)).key() != Lexicon(str(other)).key()


def test_the_500_annotated_captions(shared_data: Path) -> None:
    """Known figures, .362 / .404 / .301, count the three captions without a rated word as 0; ours have no score."""
    folder = shared_data / "brysbaert_concreteness"
    made = lexicon(folder / "Concreteness_ratings_Brysbaert_et_al_BRM.txt")
    path = shared_data / "icc_annotations" / "caption_concreteness_annotations.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    truth = np.array([float(row["concreteness_annotation"]) for row in rows])
    scores = made.score(Batch(numbered_uids(500), [row["caption"] for row in rows]))
    scored = ~np.isnan(scores)
    assert scored.sum() == 497
    coefficients = (stats.pearsonr, stats.spearmanr, stats.kendalltau)
    with_zeros = [c(np.nan_to_num(scores), truth).statistic for c in coefficients]
    assert with_zeros == pytest.approx([0.362, 0.404, 0.301], abs=5e-4)
    without = [c(scores[scored], truth[scored]).statistic for c in coefficients]
    assert without == pytest.approx([0.385, 0.407, 0.304], abs=5e-4)
