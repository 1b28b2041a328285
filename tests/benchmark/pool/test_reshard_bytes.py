"""The files of a resharded subset, hashed: the tars of a pool with everything unusual that a sample may have."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.core.uids import UidArray, encode_uids
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.pool.reshard import Copy, reshard
from benchmark.pool.subset import selected_samples, use_metadata_captions
from tests.pools import Row, write_metadata

GOLDEN = "075ddf259fc6efca1a8cfbbdb0dc9b34c2d2bc9d4bce0daec155725f7ff08b93"
GOLDEN_TOGETHER = "755dcc168d430eac04caf5335b6ddaf16ce1ef69998ddc99f1e448bfea929e98"


def unusual_rows() -> list[Row]:
    """Samples of known bytes: no image is decoded here, and encoders differ."""
    samples = [
        Row(f"{n:05d}", f"http://x/{n}", f"thing {n}", hashlib.sha256(b"%d" % n).digest() * (9 + 40 * n))
        for n in range(16)
    ]
    for n, sample in enumerate(samples):
        sample.extra = {"width": n, "exif": {"Make": ["é" * n]}}
    for n, changed in {
        1: {"caption": "   "},
        2: {"caption": "漢字 and more"},
        3: {"uid": None, "url": None},
        4: {"text": "not the caption that counts", "n": 1e400},
    }.items():
        samples[n].extra |= changed
    samples[3].files = {"png": samples[3].image, "txt": b"of the txt alone"}
    samples[5].files = {
        "txt": b"first",
        "JPEG": samples[5].image,
        "seg.cls": b"a",
        "Mask.PNG": b"",
        "__": b"b",
    }
    samples[6].key = "folder/deep.er/00006"
    samples[7].key = "k" * 130
    samples[8].key = "clé-漢字"
    return samples


def write_tars(folder: Path, samples: list[Row]) -> None:
    """One tar with mtimes in pax headers as webdataset writes them, one with the members in turns."""
    folder.mkdir(parents=True)
    for number, (form, half) in enumerate(
        ((tarfile.PAX_FORMAT, samples[:9]), (tarfile.GNU_FORMAT, samples[9:]))
    ):
        members = [(row, extension) for row in half for extension in row.members()]
        if number:
            members.sort(key=lambda member: member[1])
        with tarfile.open(folder / f"{number}.tar", "w", format=form) as tar:
            tar.addfile(tarfile.TarInfo("folder"))
            for row, extension in members:
                member = tarfile.TarInfo(f"{row.key}.{extension}")
                member.size, member.mtime = len(row.members()[extension]), 0 if number else 1.25
                tar.addfile(member, io.BytesIO(row.members()[extension]))


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    samples = unusual_rows()
    write_tars(tmp_path / "pool" / "shards", samples)
    write_metadata(tmp_path / "pool" / "metadata" / "0.parquet", samples[10:14], length=[1, 2, 3, None])
    return Pool("p", str(tmp_path / "pool"))


def some_uids(pool: Pool) -> UidArray:
    """All uids but two; one of them twice."""
    uids = np.sort(np.concatenate([pool.index(shard).uids for shard in pool.tars]))
    return np.sort(np.concatenate([uids[:4], uids[5:-1], uids[7:8], encode_uids(["f" * 32])]))


def digest(folder: Path) -> str:
    """A hash of all files; of parquet what it holds, and of meta.json all but the hash of paths and times."""
    hashed = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        data = path.read_bytes()
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            data = json.dumps([table.schema.names, table.to_pylist()]).encode()
        elif path.name == "meta.json":
            data = json.dumps({k: v for k, v in json.loads(data).items() if k != "samples"}).encode()
        hashed.update(f"{path.relative_to(folder)} {len(data)} ".encode() + data)
    return hashed.hexdigest()


def test_the_files_are_those_of_earlier_versions(pool: Pool, tmp_path: Path) -> None:
    parts = use_metadata_captions(selected_samples(pool, some_uids(pool)), pool)
    assert reshard(pool, [Copy(parts, tmp_path / "out")], LocalEngine("cpu"), shard_size=4) == [15]
    assert digest(tmp_path / "out") == GOLDEN


def write_tar_with_links(path: Path) -> None:
    """A tar that `tarfile` has to read: links within samples, a name of 130 letters, two members of one extension."""
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        for number in range(5):
            key = f"{number}" * (130 if number == 3 else 5)
            fields = {"caption": f"linked {number}", "f": 0.1 * number, "text": "not the caption", "key": key}
            record = json.dumps(fields, indent=4).encode()
            image = ("jpg", bytes([number]) * 700)
            files = (image, ("cls", b"1"), ("link", b""), ("json", record), ("cls", b"twice"))
            for extension, data in files:
                member = tarfile.TarInfo(f"{key}.{extension}")
                member.size = len(data)
                if extension == "link":
                    member.type, member.linkname = tarfile.SYMTYPE, "elsewhere"
                tar.addfile(member, io.BytesIO(data))


def test_subsets_written_together_are_those_of_earlier_versions(tmp_path: Path) -> None:
    samples = unusual_rows()
    write_tars(tmp_path / "pool" / "shards", samples)
    others = {"uid": [row.uid for row in samples[:9]], "text": [f"another caption {n}" for n in range(9)]}
    pq.write_table(pa.table(others), tmp_path / "pool" / "0.parquet")
    write_tar_with_links(tmp_path / "pool" / "shards" / "2.tar")
    pool = Pool("p", str(tmp_path / "pool"), {"width": "exif"})
    uids = some_uids(pool)
    copies = [
        Copy(use_metadata_captions(selected_samples(pool, some), pool), tmp_path / "out" / str(number))
        for number, some in enumerate((uids, uids[::3], uids[5:9]))
    ]
    assert reshard(pool, copies, LocalEngine("cpu"), shard_size=3) == [20, 7, 4]
    assert digest(tmp_path / "out") == GOLDEN_TOGETHER
