"""Demos that are drawn once for all tests that only read them."""

from collections.abc import Sequence
from pathlib import Path

import hydra
import pytest

SMALL_DEMO = [
    "pool.demo.pairs=2000", "pool.demo.shard_size=500", "pool.demo.evaluation={coco: 24, nocaps: 6, flickr30k: 12}",
]  # fmt: skip
# A run of seconds: one model, few samples, one metric, two evaluation sets.
SMALL_RUN = [
    "size.samples=20000", "engine.workers=1", "downstream=dual_encoder",
    "downstream.dual_encoder.training.samples_seen=256", "~evalset.nocaps", "~evalset.classes", "metrics=[rouge_l]",
    "results_dir=results",
]  # fmt: skip


def demo_model(name: str) -> str:
    """The folder of a scale model of the demo; without the package that ships it, its tests are skipped."""
    settings = pytest.importorskip("pairsift.demo.settings")
    return str(settings.demo_model(name))


def draw(cache: Path, settings: Sequence[str] = SMALL_DEMO) -> None:
    """Draw a demo into the cache folder `cache`, as a run with these settings would."""
    from tests.jobs import compose_config  # imports torch, which conftest has to set variables for

    build = pytest.importorskip("pairsift.demo.build")
    cfg = compose_config("pool=demo", *settings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        build.ensure_demo(hydra.utils.instantiate(cfg.pool.demo, _convert_="all"), workers=1)


def link(drawn: Path, cache: Path) -> None:
    """Let a run with the cache folder `cache` find the demos in the cache folder `drawn`."""
    demos = cache / "pairsift" / "demo"
    demos.mkdir(parents=True)
    for demo in (drawn / "pairsift" / "demo").iterdir():
        (demos / demo.name).symlink_to(demo)
