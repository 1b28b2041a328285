"""What the cache holds may be damaged: it is named in one line, made again, and gives what it gave before."""

from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.core.batch import Batch
from benchmark.core.cached_files import intact, read_cached
from benchmark.core.mapped_files import save_array
from benchmark.core.paths import atomic_folder, cache_dir, cache_folder, write_cached
from benchmark.core.uids import read_subset, write_subset
from benchmark.engine.local import LocalEngine
from benchmark.pool.content import pool_content
from benchmark.pool.pool import Pool
from benchmark.scoring.score_folder import save_survivors
from benchmark.scoring.score_pool import score_pool
from downstream.training.train_report import TrainReport, finished, mark_finished
from filters.base import Features, Filter, Scores
from tests.downstream.tiny_models import Recorder
from tests.downstream.training.test_trainer import Guess, fit, same
from tests.hostile.damage import DAMAGES, Damage, cached_files, flip, truncate
from tests.pools import numbered_uids, rows, write_pool


class Size(Features):
    """The width of each image."""

    needs = frozenset({"image"})
    batch_size = 4

    def extract(self, batch: Batch) -> dict[str, Any]:
        return {"width": np.array([[image.width] for image in batch.images], np.float32)}


class BySize(Filter):
    """Scores from cached features."""

    needs = frozenset()

    def __init__(self) -> None:
        self.features = (Size(),)

    def score(self, batch: Batch) -> Scores:
        return np.asarray(batch.features["width"][:, 0] + batch.uids["f1"].astype(np.float32) % 7, np.float32)


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    return Pool("p", str(write_pool(tmp_path / "pool", [rows(6), rows(6, start=6)])))


def scores(pool: Pool) -> Any:
    table = score_pool(pool, BySize(), LocalEngine("cpu", 1))
    return [table.uids.tolist(), table.scores.tolist(), dict(table.drops)]


def make(pool: Pool) -> list[Any]:
    """What the cache is filled with: scores, indices of tars, content, an array, the survivors of a cascade."""
    indices = [(i.uids.tolist(), i.texts, i.offsets.tolist()) for i in map(pool.index, pool.tars)]
    array = save_array(cache_folder("fits") / "a.npy", np.arange(1_000)).values.tolist()
    survivors = read_subset(save_survivors(pool, numbered_uids(100))).tolist()
    return [scores(pool), indices, astuple(pool_content(pool)), array, survivors]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_named_and_made_again(
    pool: Pool, damage: Damage, caplog: pytest.LogCaptureFixture
) -> None:
    made = make(pool)
    files = cached_files()
    assert files
    for path in files:
        damage(path)
    assert make(pool) == made
    named = [message for message in caplog.messages if "is damaged" in message]
    assert named
    assert all("it is removed, and made again" in message for message in named)
    caplog.clear()
    assert make(pool) == made
    assert "is damaged" not in caplog.text


@pytest.mark.parametrize("name", ["scores", "features", "tar_index", "survivors"])
def test_every_flipped_bit_is_noticed(pool: Pool, name: str) -> None:
    make(pool)
    path = next(path for path in cached_files() if name in path.parts)
    seal = path.with_name(f".{path.name}.seal")
    whole, listed = path.read_bytes(), seal.read_bytes()
    for bit in np.random.default_rng(0).choice(8 * len(whole), 25, replace=False).tolist():
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        assert not intact(path)
        seal.write_bytes(listed)
    path.write_bytes(whole)
    assert intact(path)


def test_a_replaced_file_and_any_damaged_file_of_a_folder_are_removed() -> None:
    path = cache_folder("content") / "x.json"
    write_cached(path, [1, 2])
    assert read_cached(path) == [1, 2]
    path.write_text(path.read_text().replace("2", "3"))
    assert read_cached(path) is None
    assert list(path.parent.iterdir()) == []
    folder = cache_folder("fits") / "rows"
    for harm in (truncate, flip, Path.unlink):
        with atomic_folder(folder) as temporary:
            (temporary / "inner").mkdir()
            for name in ("a", "inner/b"):
                (temporary / name).write_text(name * 100)
        assert intact(folder)
        harm(folder / "inner" / "b")
        assert not intact(folder)
        assert not folder.exists()


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": [1, 2]}', '{"a": ["a", "b", "c"]}', "\xff"])
def test_a_damaged_seal_ends_nothing(text: str) -> None:
    for _ in range(2):
        with atomic_folder(folder := cache_folder("fits") / "rows") as temporary:
            (temporary / "a").write_text("a")
        assert intact(folder)
        (folder / ".seal").write_text(text, encoding="latin-1")
        assert not intact(folder)
        assert not folder.exists()


def test_only_the_cache_has_checksums(tmp_path: Path) -> None:
    write_subset(tmp_path / "a.npy", numbered_uids(1))
    with atomic_folder(tmp_path / "b"):
        pass
    assert (tmp_path / "a.npy").stat().st_size == 128 + 16
    assert list((tmp_path / "b").iterdir()) == []


@pytest.mark.parametrize(
    ("name", "damage"), zip(["model.safetensors", "optimizer.pt", "state.json"], DAMAGES, strict=True)
)
def test_a_damaged_checkpoint_costs_its_steps_alone(
    damage: Damage, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder = cache_folder("trained") / "guess" / "checkpoints"
    with pytest.raises(KeyboardInterrupt):
        fit(Guess(), folder, Recorder(stop_at=70), checkpoint_every=50)
    (checkpoint,) = folder.glob("step-*")
    damage(checkpoint / name)
    again, whole = Guess(), Guess()
    assert fit(again, folder, checkpoint_every=50).resumed_from is None
    assert f"{checkpoint} is damaged" in caplog.text
    fit(whole, cache_dir() / "whole")
    assert same(again, whole)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", ["finished.json", "model/weights"])
def test_a_damaged_training_is_not_finished(damage: Damage, name: str) -> None:
    folder = cache_folder("trained") / "guess"
    report = TrainReport(10, 1, 1.0, 10.0, 1.0, {}, None)
    with atomic_folder(folder / "model") as temporary:
        (temporary / "weights").write_bytes(bytes(100))
    mark_finished(folder, "f", report)
    assert finished(folder, "f") == report
    damage(folder / name)
    assert finished(folder, "f") is None
