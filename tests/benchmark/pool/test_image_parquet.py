"""Parquet files with images inside, as data sets of the hub have them: the pairs of tars with the same files."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.core.errors import UserError
from benchmark.core.uids import UidArray, decode_uids, unite_uids
from benchmark.engine.local import LocalEngine
from benchmark.pool import image_parquet
from benchmark.pool.fetch import fetch_subset
from benchmark.pool.other_captions import CaptionSources
from benchmark.pool.pool import Pool
from benchmark.pool.reshard import write_shards
from benchmark.pool.subset import Subset
from tests.pools import Row, rows, write_tar
from tests.servers import Behaviour, hub_server

TEXT, IMAGE = frozenset({"text"}), frozenset({"image", "text"})
HUB = pa.struct({"bytes": pa.binary(), "path": pa.string()})


def images_of(samples: list[Row]) -> list[dict[str, Any]]:
    return [{"bytes": sample.image, "path": f"{sample.key}.jpg"} for sample in samples]


SOME = rows(8)
PICTURES, TEXTS = pa.array(images_of(SOME), HUB), pa.array([row.text for row in SOME])
LARGE = pa.large_list(pa.string_view())


def write(path: Path, samples: list[Row], **columns: Any) -> Path:
    """A parquet of the hub; columns given in place of a default are of another type, None leaves one out."""
    table = {
        "image": pa.array(images_of(samples), HUB),
        "caption": [[sample.text, f"again, {sample.text}", "a third"] for sample in samples],
        "width": list(range(len(samples))),
    } | columns
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({k: v for k, v in table.items() if v is not None}), path, row_group_size=7)
    return path


def hub_pool(folder: Path) -> Pool:
    """Two files of 10 pairs, below the folder."""
    for number in range(2):
        write(folder / f"data/train-{number:05d}-of-00002-0a1b.parquet", rows(10, 10 * number))
    return Pool("p", str(folder))


def test_files_of_one_name_may_lose_pairs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for number, folder in enumerate(("cats", "dogs")):
        samples = [replace(row, text=folder) for row in rows(10, 10 * number)]
        write(tmp_path / folder / "train-00000-of-00001.parquet", samples)
    assert len(all_uids(Pool("p", str(tmp_path)))) == 20
    assert "has several files train-00000-of-00001.parquet, and no column uid, url or key" in caplog.text
    for number, folder in enumerate(("cats", "dogs")):
        samples = rows(10, 10 * number)
        write(tmp_path / folder / "train-00000-of-00001.parquet", samples, url=[row.url for row in samples])
    caplog.clear()
    assert len(all_uids(Pool("p", str(tmp_path)))) == 20
    assert not caplog.text


def read(pool: Pool, needs: frozenset[str], size: int = 8) -> tuple[dict[str, tuple[Any, ...]], Counter[str]]:
    """What is read of each uid."""
    drops, pairs = Counter[str](), {}
    for shard in pool.shards(needs):
        for batch in pool.batches(shard, needs, size, drops):
            columns = [batch.columns[name].tolist() for name in sorted(batch.columns)]
            values = [batch.texts, [image.tobytes() for image in batch.images], *columns]
            pairs |= dict(zip(decode_uids(batch.uids), zip(*filter(None, values), strict=True), strict=True))
    return pairs, +drops


def all_uids(pool: Pool) -> UidArray:
    return unite_uids([b.uids for s in pool.shards(TEXT) for b in pool.batches(s, TEXT, 99, Counter())])


def test_images_and_captions_are_those_of_tars(tmp_path: Path) -> None:
    pool = hub_pool(tmp_path / "hub")
    write_tar(tmp_path / "tars/0.tar", rows(20))
    of_tars, _ = read(Pool("t", str(tmp_path / "tars")), IMAGE)
    pairs, drops = read(pool, IMAGE | {"width"})
    assert not drops
    assert [(text, image) for text, image, _ in pairs.values()] == list(of_tars.values())
    assert [width for *_, width in pairs.values()] == [*range(10)] * 2
    assert {uid: pair[:1] for uid, pair in pairs.items()} == read(pool, TEXT, 3)[0]


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ({}, {}),
        ({"image": None, "jpg": [row.image for row in SOME]}, {}),
        ({"image": None, "photo": PICTURES}, {}),
        ({"image": ["x"] * 8, "photo": PICTURES}, {"image": "photo"}),
        ({"image": None, "picture": PICTURES.field("bytes").cast(pa.binary_view())}, {"image": "picture"}),
        ({"caption": TEXTS}, {}),
        ({"caption": TEXTS.dictionary_encode()}, {}),
        ({"caption": None, "sentences": pa.array([[r.text] for r in SOME], LARGE)}, {}),
        ({"caption": None, "alt": TEXTS.cast(pa.binary())}, {"text": "alt"}),
        ({"depth": PICTURES, "exif": [{"a": [1.5]}] * 8}, {}),
        ({"uid": [row.uid for row in SOME]}, {}),
        ({"uid": pa.array([bytes.fromhex(row.uid) for row in SOME], pa.binary(16))}, {}),
        ({"url": [row.url for row in SOME]}, {}),
        ({"id": list(range(8))}, {"key": "id"}),
    ],
)
def test_columns_have_the_names_and_types_of_the_hub(
    tmp_path: Path, columns: Mapping[str, Any], names: dict[str, str]
) -> None:
    write(tmp_path / "0.parquet", SOME, **columns)
    pool = Pool("p", str(tmp_path), names)
    texts, (pairs, drops) = read(pool, TEXT)[0], read(pool, IMAGE)
    assert not drops
    assert {uid: (text,) for uid, (text, _) in pairs.items()} == texts
    assert [text for text, _ in pairs.values()] == [row.text for row in SOME]
    if {"uid", "url"} & set(columns):
        assert list(pairs) == [row.uid for row in SOME]
    subset = Subset(fetch_subset(pool, all_uids(pool)), all_uids(pool), metadata=pool)
    assert {s.uid: (s.text, s.image.tobytes()) for s in subset} == pairs


def test_equal_captions_are_pairs_of_their_rows(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path / "0.parquet", SOME, caption=["a dog"] * 8)
    pairs, _ = read(Pool("p", str(tmp_path)), IMAGE)
    assert len(pairs) == len({image for _, image in pairs.values()}) == 8
    assert "captions tell its pairs apart" not in caplog.text
    (tmp_path / "1").mkdir()
    for copy in ("1/0.parquet", "1%2F0.parquet"):  # the second as task=fetch names it
        next(tmp_path.rglob("*.parquet")).rename(tmp_path / copy)
        assert read(Pool("p", str(tmp_path)), IMAGE)[0] == pairs


def test_the_hub_sends_images_only_to_what_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = np.random.default_rng(0).bytes(120_000)  # after the end of each JPEG
    for number in range(2):
        samples = [replace(row, image=row.image + noise) for row in rows(8, 8 * number)]
        write(tmp_path / f"datasets/some/pool/data/train-{number:05d}-of-00002-0a1b.parquet", samples)
    local = Pool("p", str(tmp_path / "datasets/some/pool"))
    files = list((tmp_path / "datasets").rglob("*.parquet"))
    size = sum(path.stat().st_size for path in files)
    server = Behaviour()
    with hub_server(tmp_path, server, monkeypatch):
        pool = Pool("p", "hf://datasets/some/pool")
        assert read(pool, TEXT) == read(local, TEXT)
        assert 0 < server.sent(".parquet") < size / 3
        chosen = all_uids(pool)[5:8]
        server.gets.clear()
        assert read(pool, IMAGE) == read(local, IMAGE)
        assert size <= server.sent(".parquet") < 1.5 * size  # and the columns of one footer
        of_hub, of_disk = (list(Subset(fetch_subset(p, chosen), chosen, metadata=p)) for p in (pool, local))
        assert of_hub == of_disk
        write(tmp_path / "datasets/some/pool/data/test-00000-of-00001-2c3d.parquet", rows(5, 90))
        for folder in (f"{tmp_path}/datasets/some/pool/data", "hf://datasets/some/pool/data"):
            split = Pool("p", f"{folder}/train-*.parquet")
            assert [shard.name for shard in split.tars] == [f"train-0000{n}-of-00002-0a1b" for n in range(2)]
            assert read(split, TEXT) == read(local, TEXT)
            with pytest.raises(UserError, match=r"data/valid-\*\.parquet: no file has such a name"):
                Pool("p", f"{folder}/valid-*.parquet")
    assert not [*tmp_path.rglob("downloads/**/*.tar"), *tmp_path.rglob("downloads/**/*.parquet")]


def test_all_captions_are_drawn_from_if_asked(tmp_path: Path) -> None:
    pool = hub_pool(tmp_path)
    uids = all_uids(pool)
    assert not CaptionSources(pool)
    others = CaptionSources(pool, use="draw").of(uids)
    assert others.counts() == {"samples": 20, "captions": 40}
    for sample in Subset(fetch_subset(pool, uids), uids, captions=others, metadata=pool):
        assert sample.others == (f"again, {sample.text}", "a third")
    with pytest.raises(UserError, match=r"captions.use=sum takes one caption .* caption has 3 of"):
        CaptionSources(pool, ["caption"]).of(uids)


def test_invalid_captions_of_a_list_are_counted(tmp_path: Path) -> None:
    captions = pa.array([[b"one", b"\xff", b"two"], [b"three", None, b""]]).cast(pa.list_(pa.binary()))
    broken = pa.ListArray.from_arrays(
        captions.offsets, pa.Array.from_buffers(pa.string(), 6, captions.values.buffers())
    )
    write(tmp_path / "0.parquet", rows(2), caption=broken)
    pool = Pool("p", str(tmp_path))
    others = CaptionSources(pool, use="draw").of(all_uids(pool))
    assert sorted(others.by_uid.values()) == [("two",)]
    assert others.drops == {"caption_empty": 1, "caption_invalid_utf8": 1, "caption_missing": 1}
    assert [text for text, _ in read(pool, IMAGE)[0].values()] == ["one", "three"]


def test_a_subset_is_resharded_with_all_columns_but_images(tmp_path: Path) -> None:
    pool = hub_pool(tmp_path / "hub")
    pairs = read(pool, IMAGE | {"width"})[0]
    chosen = all_uids(pool)[3:9]
    images = fetch_subset(pool, chosen)
    assert write_shards(images, chosen, tmp_path / "out", LocalEngine("cpu", 1), source=pool) == 6
    out = Pool("q", str(tmp_path / "out"))
    for needs in (IMAGE | {"width"}, TEXT | {"width"}):
        expected = {u: (t, i, w) if "image" in needs else (t, w) for u, (t, i, w) in pairs.items()}
        assert read(out, needs)[0] == {uid: expected[uid] for uid in decode_uids(chosen)}
    assert not any("binary" in str(pq.read_schema(shard.path).types) for shard in out.metadata)
    assert CaptionSources(out, use="draw").of(chosen) == CaptionSources(pool, use="draw").of(chosen)


def test_odd_rows_cost_only_themselves(tmp_path: Path) -> None:
    write(tmp_path / "1.parquet", [])  # without rows, not damaged
    samples = rows(10)
    images: list[Any] = images_of(samples)
    images[0], images[1], images[2]["bytes"] = None, {"bytes": None, "path": "1.jpg"}, b"no image"
    captions: list[Any] = [[row.text] for row in samples]
    captions[4:8] = [None, [], [None, "second"], [" "]]
    write(tmp_path / "0.parquet", samples, image=pa.array(images, HUB), caption=captions)
    pairs, drops = read(Pool("p", str(tmp_path)), IMAGE)
    assert [text for text, _ in pairs.values()] == [samples[n].text for n in (3, 8, 9)]
    assert drops == {"caption_missing": 3, "caption_empty": 1, "image_missing": 2, "image_unreadable": 1}
    # A pair without an image has a caption for filters of captions; of an image without caption nothing is left.
    texts, drops = read(Pool("p", str(tmp_path)), TEXT)
    assert (len(texts), drops) == (6, {"caption_missing": 3, "caption_empty": 1})
    assert pairs.keys() <= texts.keys()


@pytest.mark.parametrize("damage", ["page", "footer", "empty", "twice"])
def test_a_damaged_file_is_counted(tmp_path: Path, damage: str) -> None:
    pool = hub_pool(tmp_path)
    whole = read(pool, IMAGE)[0]
    first, _ = sorted(tmp_path.rglob("*.parquet"))
    table = pq.read_table(first)
    if damage == "twice":
        table = table.append_column("caption", table["caption"])
    pq.write_table(table, first, row_group_size=7, write_page_checksum=True, compression="none")
    data = bytearray(first.read_bytes())
    data[data.index(rows(10)[9].image) + 50] ^= 255 * (damage == "page")  # in the second row group
    first.write_bytes({"footer": data[:-9], "empty": b""}.get(damage, data))
    pairs, drops = read(Pool("p", str(tmp_path)), IMAGE)
    assert drops == {"shard_empty" if damage == "empty" else "shard_corrupt": 1}
    assert 10 <= len(pairs) < 20
    assert pairs.items() <= whole.items()


def test_a_long_row_group_is_streamed(tmp_path: Path) -> None:
    """Of 50 images of 200 kB in one row group and small pages, few are in memory."""
    noise = [np.random.default_rng(number).bytes(200_000) for number in range(50)]
    table = pa.table({"image": [{"bytes": data} for data in noise], "caption": [["a"]] * 50})
    pq.write_table(table, tmp_path / "0.parquet", row_group_size=50, write_batch_size=1)
    del table
    before = pa.total_allocated_bytes()
    with (tmp_path / "0.parquet").open("rb") as file:
        held = [pa.total_allocated_bytes() - before for _ in image_parquet._samples(file, {})]
    assert len(held) == 50
    assert max(held) < 5_000_000


PAIR_OF_IMAGES = dict.fromkeys(("left", "right"), pa.array(images_of(rows(5)), HUB))
UNUSABLE: list[tuple[dict[str, Any], dict[str, str], str]] = [
    ({"image": ["a.jpg"] * 5}, {}, r"image \(string\).* images, as binary or as .*pool\.columns\.image=NAME"),
    ({}, {"image": "width"}, r"width \(int64\)"),
    ({"image": None, **PAIR_OF_IMAGES}, {}, r"left .*right "),
    ({"caption": [[{"raw": "a dog"}]] * 5}, {}, r"caption \(list<element: struct<raw: string>>\)"),
    ({"caption": None, "alt": ["a dog"] * 5}, {}, r"no column 'text' in its metadata; its columns are image"),
    ({}, {"image": "imgae"}, r"columns\.image=imgae: pool p has no such column; did you mean 'image'"),
]


@pytest.mark.parametrize(("columns", "names", "message"), UNUSABLE)
def test_a_file_without_readable_pairs_is_one_line(
    tmp_path: Path, columns: Mapping[str, Any], names: dict[str, str], message: str
) -> None:
    write(tmp_path / "0.parquet", rows(5), **columns)
    with pytest.raises(UserError, match=message) as raised:
        Pool("p", str(tmp_path), names).shards(IMAGE)
    assert "img2dataset" not in str(raised.value)
    assert "\n" not in str(raised.value)
