"""Resharded subsets: what DataComp reads, and pools like any other."""

import io
import json
import tarfile
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from benchmark.core.errors import UserError
from benchmark.core.uids import UidArray, decode_uids, encode_uids, read_subset
from benchmark.engine.local import LocalEngine
from benchmark.pool import reshard as module
from benchmark.pool import subset_writer
from benchmark.pool.pool import Pool
from benchmark.pool.reshard import check_unused, write_shards
from benchmark.pool.streamed_subset import StreamedSubset
from benchmark.pool.subset import Subset
from downstream.evaluation.tars import tar_samples
from tests.pools import rows, write_metadata, write_pool, write_tar

CHOSEN = [0, 5, 6, 7, 11]
ENGINE = LocalEngine("cpu")


def selected(numbers: list[int]) -> UidArray:
    return np.sort(encode_uids([rows(13)[n].uid for n in numbers]))


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    """Two shards whose samples have a column and fields of JSON that no reader asks for, and one member more."""
    shards = [rows(7), rows(6, start=7)]
    for row in (row for shard in shards for row in shard):
        row.extra = {"width": int(row.key), "exif": {"Make": [row.key]}}
        row.files = row.members() | {"seg.cls": row.key.encode()}
    folder = write_pool(tmp_path / "pool", shards)
    for number, shard in enumerate(shards):
        lengths, boxes = [len(row.text) for row in shard], [[[0.5, int(row.key)]] for row in shard]
        write_metadata(folder / "metadata" / f"{number:08d}.parquet", shard, length=lengths, boxes=boxes)
    return Pool("p", str(folder))


def write(pool: Pool, numbers: list[int], folder: Path, **settings: Any) -> Pool:
    assert write_shards(pool, selected(numbers), folder, ENGINE, **settings) == len(numbers)
    return Pool("q", str(folder))


def read(pool: Pool, needs: frozenset[str]) -> dict[str, tuple[str, ...]]:
    """What a filter reads of each uid."""
    read = {}
    for shard in pool.shards(needs):
        for batch in pool.batches(shard, needs, 3, Counter()):
            columns = [map(str, values) for values in batch.columns.values()]
            read |= dict(zip(decode_uids(batch.uids), zip(batch.texts, *columns, strict=True), strict=True))
    return read


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_resharded_tars_are_a_pool_that_datacomp_reads(pool: Pool, tmp_path: Path) -> None:
    import webdataset as wds

    chosen, folder = selected(CHOSEN), tmp_path / "out"
    copy = write(pool, CHOSEN, folder, shard_size=2)
    names = [f"{number:08d}.tar" for number in range(3)]
    sizes = json.loads((folder / "shards" / "sizes.json").read_text())
    assert sizes == dict(zip(names, (2, 2, 1), strict=True))
    meta = json.loads((folder / "meta.json").read_text())
    assert (meta["output_shard_count"], meta["output_shard_format"]) == (3, "{:08d}.tar")
    assert (read_subset(folder / "sample_ids.npy") == chosen).all()
    tars = [str(folder / "shards" / name) for name in names]
    samples = list(wds.WebDataset(tars, shardshuffle=False).decode("pil"))
    assert sorted(s["json"]["uid"] for s in samples) == decode_uids(chosen)
    original = {s.uid: s.image.tobytes() for s in Subset(pool, chosen)}
    assert {s.uid: s.image.tobytes() for s in Subset(copy, chosen)} == original


def test_the_output_is_a_pool_like_any_other(pool: Pool, tmp_path: Path) -> None:
    out = write(pool, CHOSEN, tmp_path / "out", shard_size=2)
    chosen = {rows(13)[n].uid for n in CHOSEN}
    for needs in ("text", "text url", "text length boxes", "image text", "image width"):
        wanted = frozenset(needs.split())
        expected = {uid: row for uid, row in read(pool, wanted).items() if uid in chosen}
        assert read(out, wanted) == expected
    assert out.count() == len(CHOSEN)
    (Path(pool.url) / "metadata" / "00000001.parquet").unlink()
    hidden = write(Pool("p", pool.url, hidden=["length"]), CHOSEN, tmp_path / "some")
    assert read(hidden, frozenset({"text"})).keys() == chosen
    (first, _) = sorted((tmp_path / "some" / "metadata").iterdir())
    assert set(pq.read_schema(first).names) == {"boxes", "text", "uid", "url"}


