"""Which of a sample's captions counts, and how a parquet's rows are checked."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core.uids import decode_uids, encode_uids, make_uid
from benchmark.pool.pool import Pool
from benchmark.pool.tar_index import index_tar, load_index, save_index
from tests.pools import Row, jpeg, rows, write_metadata, write_tar

TEXT, IMAGE = frozenset({"text"}), frozenset({"image", "text"})


def sample(key: str, txt: bytes | None, **fields: Any) -> Row:
    files = {"jpg": jpeg(0), "json": json.dumps(fields).encode()}
    return Row(key, "", "", b"", files=files if txt is None else files | {"txt": txt})


def test_the_json_counts_and_the_txt_is_checked(tmp_path: Path) -> None:
    samples = [
        sample("0", b"same", caption="same"),
        sample("1", b"from the txt", caption="from the json"),
        sample("2", b"\xff\xfe", caption="the txt is broken"),
        sample("3", b"only in the txt"),
        sample("4", b"the json is blank", caption=" "),
        sample("5", None, caption="only in the json"),
    ]
    write_tar(tmp_path / "a.tar", samples)
    index = index_tar(tmp_path / "a.tar", {})
    assert index.texts == [
        "same", "from the json", "the txt is broken", "only in the txt", "the json is blank", "only in the json",
    ]  # fmt: skip
    save_index(tmp_path / "a.arrow", index)
    assert load_index(tmp_path / "a.arrow").mismatched.tolist() == [False, True, True, False, False, False]
    assert not index.drops


def test_parquet_and_tar_hash_the_same_caption(tmp_path: Path) -> None:
    texts = ["first", "second"]
    write_tar(tmp_path / "0.tar", [sample(text, b"other", caption=text, url="u") for text in texts])
    pq.write_table(pa.table({"url": ["u", "u"], "caption": texts}), tmp_path / "0.parquet")
    pool = Pool("p", str(tmp_path))
    read = [
        [uid for batch in pool.batches(shard, needs, 9, Counter()) for uid in decode_uids(batch.uids)]
        for needs in (TEXT, IMAGE)
        for shard in pool.shards(needs)
    ]
    assert read == [[make_uid("u", text) for text in texts]] * 2


def test_the_metadata_is_searched_for_captions(tmp_path: Path) -> None:
    samples = rows(9)
    write_metadata(tmp_path / "metadata" / "0.parquet", samples[:5])
    repeated = [Row("", samples[1].url, samples[1].text, b""), *samples[5:8]]
    write_metadata(tmp_path / "metadata" / "1.parquet", repeated)
    columns = {"uid": [samples[1].uid, samples[8].uid], "text": ["too late", " "]}
    pq.write_table(pa.table(columns), tmp_path / "metadata" / "2.parquet")
    pool = Pool("p", str(tmp_path))
    wanted = [8, 1, 6, 1]
    captions = pool.captions(encode_uids([samples[n].uid for n in wanted]), pool.metadata)
    assert captions == [None, *(samples[n].text for n in wanted[1:])]


def test_every_caption_of_a_tar_is_read_or_counted(tmp_path: Path) -> None:
    captions = [f"{chr(n)} {n}" for n in range(0xD7FF) if n % 97 == 0] + ["", " ", "\0", "\u3000", "a\r\nb"]
    samples = [Row(f"{n:05d}", f"http://x/{n}", text, b"") for n, text in enumerate(captions)]
    write_tar(tmp_path / "0.tar", samples)
    index = index_tar(tmp_path / "0.tar", {})
    assert index.drops == {"caption_empty": 3}
    known = {(sample.uid, sample.text) for sample in samples}
    read = set(zip(decode_uids(index.uids), index.texts, strict=True))
    assert read < known
    assert len(read) == len(captions) - 3
