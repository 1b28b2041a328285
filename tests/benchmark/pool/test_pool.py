import re
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.core.errors import UserError
from benchmark.core.uids import decode_uids, make_uid
from benchmark.pool.pool import Pool
from tests.pools import Row, jpeg, rows, write_metadata, write_pool, write_tar

TEXT, IMAGE = frozenset({"text"}), frozenset({"image", "text"})


def read(pool: Pool, needs: frozenset[str], size: int = 3):
    drops = Counter()
    batches = [b for shard in pool.shards(needs) for b in pool.batches(shard, needs, size, drops)]
    return batches, drops


def uids(batches) -> list[str]:
    return [uid for batch in batches for uid in decode_uids(batch.uids)]


def test_tars_and_metadata_give_the_same_samples(tmp_path) -> None:
    shards = [rows(5), rows(4, start=5)]
    pool = Pool("p", str(write_pool(tmp_path, shards)))
    images, _ = read(pool, IMAGE)
    (tmp_path / "shards" / "00000000.tar").write_bytes(b"")
    texts, _ = read(pool, TEXT)  # without opening a tar
    assert uids(texts) == uids(images) == [r.uid for shard in shards for r in shard]
    assert not texts[0].images
    assert [i.size for i in images[0].images] == [(32, 32)] * 3
    assert max(len(b) for b in texts + images) == 3
    assert pool.count() == 9
    (tmp_path / "metadata" / "00000000.parquet").unlink()
    (tmp_path / "metadata" / "00000001.parquet").unlink()
    (tmp_path / "shards" / "00000000.tar").unlink()
    of_tars = Pool("p", str(tmp_path))
    batches, _ = read(of_tars, TEXT)
    assert uids(batches) == [r.uid for r in shards[1]]
    assert not batches[0].images
    assert of_tars.count() is None


def unsafe_pool(tmp_path, **settings) -> Pool:
    """Five samples, of which the first and the last are safe; the last but one is not rated."""
    ratings = ["UNLIKELY", "NSFW", "UNSURE", None, "UNLIKELY"]
    samples = rows(5)
    for sample, rating in zip(samples, ratings, strict=True):
        sample.extra["NSFW"] = rating
    write_pool(tmp_path, [samples])
    write_metadata(tmp_path / "metadata" / "00000000.parquet", samples, NSFW=ratings)
    return Pool("p", str(tmp_path), columns={"nsfw": "NSFW"}, **settings)


def test_unsafe_samples_are_dropped_by_their_column(tmp_path) -> None:
    safe, everything = unsafe_pool(tmp_path, nsfw=["UNLIKELY"]), unsafe_pool(tmp_path)
    for needs in (TEXT, IMAGE, frozenset({"image", "NSFW"})):
        batches, drops = read(safe, needs)
        assert uids(batches) == [rows(5)[0].uid, rows(5)[4].uid]
        assert drops == {"nsfw": 3}
        assert len(uids(read(everything, needs)[0])) == 5
    assert safe.key != everything.key == Pool("p", str(tmp_path), {"nsfw": "NSFW"}, nsfw=[]).key


URLS, PAIR = ["u0", "u1"], ["one", "two"]
COLUMNS = {
    "LAION": {"URL": URLS, "TEXT": PAIR, "NSFW": ["UNLIKELY", "NSFW"], "similarity": [0.3, 0.4]},
    "CC3M": {"image_url": URLS, "caption": PAIR},
    "img2dataset": {"url": URLS, "caption": PAIR, "key": ["0", "1"], "status": ["success"] * 2},
    "DataComp": {"url": URLS, "text": PAIR},
}


@pytest.mark.parametrize("names", COLUMNS)
def test_the_usual_names_need_no_setting(tmp_path, names: str, caplog) -> None:
    pq.write_table(pa.table(COLUMNS[names]), tmp_path / "a.parquet")
    (batch,), drops = read(Pool("p", str(tmp_path)), TEXT)
    assert decode_uids(batch.uids) == [make_uid("u0", "one"), make_uid("u1", "two")]
    assert batch.texts == ["one", "two"]
    assert not drops
    assert not caplog.messages
    if names == "LAION":
        score = frozenset({"clip_b32_similarity_score"})
        (batch,), drops = read(Pool("p", str(tmp_path), nsfw=["UNLIKELY"]), score)
        assert batch.columns["clip_b32_similarity_score"].tolist() == [0.3]
        assert drops == {"nsfw": 1}


