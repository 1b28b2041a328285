"""Which files are a pool's shards."""

from collections import Counter
from pathlib import Path

import pytest

from benchmark.core.errors import UserError
from benchmark.core.uids import decode_uids
from benchmark.pool.layout import expand_braces, find_shards
from benchmark.pool.pool import Pool
from tests.pools import rows, write_metadata, write_tar

IMAGE = frozenset({"image", "text"})


def names(url: str) -> tuple[list[str], list[str]]:
    tars, metadata = find_shards(url)
    return [shard.name for shard in tars], [shard.name for shard in metadata]


def touch(root: Path, *files: str) -> str:
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_bytes(file.encode())
    return str(root)


@pytest.mark.parametrize(
    ("files", "tars", "metadata"),
    [
        (["shards/1.tar", "shards/0.tar", "metadata/0.parquet"], ["0", "1"], ["0"]),
        (["0.tar", "0.parquet", "deeper/1.tar", "deeper/1.parquet"], ["0"], ["0"]),
        (["shards/0.tar", "shards/0.parquet", "exports/1.parquet"], ["0"], ["0"]),
        (["part-0/0.tar", "part-0/0.parquet", "part-1/0.tar"], ["part-0%2F0", "part-1%2F0"], ["part-0%2F0"]),
        (["shards/a/0.tar", "metadata/a/0.parquet"], ["a%2F0"], ["a%2F0"]),
        (["a/shards/0.tar", "a/metadata/0.parquet"], ["a%2Fshards%2F0"], ["a%2Fmetadata%2F0"]),
        (["0.parquet", "images/0.tar"], [], ["0"]),
        (["shards/0.tar", "shards/.half.tar", ".cache/1.tar"], ["0"], []),
    ],
)
def test_layouts(tmp_path: Path, files: list[str], tars: list[str], metadata: list[str]) -> None:
    assert names(touch(tmp_path, *files)) == (tars, metadata)


def test_patterns_of_files(tmp_path: Path) -> None:
    root = touch(tmp_path, "shards/00.tar", "shards/01.tar", "shards/02.tar", "metadata/00.parquet")
    assert names(f"{root}/shards/{{01..02}}.tar") == (["01", "02"], [])
    assert names(f"{root}/shards/{{00,02}}.tar::{root}/metadata/00.parquet") == (["00", "02"], ["00"])
    assert names(f"{root}/shards/01.tar") == (["01"], [])
    touch(tmp_path, "a/0.tar", "b/0.tar")
    (tmp_path / "linked").symlink_to("a")
    assert names(f"{root}/{{a,b}}/0.tar") == (["a%2F0", "b%2F0"], [])
    assert names(f"{root}/linked") == (["0"], [])


def test_braces_are_webdatasets() -> None:
    import braceexpand

    for pattern in ("{00008..00011}.tar", "{a,b}/{0..2}.tar", "x.tar", "{9..11}.tar", "{098..101}.tar"):
        assert expand_braces(pattern) == list(braceexpand.braceexpand(pattern))


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("{3..1}.tar", "must be a range like"),
        ("{a..c}.tar", "must be a range like"),
        ("{0..1}.tar", "no such file"),
    ],
)
def test_a_wrong_pattern_is_a_user_error(tmp_path: Path, pattern: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Pool("p", f"{tmp_path}/{pattern}")


def test_a_nested_pool_is_read_and_cached_by_its_paths(tmp_path: Path) -> None:
    for number in range(2):
        samples = rows(3, start=3 * number)
        write_tar(tmp_path / f"part-{number}" / "00000.tar", samples)
        write_metadata(tmp_path / f"part-{number}" / "00000.parquet", samples)
    pool = Pool("p", str(tmp_path))
    assert pool.count() == 6
    for _ in range(2):  # the second time from the cached index
        read = [b for shard in pool.shards(IMAGE) for b in pool.batches(shard, IMAGE, 9, Counter())]
        assert [uid for batch in read for uid in decode_uids(batch.uids)] == [row.uid for row in rows(6)]


def test_a_pools_key_has_no_credentials(tmp_path: Path) -> None:
    from tests.servers import Behaviour, http_server

    write_tar(tmp_path / "0.tar", rows(1))
    with http_server(tmp_path, Behaviour()) as url:
        keys = {Pool("p", f"{url}/0.tar?signature={signature}").key for signature in "ab"}
        assert len(keys) == 1
        user = url.replace("://", "://me:secret@")
        assert [shard.name for shard in Pool("p", user).tars] == ["0"]
