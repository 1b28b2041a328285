"""A resharded subset as a stream: the samples of random access, on a disk and on the hub, and damage counted."""

import json
import random
import shutil
import tarfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import webdataset as wds

from benchmark.core import batch
from benchmark.core.batch import Sample, SampleError
from benchmark.core.errors import UserError
from benchmark.core.uids import UidArray, decode_uids, encode_uids
from benchmark.engine.local import LocalEngine
from benchmark.pool.other_captions import OtherCaptions
from benchmark.pool.pool import Pool
from benchmark.pool.reshard import write_shards
from benchmark.pool.streamed_subset import StreamedSubset, holds
from benchmark.pool.subset import Subset, selected_samples
from benchmark.pool.tar_index import index_tar
from tests.pools import Row, rows, write_pool, write_tar
from tests.servers import Behaviour, hub_server


def resharded(pool: Pool, location: str | Path, shard_size: int = 4) -> list[str]:
    """Reshard all samples of a pool; return their uids in the order of the new tars."""
    uids = np.sort(np.concatenate([pool.index(shard).uids for shard in pool.tars]))
    write_shards(pool, uids, location, LocalEngine(workers=1), shard_size=shard_size)
    return [uid for part in selected_samples(pool, uids) for uid in decode_uids(part.samples.uids)]


SELECTED = np.sort(encode_uids([row.uid for row in rows(43)]))


def subset(folder: str | Path, uids: UidArray = SELECTED, **settings: Any) -> StreamedSubset:
    return StreamedSubset(str(folder), uids, **settings)


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    return Pool("x", str(write_pool(tmp_path / "pool", [rows(6), rows(5, 6)])))


def samples(stream: StreamedSubset) -> list[Sample]:
    return [
        stream.decode(files)
        for shard, size in enumerate(stream.sizes.tolist())
        for files in stream.read(shard, 0, size)
    ]


def test_samples_are_those_of_random_access(pool: Pool, tmp_path: Path) -> None:
    uids = resharded(pool, tmp_path / "new")
    others = OtherCaptions({uids[3]: ("another",)})
    stream = subset(tmp_path / "new", captions=others)
    assert (len(stream), stream.sizes.tolist()) == (11, [4, 4, 3])
    by_uid = {sample.uid: sample for sample in Subset(pool, np.sort(encode_uids(uids)), (), others)}
    assert samples(stream) == [by_uid[uid] for uid in uids]
    assert [stream.decode(files).uid for files in stream.read(1, 1, 3)] == uids[5:7], "a part of a shard"


