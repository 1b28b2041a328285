"""The files in the folder of a run, for local and remote pools."""

from pathlib import Path

import fsspec
import numpy as np
import pytest

from benchmark.core.uids import encode_uids
from benchmark.results.run_folder import RunFiles
from benchmark.run.job import _log_once
from benchmark.run.open_samples import open_subset
from benchmark.run.run import describe
from benchmark.run.select import Selected
from benchmark.scoring.score_table import ScoreTable
from benchmark.selection.top_k import select_top_k
from tests.benchmark.results.report.made_results import result
from tests.jobs import make_job
from tests.pools import rows, write_pool


def leave(url: str, folder: Path) -> None:
    """Write the files of a run that keeps 10 of the 40 pairs of a pool."""
    job = make_job(
        "filter=random", "pool=img2dataset", f"pool.url={url}", "pool.name=p", "downstream=dual_encoder"
    )
    uids = np.sort(encode_uids([row.uid for row in rows(40)]))
    table = ScoreTable(uids, np.arange(40, dtype=np.float32))
    selection = select_top_k(table, 10, seed=0)
    selected = Selected(selection, result("icc").selection, [], table)
    describe(job, folder, selected, open_subset(job.pool, selection))


def test_a_local_pool_is_summed_up_and_shown(tmp_path: Path) -> None:
    leave(str(write_pool(tmp_path / "pool", [rows(40)])), tmp_path)
    summary = RunFiles(tmp_path).summary()
    assert summary
    assert (sum(summary.scores.pool), sum(summary.scores.kept), summary.sampled) == (40, 10, (40, 10))
    assert list(summary.histograms) == ["words per caption", "characters per caption"]  # no sides are known
    pairs = RunFiles(tmp_path).gallery()
    assert len(pairs) == 24
    assert all(pair.thumbnail and pair.caption for pair in pairs)
    assert RunFiles(tmp_path).examples() == []  # no captioner is trained


def test_a_remote_pool_is_not_read_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    local = write_pool(tmp_path / "pool", [rows(40)])
    fsspec.filesystem("memory").put(str(local), "/run_files", recursive=True)
    caplog.set_level("INFO")
    leave("memory://run_files", tmp_path)
    summary = RunFiles(tmp_path).summary()
    assert summary
    assert (sum(summary.scores.pool), sum(summary.scores.kept)) == (40, 10)
    assert (summary.sampled, summary.histograms) == ((0, 0), {})
    pairs = RunFiles(tmp_path).gallery()
    assert {pair.place for pair in pairs} == {"top", "kept"}
    assert all(pair.thumbnail and pair.caption for pair in pairs)
    assert "pool p has no local tars" in caplog.text


def test_missing_metrics_are_noticed_only_where_something_is_captioned(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pytest.importorskip("pairsift")  # the demo's evaluation sets
    caplog.set_level("INFO")
    _log_once.cache_clear()  # of tests before this one
    for models, names in (("captioner", ["Polos weights for Polos"]), ("dual_encoder", [])):
        found = make_job("metrics=polos", f"downstream={models}").requirements("run")
        of_metrics = next(of_part for part, of_part in found.items() if part.startswith("metrics"))
        assert [requirement.name for requirement in of_metrics] == names
        assert ("writes no captions, so no metric" in caplog.text) == (models == "dual_encoder")
