"""Exactly k readable pairs are trained on or written: the next in rank replace those that cannot be read."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
from omegaconf import OmegaConf

from benchmark.core.errors import UserError
from benchmark.core.uids import decode_uids, encode_uids, read_subset
from benchmark.pool import readable
from benchmark.pool.pool import Pool
from benchmark.pool.readable import find_unreadable
from benchmark.pool.subset import Subset
from benchmark.run.job import Job
from benchmark.run.open_samples import open_readable, open_samples
from benchmark.run.score import score_pairs
from benchmark.run.select import select_pairs, subset_path, written_subset
from tests.command_line import Run, assert_one_line
from tests.jobs import make_job
from tests.pools import Row, rows, write_metadata, write_tar

COUNT = 12  # pairs, the best first
TRUNCATED, ABSENT = (3, 8), 5
BROKEN = {*TRUNCATED, ABSENT}


def write(folder: Path) -> Path:
    """Write the pairs to the metadata, and to a tar but for one: two images there are cut off."""
    samples = rows(COUNT)
    write_metadata(folder / "metadata" / "0.parquet", samples, quality=[float(-n) for n in range(COUNT)])
    for number in TRUNCATED:
        samples[number].image = samples[number].image[:300]
    del samples[ABSENT]
    write_tar(folder / "shards" / "0.tar", samples)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "pool")


RANKED = ("filter=column", "filter.column=quality")


def settings(folder: Path | str, *others: str, ranked: Sequence[str] = RANKED) -> list[str]:
    return [
        "pool=img2dataset", f"pool.url={folder}", *ranked, "engine.workers=1", "downstream=dual_encoder",
        "models=demo", *others,
    ]  # fmt: skip


composed = cache(make_job)


def job_on(folder: Path | str, *values: str, ranked: Sequence[str] = RANKED) -> Job:
    """The job of a run with these values of settings; each command is composed once."""
    job = composed(*settings("/pool", ranked=ranked))
    job = replace(job, cfg=job.cfg.copy(), built={})
    OmegaConf.set_struct(job.cfg, False)
    job.cfg.merge_with_dotlist([f"pool.url={folder}", *values])
    return job


def opened(job: Job) -> tuple[list[int], dict[str, Any], Path]:
    """The rows of the pairs that a run would train on, the manifest on disk, and the path of the subset file."""
    subset, selected = open_readable(job, select_pairs(job, score_pairs(job)))
    assert subset.uids.tolist() == selected.selection.uids.tolist()
    assert not subset.missing
    path = written_subset(subset_path(job))
    assert read_subset(path).tolist() == subset.uids.tolist()
    assert all(subset[row].image.size for row in range(len(subset)))
    return row_numbers(decode_uids(subset.uids)), json.loads(path.with_suffix(".json").read_text()), path


def row_numbers(uids: list[str], of: list[Row] | None = None) -> list[int]:
    known = [row.uid for row in of or rows(COUNT)]
    return sorted(known.index(uid) for uid in uids)


def test_the_next_in_rank_replace_what_cannot_be_read(folder: Path) -> None:
    kept, manifest, path = opened(job_on(folder, "size.samples=8", "selection.tolerate=0.4"))
    assert kept == [0, 1, 2, 4, 6, 7, 9, 10]
    assert manifest["lost"] == {"image_missing": 1, "image_unreadable": 2}
    assert (manifest["k"], manifest["distinct"]) == (8, 8)
    assert (manifest["threshold"], manifest["scored"]) == (-10, 9)
    ranking = path.with_stem(path.stem.removesuffix("-readable"))
    assert row_numbers(decode_uids(read_subset(ranking))) == list(range(8)), "task=select reads no images"


@pytest.mark.parametrize(
    "ranked", [["filter=no_filter"], ["filter=random"], ["filter=random", "++filter.rank=false", "seed=2"]]
)
def test_the_selection_is_that_of_a_pool_of_readable_pairs(ranked: Sequence[str], tmp_path: Path) -> None:
    samples = [row for number, row in enumerate(rows(COUNT)) if number not in BROKEN]
    write_metadata(tmp_path / "mended" / "0.parquet", samples, quality=np.arange(len(samples))[::-1] * 1.0)
    write_tar(tmp_path / "mended" / "0.tar", samples)
    chosen = ["size.samples=7", "selection.tolerate=1"]
    expected = opened(job_on(tmp_path / "mended", *chosen, ranked=ranked))
    assert opened(job_on(write(tmp_path / "pool"), *chosen, ranked=ranked))[0] == expected[0]
    assert not expected[1]["lost"]
    assert "readable" not in expected[2].name


def test_with_size_all_they_are_left_out(folder: Path) -> None:
    given = ("size.samples=all", "budget=90", "selection.tolerate=0.25")
    kept, manifest, _ = opened(job_on(folder, *given))
    assert kept == [number for number in range(COUNT) if number not in BROKEN]
    assert (manifest["k"], manifest["scored"]) == (9, 9)
    job = job_on(folder, *given, "training.source=stream")
    stream, selected = open_samples(job, select_pairs(job, score_pairs(job)))
    assert (len(stream), selected.manifest.lost) == (9, {"image_missing": 1, "image_unreadable": 2})


@pytest.mark.parametrize("task", ["reshard", "export"])
def test_too_many_unreadable_pairs_stop(task: str, run: Run, folder: Path, tmp_path: Path) -> None:
    command = [f"task={task}", *settings(folder, "size.samples=8"), f"task.output={tmp_path / 'out'}"]
    assert_one_line(
        run(*command, "selection.tolerate=0"),
        "3 chosen pairs cannot be read (1 image_missing, 2 image_unreadable), more than selection.tolerate=0"
        " of 8 allows; mend the pool's images, or add selection.tolerate=0.38",
    )
    assert not list((tmp_path / "out").glob("*"))


def test_a_few_unreadable_pairs_end_nothing(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert opened(job_on(folder, "size.samples=4"))[0] == [0, 1, 2, 4]
    assert [readable.tolerated(size, 0.01) for size in (20, 500, 800)] == [5, 5, 8]
    line = "select: 1 chosen pair cannot be read (1 image_unreadable); replaced by the next in rank"
    assert line in caplog.messages


def test_a_size_above_the_readable_pairs_names_the_largest(
    folder: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readable, "FEW", 1)
    caplog.set_level("INFO")
    text = r"size asks for 11 pairs, but 9 can be read \(1 image_missing, 2 image_unreadable\); choose "
    with pytest.raises(UserError, match=text + r"size=9 or less with selection\.tolerate=0\.34"):
        opened(job_on(folder, "size.samples=11"))
    assert len(opened(job_on(folder, "size.samples=9", "selection.tolerate=0.34"))[0]) == 9
    assert "score: reusing the scores of column on all 1 shards of pool img2dataset" in caplog.messages


def test_replacements_of_a_remote_pool_are_fetched_once(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory = fsspec.filesystem("memory")
    memory.put(str(folder), "/readable", recursive=True)
    caplog.set_level("INFO")
    try:
        given = ("size.samples=8", "selection.tolerate=0.4")
        assert opened(job_on("memory://readable", *given))[0] == [0, 1, 2, 4, 6, 7, 9, 10]
        fetched = [line for line in caplog.messages if "fetching" in line]
        assert [line.split()[2] for line in fetched] == ["8", "2", "1"]
        caplog.clear()
        assert opened(job_on("memory://readable", *given))[0] == [0, 1, 2, 4, 6, 7, 9, 10]
        assert not [line for line in caplog.messages if "fetching" in line]
    finally:
        memory.rm("/readable", recursive=True)


def test_repaired_images_are_checked_again(folder: Path) -> None:
    def unreadable() -> list[int]:
        uids = np.sort(encode_uids([row.uid for row in rows(COUNT)]))
        return row_numbers(list(find_unreadable(Subset(Pool("p", str(folder)), uids), uids)))

    assert unreadable() == unreadable() == sorted(BROKEN)
    write_tar(folder / "shards" / "0.tar", rows(COUNT))
    assert unreadable() == []
