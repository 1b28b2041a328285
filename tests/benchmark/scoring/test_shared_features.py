"""Features of several filters, extracted in one walk over the pool."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
import torch
from PIL import Image

from benchmark.core import images, pixel_workers, usage
from benchmark.core.batch import Batch
from benchmark.core.paths import cache_dir, cache_folder
from benchmark.engine.local import LocalEngine
from benchmark.pool import tar_reader
from benchmark.pool.pool import Pool
from benchmark.scoring import shard_reader
from benchmark.scoring.feature_cache import load_features
from benchmark.scoring.score_parts import read_part, read_part_info
from benchmark.scoring.score_pool import score_pool
from benchmark.scoring.shard_reader import JointPixels
from benchmark.scoring.shard_work import extract_shared
from filters.base import Features, Filter, Scores
from tests.pools import jpeg, numbered_uids, rows, write_pool

ONE = LocalEngine("cpu", 1)


class Brightness(Features):
    """The mean of each image."""

    needs = frozenset({"image"})
    batch_size = 4

    def extract(self, batch: Batch) -> dict[str, np.ndarray]:
        return {"number": np.array([[self.number(np.asarray(i))] for i in batch.images], np.float32)}

    def number(self, pixels: np.ndarray) -> float:
        return float(pixels.mean())


class Contrast(Brightness):
    """The standard deviation of each image; reads its caption, too."""

    needs = frozenset({"image", "text"})

    def number(self, pixels: np.ndarray) -> float:
        return float(pixels.std())


class Centred(Brightness):
    """The brightest level of each image, with its mean: builds on the mean."""

    def __init__(self) -> None:
        self.features = (Brightness(),)

    def extract(self, batch: Batch) -> dict[str, np.ndarray]:
        return {"far": super().extract(batch)["number"] - batch.features["number"]}

    def number(self, pixels: np.ndarray) -> float:
        return float(pixels.max())


class Reads(Filter):
    """The first number of its first features."""

    needs = frozenset()
    made_of: ClassVar[tuple[type[Features], ...]]

    def __init__(self) -> None:
        self.features = tuple(make() for make in self.made_of)

    def score(self, batch: Batch) -> Scores:
        return next(iter(batch.features.values()))[:, 0]


class Bright(Reads):
    made_of = (Brightness,)


class Contrasted(Reads):
    made_of = (Contrast,)


class Flat(Reads):
    made_of = (Centred, Contrast)


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the images that are decoded, in order."""
    sizes = list[int]()
    monkeypatch.setattr(
        tar_reader, "decode_image", lambda data: sizes.append(len(data)) or images.decode_image(data)
    )
    return sizes


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    """Eleven images of two tars, and one that cannot be decoded."""
    shards = [rows(6), rows(6, start=6)]
    shards[0][2] = replace(shards[0][2], image=b"not a picture")
    return Pool("p", str(write_pool(tmp_path / "pool", shards)))


def made() -> dict[str, list[object]]:
    """The scores and features in the cache by their files, without the seconds in them."""
    found: dict[str, list[object]] = {}
    for path in sorted(cache_folder("scores").rglob("*.parquet")):
        arrays = [array.tobytes() for array in read_part(path)]
        found[f"{path.parent.name}/{path.name}"] = [*arrays, read_part_info(path).drops]
    for path in sorted(cache_folder("features").rglob("*.arrow")):
        table = load_features(path)
        found[f"{path.parent.name}/{path.name}"] = [table.uids.tobytes(), table.columns, table.drops]
    return found


@pytest.mark.parametrize(
    ("filters", "walks"), [((Bright, Contrasted), 1), ((Contrasted, Bright, Flat), 2)], ids=["one", "stacked"]
)
def test_filters_decode_each_image_once(
    pool: Pool,
    decoded: list[int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    filters: tuple[type[Filter], ...],
    walks: int,
) -> None:
    extract_shared(pool, [make() for make in filters], ONE)
    assert len(decoded) == 12 * walks
    for make in filters:
        score_pool(pool, make(), ONE)
    assert len(decoded) == 12 * walks
    together = made()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "alone"))
    for make in filters:
        score_pool(pool, make(), ONE)
    assert len(decoded) > 2 * 12 * walks
    assert made() == together
    assert len(together) == 2 * (2 * len(filters) if walks == 1 else 6)