def test_a_subset_on_the_hub_is_read_where_it_is(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uids = resharded(pool, tmp_path / "datasets" / "some" / "set")
    behaviour = Behaviour()
    with hub_server(tmp_path, behaviour, monkeypatch):
        stream = subset("hf://datasets/some/set")
        assert [sample.uid for sample in samples(stream)] == uids
        assert holds("hf://datasets/some/set", np.sort(encode_uids(uids)))
        assert not holds("hf://datasets/some/set", np.sort(encode_uids(uids))[:-1])
    assert not holds(pool.url, encode_uids(uids))
    assert sum(path.endswith(".tar") for path, _, _ in behaviour.gets) == 3  # each tar in one request


def write_stream(folder: Path, tars: list[list[dict[str, bytes]]]) -> StreamedSubset:
    """Write samples by webdataset's own writer."""
    (folder / "shards").mkdir(parents=True)
    for number, of_tar in enumerate(tars):
        with wds.TarWriter(str(folder / "shards" / f"{number:08d}.tar")) as writer:
            for row, files in enumerate(of_tar):
                writer.write({"__key__": f"{number}{row:04d}", **files})
    sizes = {f"{number:08d}.tar": len(of_tar) for number, of_tar in enumerate(tars)}
    (folder / "shards" / "sizes.json").write_text(json.dumps(sizes))
    return subset(folder)


def reasons(stream: StreamedSubset, shard: int = 0) -> list[str | None]:
    found: list[str | None] = []
    for files in stream.read(shard, 0, int(stream.sizes[shard])):
        try:
            stream.decode(files)
            found.append(None)
        except SampleError as error:
            found.append(error.reason)
    return found


def test_unreadable_samples_have_the_usual_reasons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = rows(1)[0].members()
    stream = write_stream(
        tmp_path,
        [[good, good | {"jpg": b"no image"}, {"txt": b"a cat"}, good | {"txt": b" ", "json": b"{}"}, good]],
    )
    assert reasons(stream) == [None, batch.IMAGE_UNREADABLE, batch.IMAGE_MISSING, "caption_empty", None]
    monkeypatch.setattr("benchmark.core.images.MAX_BYTES", len(good["jpg"]) - 1)
    assert reasons(stream)[0] == batch.IMAGE_TOO_LARGE


FIRST = "shards/00000000.tar"


def rewrite(tar: Path, change: Callable[[dict[str, dict[str, bytes]]], None]) -> None:
    """Write the samples of a tar again, changed: files by extension, by key."""
    of_key: dict[str, dict[str, bytes]] = {}
    with tarfile.open(tar) as old:
        for member in old:
            key, _, extension = member.name.partition(".")
            of_key.setdefault(key, {})[extension] = old.extractfile(member).read()
    change(of_key)
    write_tar(tar, [Row(key, "", "", b"", files=files) for key, files in of_key.items()])


def without_stamps(of_key: dict[str, dict[str, bytes]]) -> None:
    for files in of_key.values():
        fields = json.loads(files["json"])
        del fields["pairsift_stamp"]
        files["json"] = json.dumps(fields).encode()


FOREIGN = {
    "another selection": [rows(11, 50)],
    "the same selection, divided otherwise": [rows(5, 6), rows(6)],
}


@pytest.mark.parametrize("kind", ["another tar", "no stamps", *FOREIGN])
def test_samples_that_are_not_of_a_tar_are_counted(pool: Pool, tmp_path: Path, kind: str) -> None:
    resharded(pool, tmp_path / "new")
    tar = tmp_path / "new" / FIRST
    if kind == "another tar":
        shutil.copy(tar.with_name("00000001.tar"), tar)
    elif kind == "no stamps":
        rewrite(tar, without_stamps)
    else:
        resharded(
            Pool("x", str(write_pool(tmp_path / "foreign", FOREIGN[kind]))), tmp_path / "foreign" / "new"
        )
        shutil.copy(tmp_path / "foreign" / "new" / FIRST, tar)
    assert reasons(subset(tmp_path / "new")) == [batch.NOT_OF_THIS_TAR] * 4


def test_a_sample_twice_in_a_tar_is_read_once(pool: Pool, tmp_path: Path) -> None:
    resharded(pool, tmp_path / "new")
    data = (tmp_path / "new" / FIRST).read_bytes()
    first, second, third, fourth = (data.index(b"%09d." % number) for number in range(4))
    twice = data[:third] + data[first:second] + data[fourth:]
    (tmp_path / "new" / FIRST).write_bytes(twice)
    stream = subset(tmp_path / "new")
    assert reasons(stream) == [None, None, None, batch.IMAGE_MISSING]
    assert [bool(encoded.files) for encoded in stream.read(0, 2, 4)] == [True, False]  # from behind it, too


def test_any_tar_of_datacomps_resharder_may_have_a_selected_uid(tmp_path: Path) -> None:
    tars = [[row.members() for row in rows(3, start)] for start in (0, 3, 90)]
    stream = write_stream(tmp_path, [tars[1], tars[0], tars[2]])
    assert [reasons(stream, shard) for shard in range(3)] == [
        [None] * 3,
        [None] * 3,
        [batch.NOT_OF_THIS_TAR] * 3,
    ]


def test_a_changed_byte_changes_no_sample(pool: Pool, tmp_path: Path) -> None:
    """Wherever a bit is flipped, what is read is what was written; the rest is counted."""
    resharded(pool, tmp_path / "new")
    stream, tar = subset(tmp_path / "new"), tmp_path / "new" / FIRST
    whole = {sample.uid: (sample.text, sample.image.tobytes()) for sample in samples(stream)}
    data, drawn, counted = tar.read_bytes(), random.Random(0), Counter[str]()
    for _ in range(60):
        at = drawn.randrange(len(data))
        tar.write_bytes(data[:at] + bytes([data[at] ^ 1 << drawn.randrange(8)]) + data[at + 1 :])
        read = []
        for encoded in stream.read(0, 0, 4):
            try:
                read.append(stream.decode(encoded))
            except SampleError as error:
                counted[error.reason] += 1
        assert len({sample.uid for sample in read}) == len(read)
        assert all((sample.text, sample.image.tobytes()) == whole[sample.uid] for sample in read)
    assert counted[batch.CHECKSUM_DIFFERS] > counted[batch.IMAGE_UNREADABLE] > 0


def test_damage_has_the_reasons_of_the_index(pool: Pool, tmp_path: Path) -> None:
    resharded(pool, tmp_path / "new")
    stream, tar, seen = subset(tmp_path / "new"), tmp_path / "new" / FIRST, Counter[str]()
    data = tar.read_bytes()
    # From the second sample on: the index does not know that the first had a JSON, if it is lost.
    for start in range(data.index(b"000000001."), data.rindex(b"000000003.") + 1024, 512):
        for damaged in (data[:start], data[:start] + b"\xff" * 512 + data[start + 512 :]):
            tar.write_bytes(damaged)
            index = index_tar(tar, {})
            streamed = Counter(reason for reason in reasons(stream) if reason)
            seen += streamed
            # The index does not know how many these are.
            absent = streamed.pop(batch.PAIR_OF_CORRUPT_SHARD, 0)
            in_images = streamed.pop(batch.IMAGE_UNREADABLE, 0) + streamed.pop(batch.CHECKSUM_DIFFERS, 0)
            assert streamed == index.drops - Counter({batch.SHARD_CORRUPT: 1})
            assert 4 - absent - streamed.total() == len(index) >= in_images
    assert {batch.IMAGE_MISSING, batch.METADATA_MISSING, batch.METADATA_INVALID} <= seen.keys()
    assert seen.keys() > {batch.PAIR_OF_CORRUPT_SHARD, batch.IMAGE_UNREADABLE}


def test_tars_without_their_sizes_are_an_error(tmp_path: Path) -> None:
    stream = write_stream(tmp_path, [[row.members() for row in rows(3)]])
    stream.sizes -= 1
    with pytest.raises(UserError, match=r"has more samples than shards/sizes\.json says"):
        reasons(stream)
    for sizes in ("{}", "not json", '{"00000000.tar": -1}', '{"00000001.tar": 3}', "[3]"):
        (tmp_path / "shards" / "sizes.json").write_text(sizes)
        with pytest.raises(
            UserError, match=r"shards/sizes\.json must have the number of samples of each tar"
        ):
            subset(tmp_path)


def test_losses_above_the_tolerance_end_the_training(tmp_path: Path) -> None:
    stream = write_stream(tmp_path, [[row.members() for row in rows(10)]])
    stream.tolerate = 0.2
    stream.check_lost({batch.IMAGE_MISSING: 2}, 4, "x.tar")  # of the ten of the epoch
    stream.check_lost({batch.IMAGE_MISSING: 6}, 30, "x.tar")
    lost = r"3 of the 4 samples seen cannot be used \(3 image_missing; the last in x.tar\), more than selection.to"
    with pytest.raises(UserError, match=lost):
        stream.check_lost({batch.IMAGE_MISSING: 3}, 4, "x.tar")
