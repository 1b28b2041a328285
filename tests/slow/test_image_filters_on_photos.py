"""Every filter that reads images, with the demo's models, on a third of the real photos with captions."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hydra import compose, initialize_config_dir
from safetensors.torch import save_file

from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.run.config import CONF, make_filter, register_resolvers
from benchmark.scoring.score_pool import score_pool
from benchmark.scoring.score_table import ScoreTable
from filters.base import Composite, Filter
from tests.slow.test_real_data import coco_photos, write_photo_pool

pytestmark = pytest.mark.slow
NAMES = sorted(path.stem for path in (CONF / "filter").glob("*.yaml"))
WIDTH = 128  # of the demo's CLIP
HEAD = ["model=${models.clip.model}", "pretrained=null"]
# Those that leave pairs out; all others score every photo.
CUTS = {"cascade", "debiased", "image_based", "image_based_clip", "laion2b", "near_duplicates"}
PARROTS = {"cotr", "rsc"}  # what they count is a caption's repetition of the image's text: there is none here


def overrides(name: str, folder: Path) -> list[str]:
    """What a user gives, and sizes for some hundred photos."""
    given = {
        "aesthetics": [*(f"filter.{part}" for part in HEAD), f"filter.head={folder / 'head.safetensors'}"],
        "debiased": [
            *(f"filter.aesthetics.{part}" for part in HEAD),
            f"filter.aesthetics.head={folder / 'head.safetensors'}", "filter.clusters=20",
        ],
        "image_based": [f"filter.target={folder / 'target.npy'}", "filter.clusters=20"],
        "image_based_clip": [
            f"filter.filters.image_based.target={folder / 'target.npy'}",
            "filter.filters.image_based.clusters=20",
        ],
        "lexicon": [f"filter.ratings={folder / 'ratings.txt'}"],
        "near_duplicates": ["filter.clusters=20"],
        "ave_clip": ["filter.images=1", "filter.steps=1"],
    }  # fmt: skip
    return given.get(name, [])


def make(name: str, folder: Path, *more: str) -> Filter | None:
    """The filter of a config, if it reads images."""
    register_resolvers()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose(
            "config", [f"filter={name}", "models=demo", "device=cpu", *overrides(name, folder), *more]
        )
    if "???" in str(cfg.filter):
        return None  # what it needs is a file of captions' scores or of words
    made = make_filter(cfg)
    return made if "image" in made.sources else None


def write_inputs(folder: Path) -> None:
    """A random head of aesthetics that says about 5, random target embeddings, a word's rating."""
    (folder / "ratings.txt").write_text("Word\tConc.M\nphoto\t4.6\n")
    weight = torch.randn(1, WIDTH, generator=torch.Generator().manual_seed(0))
    save_file({"weight": weight, "bias": torch.full((1,), 5.0)}, folder / "head.safetensors")
    np.save(folder / "target.npy", np.random.default_rng(0).normal(size=(10, WIDTH)))


@pytest.fixture(scope="module")
def folder(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("photos")
    captions, without = coco_photos(shared_data)
    write_photo_pool(made / "pool", dict([*captions.items()][::3]), without[::3])
    write_inputs(made)
    return made


@pytest.fixture(autouse=True)
def cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One cache for the module: most of these filters share the embeddings."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    return folder / "cache"


def score(made: Filter, folder: Path) -> ScoreTable:
    return score_pool(Pool("photos", str(folder / "pool")), made, LocalEngine("cpu", workers=1))


@pytest.mark.parametrize("name", NAMES)
def test_every_photo_with_a_caption_is_scored(name: str, folder: Path) -> None:
    made = make(name, folder)
    if made is None:
        pytest.skip("reads no images")
    table = score(made, folder)
    assert len(table.uids) == 53
    assert table.drops == {"caption_missing": 27}
    assert not np.isinf(table.scores).any()
    if name not in CUTS:
        assert np.isfinite(table.scores).all()
        assert (np.unique(table.scores).size == 1) == (name in PARROTS)
    for part in made.filters.values() if isinstance(made, Composite) else []:
        assert len(score(part, folder).uids) == 53