def test_keys_tell_samples_without_url_apart_or_else_captions_do(tmp_path, caplog) -> None:
    same = [Row(key, "", "a dog", jpeg(0), files={"jpg": jpeg(0), "txt": b"a dog"}) for key in ("00", "01")]
    write_tar(tmp_path / "0.tar", same)
    expected = [make_uid("00", "a dog"), make_uid("01", "a dog")]
    assert uids(read(Pool("p", str(tmp_path)), IMAGE)[0]) == expected
    table = {"key": ["00", "01"], "url": [None, None], "caption": ["a dog"] * 2}
    for columns, listed in ((table, expected), ({"text": ["a dog"] * 2}, [make_uid("", "a dog")] * 2)):
        pq.write_table(pa.table(columns), tmp_path / "0.parquet")
        both = Pool("p", str(tmp_path))
        assert uids(read(both, TEXT)[0]) == uids(read(both, IMAGE)[0]) == listed
    (message,) = caplog.messages  # said once
    assert "no column uid, url or key: captions tell its pairs apart" in message


def test_damaged_files_of_metadata_are_counted(tmp_path) -> None:
    (tmp_path / "c.parquet").write_bytes(b"")
    (tmp_path / "d.parquet").write_bytes(b"PAR1 not really PAR1")
    samples = rows(40)
    write_metadata(tmp_path / "a.parquet", samples)
    pq.write_table(pq.read_table(tmp_path / "a.parquet"), tmp_path / "a.parquet", row_group_size=10)
    data = bytearray((tmp_path / "a.parquet").read_bytes())
    start = pq.ParquetFile(tmp_path / "a.parquet").metadata.row_group(2).column(2).data_page_offset
    data[start : start + 40] = b"\xff" * 40
    (tmp_path / "a.parquet").write_bytes(data)
    batches, drops = read(Pool("p", str(tmp_path)), TEXT, size=10)
    assert uids(batches) == [sample.uid for sample in samples[:20]]
    assert drops == {"pair_of_corrupt_shard": 20, "shard_empty": 1, "shard_corrupt": 1}


def test_failed_downloads_are_not_counted_whatever_their_type_of_text(tmp_path) -> None:
    for number, kind in enumerate((pa.string(), pa.large_string(), pa.string_view())):
        status = pa.array(["success", "failed_to_download"], kind)
        pq.write_table(pa.table({"status": status}), tmp_path / f"{number}.parquet")
    assert Pool("p", str(tmp_path)).count() == 3


def test_a_folder_named_like_a_parquet_is_one(tmp_path) -> None:
    write_metadata(tmp_path / "x.parquet" / "part-00000.snappy.parquet", rows(3))  # as Spark writes
    (tmp_path / "x.parquet" / "_SUCCESS").touch()
    for url in (tmp_path, tmp_path / "x.parquet"):
        assert Pool("p", str(url)).count() == 3


@pytest.mark.parametrize(
    ("columns", "settings", "needs", "message"),
    [
        ("", {}, "text", "must be a folder with shards"),
        ("link alt", {}, "text", r"columns are link \(string\), alt \(string\); .*pool\.columns\.text"),
        ("text url", {}, "image", r"holds no tars.* task=export filter=icc.* img2dataset"),
        ("text", {"nsfw": ["UNLIKELY"]}, "text", r"no column 'nsfw' in its metadata; .*pool\.nsfw=\[\]"),
        ("text clip_l14_similarity_score", {}, "clip_b14_similarity_score", "did you mean 'clip_l14_sim"),
        (
            "caption",
            {"columns": {"text": "captoin"}},
            "text",
            r"pool\.columns\.text=captoin: .* mean 'caption'",
        ),
    ],
)
def test_a_pool_without_what_is_needed_is_one_line(tmp_path, columns, settings, needs, message) -> None:
    if columns:
        table = {name: ["a dog"] for name in columns.split()}
        pq.write_table(pa.table(table), tmp_path / "a.parquet")
    with pytest.raises(UserError, match=message) as raised:
        read(Pool("p", str(tmp_path), **settings), frozenset({needs}))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("reason", "hint"),
    [
        ("uid_invalid", r"a uid must be 32 hexadecimal digits or a UUID: .*pool\.columns\.uid=NAME"),
        ("key_with_dot", r"names of files in tars must have one dot"),
        ("shard_corrupt", "copy or download its files again"),
        ("image_missing", r"no usable pair \(1 image_missing\)$"),
        (
            "caption_missing",
            r"tars hold \.img and \.cap: .* pool\.columns\.image=NAME pool\.columns\.text=NAME",
        ),
    ],
)
def test_a_pool_without_usable_pairs_says_what_to_do(tmp_path, reason: str, hint: str) -> None:
    write_tar(tmp_path / "0.tar", [Row("0", "", "", b"", files={"img": jpeg(0), "cap": b"a dog"})])
    assert re.search(hint, str(Pool("p", str(tmp_path)).nothing_usable(Counter({reason: 1}))))
    (batch,), _ = read(Pool("p", str(tmp_path), {"image": "img", "text": "cap"}), IMAGE)
    assert batch.texts == ["a dog"]
    with pytest.raises(UserError, match="did you mean 'cap'"):
        read(Pool("p", str(tmp_path), {"text": "cpa"}), TEXT)
