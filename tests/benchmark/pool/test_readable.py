"""Exactly k pairs are trained on or written, or the command stops before it starts."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmark.core.uids import encode_uids, read_subset
from benchmark.pool.pool import Pool
from benchmark.pool.readable import unreadable_images
from benchmark.pool.subset import Subset
from benchmark.run.open_samples import note_lost, open_subset
from benchmark.run.score import score_pairs
from benchmark.run.select import select_pairs
from tests.command_line import Run, assert_one_line
from tests.jobs import make_job
from tests.pools import rows, write_metadata, write_tar

K = 8


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Eight pairs in the metadata: one in no tar, one with a truncated image."""
    samples = rows(K)
    write_metadata(tmp_path / "pool" / "metadata" / "0.parquet", samples)
    samples[3].image = samples[3].image[:300]
    write_tar(tmp_path / "pool" / "shards" / "0.tar", samples[:-1])
    return tmp_path / "pool"


@pytest.fixture
def settings(folder: Path) -> list[str]:
    return [
        "pool=img2dataset", f"pool.url={folder}", "filter=random", f"size.samples={K}", "engine.workers=1",
        "downstream=dual_encoder",
    ]  # fmt: skip


LINE = "2 of the 8 selected pairs cannot be read (1 image_missing, 1 image_unreadable), which leaves 6"


@pytest.mark.parametrize("task", ["reshard", "train"])
def test_fewer_than_k_readable_pairs_stop(task: str, run: Run, settings: list[str], tmp_path: Path) -> None:
    output = [f"task.output={tmp_path / 'out'}"] if task == "reshard" else ["models=demo", "budget=2m"]
    done = run(f"task={task}", *settings, *output, "selection.tolerate=0.2")
    assert_one_line(done, f"{LINE}; complete the pool's images")
    assert "selection.tolerate=0.25" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_share_may_be_missing_if_it_is_allowed(
    run: Run, settings: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    done = run("task=reshard", *settings, f"task.output={tmp_path / 'out'}", "selection.tolerate=0.25")
    assert done.returncode == 0
    (line,) = [message for message in caplog.messages if "cannot be read" in message]
    assert line == f"subset: {LINE.partition(', which')[0]}; selection.tolerate=0.25 allows it"
    assert len(read_subset(tmp_path / "out" / "sample_ids.npy")) == K - 1
    assert_one_line(run("task=select", *settings, "selection.tolerate=-1"), "must be a number from 0 to 1")


def test_the_manifest_counts_what_was_allowed_to_be_lost(
    settings: list[str],
) -> None:
    job = make_job(*settings)
    selected = select_pairs(job, score_pairs(job))
    subset = open_subset(job.pool, selected.selection, tolerate=0.25)
    noted = note_lost(selected, subset).manifest
    assert noted.lost == subset.lost == {"image_missing": 1, "image_unreadable": 1}
    assert noted.readable == K - 2
    assert json.loads(selected.paths[0].with_suffix(".json").read_text())["lost"] == noted.lost


def test_repaired_images_are_checked_again(folder: Path) -> None:
    def lost() -> dict[str, int]:
        subset = Subset(Pool("p", str(folder)), np.sort(encode_uids([row.uid for row in rows(K)])))
        return dict(unreadable_images(subset, "sha256 of the uids"))

    assert lost() == {"image_unreadable": 1}
    write_tar(folder / "shards" / "0.tar", rows(K))
    assert lost() == {}