def members_of(folder: Path) -> dict[str, bytes]:
    """The members of the first tar by their names without the zeros that these begin with."""
    with tarfile.open(folder / "shards" / "00000000.tar") as tar:
        return {name.lstrip("0"): tar.extractfile(name).read() for name in tar.getnames()}


def test_all_fields_and_members_are_kept(pool: Pool, tmp_path: Path) -> None:
    write(pool, CHOSEN, tmp_path / "out")
    members, row = members_of(tmp_path / "out"), rows(13)[5]
    fields = json.loads(members["1.json"])
    place, _, checksum = fields.pop("pairsift_stamp").partition(" ")
    assert place.endswith("/00000000.tar/000000001")
    assert checksum == f"{zlib.crc32(row.text.encode() + row.image):08x}"
    expected = {"uid": row.uid, "url": row.url, "caption": row.text, "key": row.key}
    assert fields == expected | {"width": 5, "exif": {"Make": ["00005"]}}
    assert members["1.seg.cls"] == b"00005"
    assert members["1.jpg"] == row.image


def test_images_are_named_jpg_and_members_that_a_reader_would_run_are_left_out(tmp_path: Path) -> None:
    sample = rows(1)[0]
    fields = json.dumps({"uid": sample.uid, "caption": "é 漢字", "n": 1e400}).encode()
    sample.key = "deep.er/clé" + "k" * 130
    kept = {"seg.cls": b"a", "seg.PNG": sample.image}
    others = {"__": b"", "pickle": b"cos", "a.pth": b"PK"}
    for every_member, image, expected in ((True, "PNG", kept | others), (False, "img", kept)):
        sample.files = {image: sample.image, **kept, **others, "json": fields, "txt": b"another"}
        write_tar(tmp_path / image / "0.tar", [sample])
        out = tmp_path / str(every_member)
        write(Pool("p", str(tmp_path / image), {"image": image}), [0], out, every_member=every_member)
        members = {name.removeprefix("."): data for name, data in members_of(out).items()}
        assert json.loads(members.pop("json"))["n"] == float("inf")
        assert members == {"jpg": sample.image, "txt": "é 漢字".encode(), **expected}


@pytest.mark.parametrize("kinds", [("png", "jpg"), ("gif", "webp", "png"), ("tiff", "jpeg")])
def test_all_readers_take_the_same_of_several_images(tmp_path: Path, kinds: tuple[str, ...]) -> None:
    shades = {"jpg": 50, "png": 80, "jpeg": 110, "webp": 140, "gif": 170, "tiff": 200}
    sample = rows(1)[0]
    sample.files = sample.members()
    del sample.files["jpg"]
    for kind in kinds:
        image = io.BytesIO()
        Image.new("L", (16, 16), shades[kind]).save(image, Image.registered_extensions()[f".{kind}"])
        sample.files[kind] = image.getvalue()
    pool = Pool("p", str(write_pool(tmp_path, [[sample]])))
    (tmp_path / "shards" / "sizes.json").write_text('{"00000000.tar": 1}')
    write(pool, [0], tmp_path / "new")
    images = [Subset(pool, selected([0]))[0].image]
    for folder in (tmp_path, tmp_path / "new"):
        stream = StreamedSubset(str(folder), encode_uids([sample.uid]))
        images += [stream.decode(files).image for files in stream.read(0, 0, 1)]
        images += [item.image.load(0) for item in tar_samples("x", folder / "shards" / "00000000.tar", "txt")]
    assert [image.getpixel((4, 4))[0] for image in images] == 5 * [min(shades[kind] for kind in kinds)]


