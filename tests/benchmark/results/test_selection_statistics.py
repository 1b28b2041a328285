from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmark.core.uids import encode_uids
from benchmark.pool.pool import Pool
from benchmark.results import selection_statistics
from benchmark.results.run_folder import (
    Fractions,
    Histogram,
    RunFiles,
    SelectionSummary,
    write_selection_summary,
)
from benchmark.results.selection_statistics import BINS, OUTLIERS, WORDS, changed_words, histogram, summarise
from benchmark.scoring.score_table import ScoreTable
from tests.pools import Row, rows, write_metadata


def pool_of(folder: Path, captions: Sequence[str], **columns: Sequence[int | None]) -> tuple[Pool, list[Row]]:
    samples = [Row(f"{i}", f"http://x/{text}", text, b"") for i, text in enumerate(captions)]
    write_metadata(folder / "0.parquet", samples, **columns)
    return Pool("p", str(folder)), samples


def summary_of(pool: Pool, samples: Sequence[Row], kept: Sequence[int]) -> SelectionSummary:
    """The summary where the samples with the numbers `kept` are selected."""
    uids = encode_uids([sample.uid for sample in samples])
    order = np.argsort(uids)
    selected = np.isin(np.arange(len(samples)), kept)[order]
    scores = selected.astype(float)
    chosen = ScoreTable(uids[order][selected], scores[selected])
    return summarise(ScoreTable(uids[order], scores), chosen, pool)


def counted(pool: np.ndarray, kept: np.ndarray) -> Histogram:
    return histogram([pool, kept], [pool, kept])


def test_every_score_is_counted_but_nan() -> None:
    scores = np.random.default_rng(0).normal(size=5000).astype(np.float32)
    scores[:7] = np.nan
    found = counted(scores, scores[scores > 1])
    assert len(found.pool) == len(found.kept) == len(found.edges) - 1 == BINS
    assert (sum(found.pool), sum(found.kept)) == (4993, (scores > 1).sum())
    expected = np.histogram(scores[7:], found.edges)[0]
    assert found.pool[1:-1] == tuple(expected[1:-1])  # the outer bins hold outliers too
    low = np.quantile(scores[7:], OUTLIERS, method="nearest")
    high = np.quantile(
        scores[scores > 1], 1 - OUTLIERS, method="nearest"
    )  # of the sample that has the higher end
    assert (found.edges[0], found.edges[-1]) == (low, high)
    outliers = np.append(np.random.default_rng(0).uniform(size=10_000), [1e9, -1e9])
    assert max(counted(outliers, outliers[:100]).pool) < 1000  # a few do not flatten the histogram


@pytest.mark.parametrize(
    "scores",
    [[0.3] * 4, [7] * 4, [3e38] * 4, [np.inf] * 4, [-np.inf, 0.1, 0.7, np.inf], [-np.inf, -np.inf, np.inf, np.nan]],
)  # fmt: skip
def test_infinite_and_constant_scores_are_counted(scores: list[float]) -> None:
    found = counted(np.array(scores), np.array(scores[2:3]))
    assert np.isfinite(found.edges).all()
    assert (np.diff(found.edges) > 0).all()
    assert sum(found.pool) == 4 - np.isnan(scores).sum()
    assert sum(found.kept) == 1


def test_whole_numbers_have_a_bin_each_or_as_many_in_every_bin() -> None:
    few = counted(np.array([0, 1, 1, 3]), np.array([3]))
    assert (few.edges, few.pool, few.kept) == ((-0.5, 0.5, 1.5, 2.5, 3.5), (1, 2, 0, 1), (0, 0, 0, 1))
    many = counted(np.arange(200), np.arange(20))
    assert len(many.pool) <= BINS
    assert set(many.pool) == {4}


def test_captions_of_pool_and_kept_pairs_are_counted(tmp_path: Path) -> None:
    captions = ["a red car", "dog", "a dog on a beach", "buy now"]
    widths = {"original_width": [640, 500, None, 80], "original_height": [480, 900, 300, 90]}
    pool, samples = pool_of(tmp_path, captions, **widths)
    summary = summary_of(pool, samples, [0, 2])
    assert summary.sampled == (4, 2)
    words = summary.histograms["words per caption"]
    assert (words.pool, words.kept) == ((1, 1, 1, 0, 1), (0, 0, 1, 0, 1))
    assert sum(summary.histograms["characters per caption"].pool) == 4
    sides = summary.histograms["shorter side of the image (pixels)"]
    assert (sides.edges[0], sum(sides.pool), sum(sides.kept)) == (79.5, 3, 1)
    assert summary.words["a"] == Fractions(0.5, 1.0)


def test_the_words_that_change_most_come_first_and_are_few() -> None:
    pool = ["a cat", "a dog", *(f"a {'x' * n}" for n in range(1, 60)), "1984 --"]
    shares = changed_words(pool, ["a Cat", "a cat cat"])
    assert next(iter(shares)) == "cat"
    assert shares["cat"] == Fractions(round(1 / len(pool), 6), 1.0)
    assert len(shares) == WORDS
    assert all(len(word) <= 40 for word in shares)


def test_the_sample_is_bounded_and_depends_on_uids_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection_statistics, "SAMPLE", 10)
    captions = [f"number {'x' * n}" for n in range(50)]
    first = summary_of(*pool_of(tmp_path / "a", captions), range(5))
    assert first.sampled == (10, 5)
    assert summary_of(*pool_of(tmp_path / "b", captions[::-1]), range(45, 50)) == first


def test_without_a_pool_scores_alone_are_counted(tmp_path: Path) -> None:
    uids, scores = np.sort(encode_uids([row.uid for row in rows(3)])), np.array([1.0, 2.0, 3.0])
    summary = summarise(ScoreTable(uids, scores), ScoreTable(uids[2:], scores[2:]), None)
    assert (summary.sampled, summary.histograms, summary.words) == ((0, 0), {}, {})
    assert (sum(summary.scores.pool), sum(summary.scores.kept)) == (3, 1)
    assert RunFiles(tmp_path).summary() is None
    write_selection_summary(tmp_path, summary)
    assert RunFiles(tmp_path).summary() == summary
