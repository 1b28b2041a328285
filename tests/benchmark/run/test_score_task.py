"""``task=score``: its last line names the folder of the score parts, whatever the filter."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from omegaconf import OmegaConf

from benchmark.core.batch import Batch
from benchmark.core.uids import encode_uids
from benchmark.run.job import Job
from benchmark.run.score import score
from benchmark.scoring.score_parts import read_part
from filters.base import Filter, Scores
from filters.random import Random
from tests.pools import rows, write_pool

RANDOM = {"_target_": "filters.random.Random", "seed": 1}
OTHER = RANDOM | {"seed": 2}
FILTERS: dict[str, dict[str, Any]] = {
    "plain": RANDOM,
    "fitted": {"_target_": f"{__name__}.Fitted"},
    "composite": {
        "_target_": "filters.composite.RankSum", "filters": {"a": RANDOM, "b": OTHER}, "weights": {"a": 1, "b": 2},
    },
}  # fmt: skip


class Fitted(Filter):
    """Depends on the corpus: the share of the pool that has a shorter caption."""

    needs = frozenset({"text"})

    def fit(self, batches: Any) -> None:
        self._lengths = np.sort([len(text) for batch in batches for text in batch.texts])

    def score(self, batch: Batch) -> Scores:
        return np.searchsorted(self._lengths, [len(text) for text in batch.texts]).astype(np.float32)


@pytest.mark.parametrize("name", FILTERS)
def test_the_last_line_is_the_folder_of_the_parts(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_pool(tmp_path, [rows(3), rows(4, start=3)])
    score(job(tmp_path, FILTERS[name]))
    *_, scored, folder = capsys.readouterr().out.splitlines()
    assert scored.startswith("scored 7 pairs")
    parts = sorted(Path(folder).glob("*.parquet"))
    assert [path.name.split("-")[0] for path in parts] == ["00000000", "00000001"]
    assert [len(read_part(path)[0]) for path in parts] == [3, 4]


@pytest.mark.parametrize("count", [1, 5])
def test_the_mean_score_of_a_subset_is_printed(
    count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_pool(tmp_path, [rows(3), rows(4, start=3)])
    uids = [pair.uid for pair in rows(count)]
    (tmp_path / "subset.txt").write_text("\n".join([*uids, "f" * 32]))
    listed = {"_target_": "filters.uid_list.UidList", "path": str(tmp_path / "subset.txt")}
    cascade = {"_target_": "filters.composite.Cascade", "filters": {"first": listed, "last": RANDOM}}
    score(job(tmp_path, cascade))
    *_, scored, _ = capsys.readouterr().out.splitlines()
    scores = Random(1).score(Batch(encode_uids(uids), [""] * count))
    expected = f"; mean of {count} scores: {scores.mean(dtype=float):.4g}"
    assert scored.endswith(f" worker seconds{expected}; dropped: none")


def job(folder: Path, scorer: dict[str, Any]) -> Job:
    pool = {"_target_": "benchmark.pool.pool.Pool", "name": "p", "url": str(folder)}
    engine = {"_target_": "benchmark.engine.local.LocalEngine", "device": "cpu", "workers": 1}
    settings = {"task": {"name": "score"}, "rescore": False, "scoring": {"tolerate": 0}}
    return Job(OmegaConf.create({"pool": pool, "filter": scorer, "engine": engine} | settings), {})
