"""The tars that a run writes of its selection, and how it opens them."""

import tarfile
from pathlib import Path

import numpy as np
import pytest

from benchmark.core.uids import encode_uids, write_subset
from benchmark.pool.pool import Pool
from benchmark.run.open_samples import open_stream
from benchmark.run.score import score_pairs
from benchmark.run.select import select_pairs
from tests.jobs import make_job
from tests.pools import rows, write_pool


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    """Six pairs, each with a mask beside its image."""
    samples = rows(6)
    for row in samples:
        row.files = row.members() | {"mask.npz": b"a mask"}
    return Pool("p", str(write_pool(tmp_path / "pool", [samples[:4], samples[4:]])))


def members(folder: Path) -> dict[str, list[str]]:
    """The samples' extensions, by their tars."""
    return {
        path.name: sorted({name.partition(".")[2] for name in tarfile.open(path).getnames()})
        for path in sorted(folder.rglob("*.tar"))
    }


def test_a_stream_holds_the_selected_pairs_only(pool: Pool, tmp_path: Path) -> None:
    chosen = np.sort(encode_uids([rows(6)[n].uid for n in (0, 3, 5)]))
    write_subset(tmp_path / "chosen.npy", chosen)
    settings = ["pool=img2dataset", f"pool.url={pool.url}", f"training.shards={tmp_path / 'new'}"]
    settings += ["filter=uid_list", f"filter.path={tmp_path / 'chosen.npy'}", "size.samples=3"]
    job = make_job("training.source=stream", "engine.workers=1", *settings)
    stream, _ = open_stream(job, select_pairs(job, score_pairs(job)))
    samples = [
        stream.decode(f) for shard, n in enumerate(stream.sizes) for f in stream.read(shard, 0, int(n))
    ]
    assert [(s.uid, s.text) for s in samples] == [(rows(6)[n].uid, rows(6)[n].text) for n in (0, 3, 5)]
    assert {tuple(kinds) for kinds in members(tmp_path / "new").values()} == {("jpg", "json", "txt")}
