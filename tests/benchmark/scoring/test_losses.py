"""What a scoring says of pairs that it could not read, and when it stops."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.core.errors import UserError
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import check_losses, score_pool
from benchmark.scoring.score_table import ScoreTable
from filters.random import Random
from tests.benchmark.scoring.test_cascades import Rarity
from tests.command_line import Run, assert_one_line
from tests.pools import Row, hashed_uids, jpeg, rows, write_pool, write_tar


def table(scored: int, **drops: int) -> ScoreTable:
    return ScoreTable(hashed_uids(scored), np.zeros(scored, np.float32), Counter(drops))


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    return Pool("p", str(write_pool(tmp_path / "pool", [rows(1)])))


def test_lost_pairs_are_said_in_one_line_and_others_are_not_lost(
    pool: Pool, caplog: pytest.LogCaptureFixture
) -> None:
    check_losses(pool, table(1, nsfw=50, download_failed=9, duplicate_uid=7, no_score=3), 1, 0)
    check_losses(pool, table(96, image_unreadable=3, caption_empty=1, nsfw=50, shard_empty=1), 20, 0.05)
    assert caplog.messages == [
        "score: 4 of 100 pairs cannot be read, and an unknown number in 1 of 20 shards"
        " (1 caption_empty, 3 image_unreadable, 1 shard_empty)"
    ]


@pytest.mark.parametrize("drops", [{"pair_of_corrupt_shard": 6}, {"shard_corrupt": 1}])
def test_more_than_the_share_stops(pool: Pool, drops: dict[str, int]) -> None:
    with pytest.raises(
        UserError, match=r"more than scoring\.tolerate=0\.05 allows; .*scoring\.tolerate=0\.06"
    ):
        check_losses(pool, table(94, **drops), 17, 0.05)
    check_losses(pool, table(94, **drops), 17, 0.06)


def test_a_corrupt_shard_stops_the_command(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = write_pool(tmp_path / "pool", [rows(9), rows(9, start=9)])
    tar = folder / "shards" / "00000001.tar"
    tar.write_bytes(tar.read_bytes()[:9000])
    command = ["task=score", "pool=img2dataset", f"pool.url={folder}", "engine.workers=1", "filter=no_filter"]
    command += ["filter._target_=tests.benchmark.scoring.test_score_pool.Bright"]
    lost = "1 metadata_missing, 1 shard_corrupt"
    text = f"1 of 12 pairs cannot be read, and an unknown number in 1 of 2 shards ({lost})"
    assert_one_line(run(*command), f"{text}, more than scoring.tolerate=0.05 allows")
    assert run(*command, "scoring.tolerate=0.5").returncode == 0
    assert f"score: {text}" in caplog.messages


def test_statistics_of_no_pair_are_an_error(tmp_path: Path) -> None:
    write_tar(tmp_path / "0.tar", [Row("0", "", "", jpeg(0), files={"jpg": jpeg(0)})])
    with pytest.raises(UserError, match=r"has no usable pair \(1 caption_missing\); its tars hold \.jpg"):
        score_pool(Pool("p", str(tmp_path)), Rarity(), LocalEngine("cpu", 1))


def scored(folder: Path, **columns: str) -> None:
    """Score a pool by a filter of captions, and check the losses, as a command does."""
    pool = Pool("p", str(folder), columns)
    check_losses(pool, score_pool(pool, Random(), LocalEngine("cpu", 1)), 1, 0)


@pytest.mark.parametrize("value", [[["a dog"], ["a cat"]], {"en": "a dog"}, 7])
@pytest.mark.parametrize("of_tars", [False, True])
def test_captions_that_are_no_text_are_named(tmp_path: Path, value: Any, of_tars: bool) -> None:
    if of_tars:
        record = json.dumps({"link": "u", "alt": "a dog", "caption": value}).encode()
        write_tar(tmp_path / "0.tar", [Row("0", "", "", jpeg(0), files={"jpg": jpeg(0), "json": record})])
        kinds = {"link": "str", "alt": "str", "caption": type(value).__name__}
    else:
        pq.write_table(
            pa.table({"link": ["u"], "alt": ["a dog"], "caption": [value]}), tmp_path / "0.parquet"
        )
        schema = pq.read_schema(tmp_path / "0.parquet")
        kinds = {field.name: str(field.type) for field in schema}
    with pytest.raises(UserError) as raised:
        scored(tmp_path)
    listed = ", ".join(f"{name} ({kind})" for name, kind in kinds.items())
    hint = f"its columns are {listed}; name that of the captions, one text per pair, with pool.columns.text"
    assert hint in str(raised.value)
    # Nested types are refused before a caption is read.
    assert ("has no usable pair (1 caption_missing); " in str(raised.value)) == (
        of_tars or not isinstance(value, list | dict)
    )
    scored(tmp_path, text="alt")


def test_a_damaged_pool_is_not_a_small_one(tmp_path: Path) -> None:
    (tmp_path / "0.parquet").write_bytes(b"PAR1" * 9)
    with pytest.raises(UserError, match=r"\(1 shard_corrupt\); copy or download its files again"):
        scored(tmp_path)
