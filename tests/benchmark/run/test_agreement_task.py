"""``task=agreement``: numbers beside definitions written out, intervals beside full bootstraps, and the files."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from PIL import Image

from benchmark.core.uids import decode_uids, encode_uids
from benchmark.run import agreement as module
from benchmark.run.agreement import MEASURES, Agreement, compare, measures
from filters.base import Scores
from tests.command_line import Run, assert_one_line
from tests.extras import hide_extra
from tests.pools import hashed_uids, rows, write_metadata

TITLES = ("first", "second", "pairs", "measure", "value", "low", "high", "reason")


def correlated(n: int, seed: int, ties: bool = False) -> tuple[Scores, Scores]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n).astype(np.float32)
    y = x + rng.normal(size=n)
    return x, np.round(y) if ties else y


def found(x: Scores, y: Scores, fraction: float = 0.3, seed: int = 0) -> Agreement:
    return compare("x", "y", x, y, np.sort(hashed_uids(len(x))), fraction, seed)


@pytest.mark.parametrize("ties", [False, True])
def test_measures_are_their_definitions(ties: bool) -> None:
    x, y = correlated(60, 1, ties)
    uids = hashed_uids(60)
    spearman, kendall, first, second, overlap, jaccard = measures(x, y, uids, 0.25, 0)
    assert spearman == pytest.approx(scipy.stats.spearmanr(x, y).statistic)
    signs = [np.sign(np.subtract.outer(of, of))[np.triu_indices(60, 1)] for of in (x, y)]
    untied = np.sqrt([np.count_nonzero(of) for of in signs]).prod()
    assert kendall == pytest.approx((signs[0] * signs[1]).sum() / untied)
    kept = [set(module.highest(of, uids, 15, 0).tolist()) for of in (x, y)]
    for area, scores, others in ((first, x, kept[1]), (second, y, kept[0])):
        pairs = [(scores[i], scores[j]) for i in others for j in set(range(60)) - others]
        assert area == pytest.approx(np.mean([(a > b) + (a == b) / 2 for a, b in pairs]))
    assert overlap == len(kept[0] & kept[1]) / 15
    assert jaccard == len(kept[0] & kept[1]) / len(kept[0] | kept[1])


def test_pairs_without_one_of_the_scores_are_left_out() -> None:
    x, y = correlated(100, 2)
    x[:20] = y[90:] = np.nan
    whole = found(x, y)
    uids = np.sort(hashed_uids(100))[20:90]
    assert whole.pairs == 70
    assert np.array_equal(whole.values, compare("x", "y", x[20:90], y[20:90], uids, 0.3, 0).values)


@pytest.mark.parametrize(
    ("x", "fraction", "reason"),
    [
        ([1, 2, np.nan, np.nan], 0.3, "2 pairs have both scores, and 3 are needed"),
        ([1, 1, 1, 1], 0.3, "all scores of x are equal"),
        ([1, 2, 3, 4], 0.1, "task.fraction=0.1 of 4 pairs keeps 0"),
        ([np.nan] * 4, 0.3, "0 pairs have both scores, and 3 are needed"),
    ],
)
def test_what_is_not_defined_has_a_reason(x: list[float], fraction: float, reason: str) -> None:
    undefined = found(np.array(x), np.arange(4.0), fraction)
    assert undefined.reason == reason
    assert np.isnan(undefined.values).all()
    assert {row["value"] for row in module.measure_rows(undefined)} == {None}


@pytest.mark.parametrize("ties", [False, True])
def test_intervals_of_small_resamples_are_those_of_whole_ones(
    ties: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = correlated(4_000, 3, ties)
    whole = found(x, y).values
    monkeypatch.setattr(module, "DRAWN", 500)
    small = found(x, y, seed=1).values
    widths = [values[:, 2] - values[:, 1] for values in (whole, small)]
    assert widths[1] == pytest.approx(widths[0], rel=0.25)
    assert small[:, 1] == pytest.approx(whole[:, 1], abs=0.2 * widths[0].max())


@pytest.mark.full
def test_intervals_cover_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 100 draws of 600 pairs, 95% intervals by resamples of 150 pairs have the value of a million pairs in 95%."""
    monkeypatch.setattr(module, "DRAWN", 150)
    monkeypatch.setattr(module, "RESAMPLES", 100)
    truth = measures(*correlated(1_000_000, 99), hashed_uids(1).repeat(1_000_000), 0.3, 0)
    intervals = np.array([found(*correlated(600, seed), seed=seed).values for seed in range(100)])
    covered = ((intervals[:, :, 1] <= truth) & (truth <= intervals[:, :, 2])).mean(0)
    assert (covered > 0.86).all(), covered


