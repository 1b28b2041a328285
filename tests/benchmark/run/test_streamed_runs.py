"""A selection opened as a stream: resharded once, or read where it is."""

import functools
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.core.batch import Sample
from benchmark.core.errors import UserError
from benchmark.pool.streamed_subset import StreamedSubset
from benchmark.run.identity import training_fingerprint
from benchmark.run.job import Job
from benchmark.run.open_samples import open_samples, open_stream
from benchmark.run.score import score_pairs
from benchmark.run.select import select_pairs, write_chosen
from benchmark.selection.selection import Selection
from downstream.training.train_report import TrainReport
from downstream.training.trainer import Trainer
from downstream.training.training_data import SampleOrder, TrainingData
from tests.downstream.tiny_models import Recorder
from tests.downstream.training.test_trainer import CPU, Guess, config
from tests.jobs import make_job
from tests.pools import rows, write_pool, write_tar

ALL = ("filter=no_filter", "size=all", "budget=100")


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    return write_pool(tmp_path / "pool", [rows(20), rows(20, start=20)])


composed = functools.cache(make_job)


def streamed(pool: Path, *settings: str) -> Job:
    """The job of a run; one with the same settings is composed once."""
    given = ("pool=img2dataset", "models=demo", "engine.workers=1", "training.source=stream")
    job = composed(*given, *settings)
    job = replace(job, cfg=job.cfg.copy(), built={})
    job.cfg.pool.url = str(pool)
    return job


def opened(pool: Path, *settings: str, shards: Path | None = None, tolerate: float = 0.01) -> StreamedSubset:
    job = streamed(pool, *settings)
    job.cfg.training.shards = shards and str(shards)
    job.cfg.selection.tolerate = tolerate
    stream, _ = open_samples(job, select_pairs(job, score_pairs(job)))
    assert isinstance(stream, StreamedSubset)
    return stream


def captions(stream: StreamedSubset) -> set[str]:
    return {
        stream.decode(files).text
        for n in range(len(stream.sizes))
        for files in stream.read(n, 0, stream.sizes[n])
    }


def test_the_selected_pairs_are_resharded_once(tmp_path: Path, cache: Path) -> None:
    samples = rows(40)
    for row in samples:
        row.files = row.members() | {"mask.npz": b"a mask"}  # is not written
    pool = write_pool(tmp_path / "masked", [samples[:20], samples[20:]])
    stream = opened(pool, "filter=random", "size.samples=30")
    assert len(captions(stream)) == len(stream) == 30
    assert captions(stream) <= {row.text for row in samples}
    assert Path(stream.location).is_relative_to(cache)
    written = {path: path.stat().st_mtime_ns for path in Path(stream.location).rglob("*.tar")}
    with tarfile.open(next(iter(written))) as tar:
        assert {name.partition(".")[2] for name in tar.getnames()} == {"jpg", "json", "txt"}
    again = opened(pool, "filter=random", "size.samples=30")
    assert {path: path.stat().st_mtime_ns for path in Path(again.location).rglob("*.tar")} == written
    assert again.identity("x") == stream.identity("x")
    other = opened(pool, "filter=random", "size.samples=29")
    assert other.location != stream.location


def test_a_subset_that_is_the_pool_is_read_where_it_is(pool: Path, cache: Path, tmp_path: Path) -> None:
    stream = opened(pool, "filter=random", "size.samples=30", shards=tmp_path / "shards of icc")
    whole = opened(tmp_path / "shards of icc", *ALL)
    assert Path(whole.location) == Path(stream.location) == tmp_path / "shards of icc"
    assert captions(whole) == captions(stream)
    assert not list(cache.rglob("*.tar"))


def test_selectors_that_draw_for_each_epoch_are_refused(pool: Path) -> None:
    job = streamed(pool, "selector=cluster_uniform", "filter=random", "size.samples=2")
    epoch = np.zeros(2, "u8,u8")
    drawn = Selection((epoch, epoch), 0.0, 2, 0, 0, {})
    selected = write_chosen(job, score_pairs(job), drawn, {})
    with pytest.raises(UserError, match=r"selector=cluster_uniform .* set training\.source=index"):
        open_stream(job, selected)


def test_missing_pairs_are_tolerated_up_to_the_setting(pool: Path) -> None:
    write_tar(pool / "shards" / "00000000.tar", rows(18))  # two of the metadata's forty have no image
    with pytest.raises(UserError, match=r"2 chosen pairs cannot be read \(2 image_missing\)"):
        opened(pool, *ALL, tolerate=0)
    stream = opened(pool, *ALL)
    assert len(captions(stream)) == len(stream) == 38


def train(stream: StreamedSubset, folder: Path) -> TrainReport:
    """Train for one epoch."""

    def collate(samples: list[Sample]) -> dict[str, torch.Tensor]:
        targets = [int(sample.text[-1]) % 4 for sample in samples]
        return {"colours": torch.rand(len(samples), 12), "targets": torch.tensor(targets)}

    data = TrainingData(stream, SampleOrder(stream.epochs, 0), collate)
    trainer = Trainer("toy", config(source="stream", samples_seen=len(stream)), CPU, Recorder())
    return trainer.fit(Guess(), data, folder, "f")


def test_a_training_ends_at_a_tar_of_other_samples(pool: Path, tmp_path: Path) -> None:
    stream = opened(pool, *ALL, shards=tmp_path / "subset")
    first, second = stream.urls[:2]
    shutil.copy(second.removeprefix("file://"), first.removeprefix("file://"))
    lost = rf"1 of the \d+ samples seen cannot be used \(1 not_of_this_tar; the last in {first}\), more than"
    with pytest.raises(UserError, match=lost):
        train(stream, tmp_path / "ended")
    tolerant = opened(pool, *ALL, shards=tmp_path / "subset", tolerate=0.05)
    assert train(tolerant, tmp_path / "tolerated").skipped == {"not_of_this_tar": 1}


@pytest.mark.parametrize("processes", [1, 2, 8, 3])
def test_other_numbers_of_processes_may_be_other_trainings(
    monkeypatch: pytest.MonkeyPatch, processes: int
) -> None:
    model = composed("models=demo", "training.source=stream").models["captioner"]
    first = training_fingerprint(model, "x", "cpu")
    monkeypatch.setenv("WORLD_SIZE", str(processes))
    assert (training_fingerprint(model, "x", "cpu") == first) == (processes != 3)
