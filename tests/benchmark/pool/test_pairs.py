import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.core.errors import UserError
from benchmark.core.uids import encode_uids
from benchmark.pool.pairs import Written, read_captions, write_pairs
from benchmark.pool.pool import Pool
from tests.pools import Row, rows, write_metadata, write_pool, write_tar

CHOSEN = [7, 1, 4]  # of two shards of five


def chosen(samples: list[Row]) -> dict[str, Any]:
    picked = [samples[number] for number in CHOSEN]
    return {"uids": encode_uids([s.uid for s in picked]), "scores": np.array([0.7, 0.1, 0.4], np.float32)}


def written(path: Path) -> list[dict[str, Any]]:
    return [row | {"score": round(row["score"], 6)} for row in pq.read_table(path).to_pylist()]


@pytest.mark.parametrize("metadata", [True, False])
def test_pairs_in_the_order_of_the_pool(metadata: bool, tmp_path: Path) -> None:
    samples = rows(10)
    write_pool(tmp_path, [samples[:5], samples[5:] + samples[:3]])  # a pair in two shards is written once
    if not metadata:
        for file in tmp_path.rglob("*.parquet"):
            file.unlink()
    assert write_pairs(tmp_path / "out", Pool("p", str(tmp_path)), **chosen(samples)) == Written(3, 3)
    assert written(tmp_path / "out") == [
        {"uid": s.uid, "url": s.url, "caption": s.text, "score": score}
        for s, score in zip([samples[1], samples[4], samples[7]], [0.1, 0.4, 0.7], strict=True)
    ]
    assert list(read_captions(tmp_path / "out")) == [samples[n].text for n in (1, 4, 7)]


@pytest.mark.parametrize("metadata", [True, False])
def test_a_pool_without_urls_has_no_such_column(metadata: bool, tmp_path: Path) -> None:
    samples = rows(10)
    if metadata:
        columns = {"uid": [s.uid for s in samples], "text": [s.text for s in samples]}
        pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    else:
        for sample in samples:
            record = {"uid": sample.uid, "caption": sample.text}
            sample.files = {"jpg": sample.image, "json": json.dumps(record).encode()}
        write_tar(tmp_path / "a.tar", samples)
    assert write_pairs(tmp_path / "out", Pool("p", str(tmp_path)), **chosen(samples)) == Written(3, 0)
    assert pq.read_schema(tmp_path / "out").names == ["uid", "caption", "score"]
    assert len(written(tmp_path / "out")) == 3


def test_an_unusable_url_is_missing_its_pair_stays(tmp_path: Path) -> None:
    samples = rows(10)
    binary = pa.array([b"http://\xff" if n == 4 else b"http://a/%d" % n for n in range(10)], pa.binary())
    urls = pa.Array.from_buffers(pa.string(), 10, binary.buffers())
    columns = {"uid": [s.uid for s in samples], "text": [s.text for s in samples], "url": urls}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    assert write_pairs(tmp_path / "out", Pool("p", str(tmp_path)), **chosen(samples)) == Written(3, 2)
    assert [row["url"] for row in written(tmp_path / "out")] == ["http://a/1", None, "http://a/7"]


def test_metadata_of_another_pool_is_refused(tmp_path: Path) -> None:
    write_metadata(tmp_path / "a.parquet", rows(10))
    with pytest.raises(UserError, match="lacks 3 of the 3 selected pairs"):
        write_pairs(tmp_path / "out", Pool("p", str(tmp_path)), **chosen(rows(10, start=10)))
    assert not (tmp_path / "out").exists()
