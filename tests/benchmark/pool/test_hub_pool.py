"""A pool of tars on a stand-in hub: listed, read whole for scoring, by ranges for the chosen samples."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from omegaconf import OmegaConf

from benchmark.core import storage
from benchmark.core.errors import UserError
from benchmark.core.uids import encode_uids
from benchmark.pool.fetch import fetch_subset
from benchmark.pool.layout import expand_braces
from benchmark.pool.pool import Pool
from benchmark.pool.subset import Subset
from benchmark.run.config import CONF
from tests.pools import Row, rows, write_tar
from tests.servers import REVISION, Behaviour, hub_server

IMAGE = frozenset({"image", "text"})
URL = "hf://datasets/some/pool"


def samples(count: int, start: int) -> list[Row]:
    """As in the tars of the hub's CC12M: the JSON has the caption and the url, and no uid."""
    return [
        Row(r.key, r.url, r.text, r.image, {"uid": None, "status": "success"}) for r in rows(count, start)
    ]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Behaviour]:
    monkeypatch.setattr(storage, "FIRST_WAIT", 0.01)
    for number in range(2):
        write_tar(tmp_path / f"datasets/some/pool/train-{number:04d}.tar", samples(10, 10 * number))
    write_tar(tmp_path / "datasets/some/pool/validation-0000.tar", samples(10, 20))
    behaviour = Behaviour()
    with hub_server(tmp_path, behaviour, monkeypatch):
        yield behaviour


def test_chosen_samples_are_those_of_a_local_pool(server: Behaviour, tmp_path: Path) -> None:
    pool = Pool("p", f"{URL}@{REVISION}/train-{{0000..0001}}.tar")
    chosen = np.sort(encode_uids([rows(20)[n].uid for n in (0, 1, 5, 12)]))
    for shard in pool.shards(IMAGE):
        assert [len(batch) for batch in pool.batches(shard, IMAGE, 99, Counter())] == [10]
    sizes = sum(path.stat().st_size for path in (tmp_path / "datasets").rglob("train*.tar"))
    assert server.sent(".tar") == sizes  # each byte once
    server.gets.clear()
    fetched = Subset(fetch_subset(pool, chosen), chosen, metadata=pool)
    assert server.sent(".tar") < sizes / 3
    assert list(fetched) == list(Subset(Pool("p", str(tmp_path / "datasets/some/pool")), chosen))


def test_all_tars_of_a_repository_are_a_pool(server: Behaviour, tmp_path: Path) -> None:
    before = Pool("p", URL).tars
    assert [shard.name for shard in before] == ["train-0000", "train-0001", "validation-0000"]
    fingerprint = before[0].fingerprint
    assert Pool("p", URL).tars[0].fingerprint == fingerprint
    path = tmp_path / "datasets/some/pool/train-0000.tar"
    path.write_bytes(path.read_bytes()[:-1] + b"x")  # of the same size
    assert Pool("p", URL).tars[0].fingerprint != fingerprint
    with pytest.raises(UserError, match=r"access is denied; run `.*hf auth login`") as raised:
        Pool("p", "hf://datasets/some/private_pool")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(("name", "tars"), [("cc12m", 0), ("cc3m", 576)])
def test_a_shipped_pool_is_one_commit_of_the_hub(
    name: str, tars: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(name.upper(), raising=False)
    url = OmegaConf.load(CONF / "pool" / f"{name}.yaml").url
    assert re.match(rf"hf://datasets/pixparse/{name}-wds@[0-9a-f]{{40}}(/|$)", url)
    assert len(expand_braces(url)) == max(tars, 1)
    monkeypatch.setenv(name.upper(), "/data/own")
    assert OmegaConf.load(CONF / "pool" / f"{name}.yaml").url == "/data/own"