@pytest.fixture
def pool(tmp_path: Path) -> list[str]:
    """Forty pairs, of which people graded the last thirty."""
    samples = rows(40)
    write_metadata(tmp_path / "pool" / "a.parquet", samples)
    uids = np.sort(encode_uids([row.uid for row in samples]))
    lines = [f"{uid},{n % 5}" for n, uid in enumerate(decode_uids(uids)[10:])]
    (tmp_path / "grades.csv").write_text("uid,grade\n" + "\n".join(lines))
    return [
        "task=agreement", "pool=img2dataset", f"pool.url={tmp_path / 'pool'}", "engine.workers=1",
        f"task.filters.people.path={tmp_path / 'grades.csv'}", "task.filters.people.column=grade",
        f"results_dir={tmp_path / 'results'}",
    ]  # fmt: skip


def test_scores_are_compared_with_grades(run: Run, pool: list[str]) -> None:
    done = run(*pool, "task.filters=[random,people=score_file]", "task.filters.people.maximum=3")
    assert done.returncode == 0, done.stderr
    *_, table, text, vector, picture = map(Path, done.stdout.splitlines())
    assert "random, people" in done.stdout
    (_, *listed) = csv.reader(table.open())
    assert [row[:4] for row in listed] == [["random", "people", "24", measure] for measure in MEASURES]
    record = json.loads(text.read_text())
    assert record["fraction"] == 0.3
    assert set(record["filters"]) == {"random", "people"}
    for row, values in zip(record["agreement"], listed, strict=True):
        assert tuple(row) == TITLES
        assert row["low"] <= row["value"] <= row["high"]
        assert [row[name] for name in ("value", "low", "high")] == list(map(float, values[4:7]))
    assert "<svg" in vector.read_text()[:1_000]
    assert min(Image.open(picture).size) > 400


def test_six_filters_have_fifteen_rows(run: Run, pool: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RESAMPLES", 20)
    six = "task.filters=[a=random,b=no_filter,people=score_file,d=score_file,e=rank_sum,f=random]"
    parts = [f"filter@task.filters.e.filters.{part}=random" for part in "ab"]
    same = [pool[4].replace("people", "d"), pool[5].replace("people", "d")]
    done = run(*pool, six, *parts, *same)
    assert done.returncode == 0, done.stderr
    *_, text, vector, _ = map(Path, done.stdout.splitlines())
    record = json.loads(text.read_text())["agreement"]
    assert len(record) == 15 * len(MEASURES)
    assert "a, b: not defined, all scores of b are equal" in done.stdout
    equal = [row for row in record if (row["first"], row["second"]) == ("people", "d")]
    assert [round(row["value"], 6) for row in equal][:2] == [1, 1]
    assert [row["value"] for row in equal][4:] == [1, 1]
    assert "people" in vector.read_text()


def test_without_matplotlib_there_is_no_picture(
    run: Run, pool: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hide_extra("studies", monkeypatch)
    done = run(*pool, "task.filters=[random,people=score_file]")
    assert done.returncode == 0, done.stderr
    assert [Path(line).suffix for line in done.stdout.splitlines()[-2:]] == [".csv", ".json"]
    assert "agreement: no picture: " in caplog.text


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([], "task=agreement needs filters to compare; add task.filters=[icc,clip]"),
        (["task.filters=[random]"], "task=agreement needs filters to compare"),
        (["task.filters=[random,random]"], "task.filters=[random,random] must list filters, each by another name"),
        (["task.filters={random}"], "task.filters={random} must list filters"),
        (["task.filters=[random,rando]"], "filter=rando is unknown; did you mean 'random'?"),
        (["task.filters=[random,g=score_file]"], "task.filters.g.path is not given"),
        (["task.filters=[random,g=score_file]", "task.filters.g.path=/no.csv"], "filter.path=/no.csv not found"),
        (["task.filters=[random,icc]", "task.fraction=30"], "task.fraction=30 must be a number from 0 to 1"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(run: Run, pool: list[str], given: list[str], says: str) -> None:
    assert_one_line(run(*pool[:4], pool[-1], *given), says)