def test_without_metadata_it_is_made_of_the_json(tmp_path: Path) -> None:
    samples = rows(4)
    extras = [{"n": 1, "s": "a"}, {"n": "two", "s": "\ud800"}, {"m": {"a": [1]}}, {}]
    for sample, extra in zip(samples, extras, strict=True):
        sample.extra = extra
    write_tar(tmp_path / "pool" / "0.tar", samples)
    pool = Pool("p", str(tmp_path / "pool"))
    write(pool, [0, 1, 2], tmp_path / "out")
    (file,) = (tmp_path / "out" / "metadata").iterdir()
    table = pq.read_table(file).to_pylist()
    assert [row["text"] for row in table] == [sample.text for sample in samples[:3]]
    assert [row["n"] for row in table] == ["1", "two", None]
    assert [row["s"] for row in table] == ["a", '"\\ud800"', None]
    assert read(Pool("q", str(tmp_path / "out")), frozenset({"text", "url"})) == {
        sample.uid: (sample.text, sample.url) for sample in samples[:3]
    }


def test_columns_of_other_names_come_under_ours(tmp_path: Path) -> None:
    samples = rows(3)
    for sample in samples:
        record = {"URL": sample.url, "TEXT": sample.text, "text": "not the caption", "id": sample.uid}
        sample.files = {"png": sample.image, "json": json.dumps(record).encode()}
    write_tar(tmp_path / "pool" / "0.tar", samples)
    columns = {
        "URL": [s.url for s in samples],
        "TEXT": [s.text for s in samples],
        "id": [s.uid for s in samples],
    }
    pq.write_table(pa.table(columns | {"text": ["no"] * 3}), tmp_path / "pool" / "0.parquet")
    pool = Pool("laion", str(tmp_path / "pool"), {"url": "URL", "text": "TEXT", "uid": "id"})
    out = write(pool, [0, 2], tmp_path / "out")
    expected = {samples[n].uid: (samples[n].text, samples[n].url) for n in (0, 2)}
    assert read(out, frozenset({"text", "url"})) == expected
    for path in (tmp_path / "out" / "metadata").iterdir():
        path.unlink()
    assert read(Pool("q", str(tmp_path / "out")), frozenset({"text", "url"})) == expected


@pytest.mark.parametrize("killed_after", [1, 3, 5])
def test_a_killed_call_goes_on(
    pool: Pool, tmp_path: Path, killed_after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(Exception):
        pass

    put, files = module.OutputFolder.write, 0

    def write_some(self: module.OutputFolder, name: str) -> Any:
        nonlocal files
        if files == killed_after:
            raise KilledError
        files += 1
        return put(self, name)

    write(pool, CHOSEN, tmp_path / "whole", shard_size=2)
    with monkeypatch.context() as patch:
        patch.setattr(module.OutputFolder, "write", write_some)
        with pytest.raises(KilledError):
            write(pool, CHOSEN, tmp_path / "out", shard_size=2)
    tars = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.tar")}
    check_unused(tmp_path / "out")
    for _ in range(2):  # the second call has nothing left to do
        write(pool, CHOSEN, tmp_path / "out", shard_size=2)
        assert contents(tmp_path / "out") == contents(tmp_path / "whole")
        assert all(path.stat().st_mtime_ns == written for path, written in tars.items())


def test_a_used_folder_is_not_written_to(pool: Pool, tmp_path: Path) -> None:
    write(pool, CHOSEN, tmp_path / "out")
    before = contents(tmp_path / "out")
    with pytest.raises(
        UserError, match="out holds the output of another command; give an empty folder, or delete it"
    ):
        write(pool, [1, 2], tmp_path / "out")
    assert contents(tmp_path / "out") == before
    with pytest.raises(UserError, match="pool holds other files; give an empty folder, or delete it"):
        check_unused(pool.url)
    (tmp_path / "out" / "meta.json").write_text("[not ours")
    with pytest.raises(UserError, match="out holds other files"):
        check_unused(tmp_path / "out")
    with pytest.raises(UserError, match=r"meta\.json is a file; give a folder"):
        check_unused(tmp_path / "out" / "meta.json")


@pytest.mark.slow
def test_workers_write_the_same_bytes(pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(pool, CHOSEN, tmp_path / "here", shard_size=2)
    monkeypatch.setattr(subset_writer, "_LIGHT", 0)
    write_shards(pool, selected(CHOSEN), tmp_path / "workers", LocalEngine("cpu", 2), shard_size=2)
    assert contents(tmp_path / "workers") == contents(tmp_path / "here")