def test_only_shards_without_scores_are_read(pool: Pool, decoded: list[int]) -> None:
    filters = [Bright(), Contrasted()]
    for scorer in filters:
        score_pool(pool, scorer, ONE)
    whole = made()
    for path in cache_dir().rglob("00000001*.arrow"):
        path.unlink(missing_ok="features" in path.parts)
    extract_shared(pool, filters, ONE)
    decoded.clear()
    for path in cache_dir().rglob("scores/**/00000001*.parquet"):
        path.unlink()
    extract_shared(pool, filters, ONE)
    assert len(decoded) == 6, "the images of one shard, once"
    for scorer in filters:
        score_pool(pool, scorer, ONE)
    assert made() == whole


def test_what_one_filter_lacks_is_left_to_it(pool: Pool, decoded: list[int]) -> None:
    extract_shared(pool, [Flat(), Flat()], ONE)
    assert not decoded
    score_pool(pool, Bright(), ONE)
    decoded.clear()
    extract_shared(pool, [Bright(), Contrasted()], ONE)
    assert not decoded


def test_reading_is_shared_out_equally(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=0.0)

    def slow(data: bytes) -> Image.Image:
        clock.now += 1
        return images.decode_image(data)

    monkeypatch.setattr(tar_reader, "decode_image", slow)
    monkeypatch.setattr(usage, "time", SimpleNamespace(monotonic=lambda: clock.now))
    extract_shared(pool, [Bright(), Contrasted()], ONE)
    seconds = [load_features(path).cost.clock for path in cache_folder("features").rglob("*.arrow")]
    assert seconds == [3.0] * 4  # of two shards with six images, for two features


def small(image: Image.Image) -> torch.Tensor:
    return torch.from_numpy(np.array(image.resize((4, 8)), np.float32)).permute(2, 0, 1)


def square(image: Image.Image) -> torch.Tensor:
    return torch.from_numpy(np.array(image.resize((6, 6)), np.float32)).permute(2, 0, 1)


def test_pixels_for_several_models_are_those_of_each() -> None:
    pictures = [images.decode_image(jpeg(seed)) for seed in range(3)]
    joint = JointPixels([small, square])
    batch = Batch(numbered_uids(3), ["", "", ""], pixels=torch.stack([joint(of) for of in pictures]))
    for own, alone in zip(joint.split(batch), (small, square), strict=True):
        assert torch.equal(own.pixels, torch.stack([alone(of) for of in pictures]))


class SmallPixels(Features):
    """The pixels themselves, preprocessed."""

    needs = frozenset({"image"})
    batch_size = 4
    preprocess = staticmethod(small)

    def preprocessing(self) -> pixel_workers.Preprocessing:
        return self.preprocess

    def extract(self, batch: Batch) -> dict[str, np.ndarray]:
        in_series = batch.pixels is None
        assert in_series == (pixel_workers.MANY_IMAGES > 6)
        pixels = torch.stack([*map(self.preprocess, batch.images)]) if in_series else batch.pixels
        return {"pixels": pixels.flatten(1).numpy()}


class SquarePixels(SmallPixels):
    """Those of another model."""

    preprocess = staticmethod(square)


class Small(Reads):
    made_of = (SmallPixels,)


class Square(Reads):
    made_of = (SquarePixels,)


@pytest.mark.slow
def test_processes_preprocess_for_several_models(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_reader, "own_cores", lambda: 2)
    filters = [Small(), Square()]
    with monkeypatch.context() as patch:
        patch.setattr(pixel_workers, "MANY_IMAGES", 1)
        extract_shared(pool, filters, ONE)
    in_processes = made()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "series"))
    extract_shared(pool, filters, ONE)
    assert made() == in_processes
    assert len(in_processes) == 4
