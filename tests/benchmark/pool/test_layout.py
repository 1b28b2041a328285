"""Which files are a pool's shards."""

from pathlib import Path

import pytest

from benchmark.core.errors import UserError
from benchmark.pool.layout import expand_braces, find_shards
from benchmark.pool.pool import Pool
from tests.servers import Behaviour, http_server


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


def test_a_shards_version_has_no_credentials(tmp_path: Path) -> None:
    touch(tmp_path, "0.tar")
    with http_server(tmp_path, Behaviour()) as url:
        urls = [f"{url}/0.tar?signature={signature}" for signature in "ab"]
        (first,), (second,) = (find_shards(signed)[0] for signed in urls)
        assert (first.name, first.version) == ("0", second.version)
        assert names(url.replace("://", "://me:secret@")) == (["0"], [])
