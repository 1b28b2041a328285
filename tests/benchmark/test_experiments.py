"""A walk over conf/experiment and conf/selector: every one composes, and its parts can be made."""

import re
from pathlib import Path

import hydra
import pytest
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf

from benchmark.cli.jobs import job_overrides, planned_sweeps
from benchmark.run.config import CONF, register_resolvers
from benchmark.selection.selection import Selector
from downstream.models.dual_encoder import DualEncoder

GIVEN = {"ds_clip": ["pool.url=/data/yfcc15m"]}


def names(group: str) -> list[str]:
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


def composed(monkeypatch: pytest.MonkeyPatch, *overrides: str) -> DictConfig:
    monkeypatch.setenv("LAION400M_8M", "/data/laion")
    register_resolvers()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("config", list(overrides))


@pytest.mark.parametrize("name", names("experiment"))
def test_every_experiment_builds_its_parts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cfg = composed(monkeypatch, f"experiment={name}", *GIVEN.get(name, []))
    for node in (*cfg.downstream.values(), cfg.selector):
        hydra.utils.instantiate(node, _convert_="all")
    first = (CONF / "experiment" / f"{name}.yaml").read_text().splitlines()[1]
    assert first.startswith("# "), "the header says paper and command"


@pytest.mark.parametrize(("name", "runs"), [("paper_tables", 72), ("demo_grid", 103)])
def test_an_experiment_of_sweeps_lists_its_runs(
    name: str, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweeps = planned_sweeps([f"experiment={name}", "results_dir=r"])
    assert sum(len(job_overrides(overrides)) for _, *overrides in sweeps) == runs
    file = CONF / "experiment" / f"{name}.yaml"
    assert list(OmegaConf.load(file)) == ["sweeps"], "it is read for its sweeps alone"
    for _, *overrides in sweeps:
        (filters,) = (o.removeprefix("filter=").split(",") for o in overrides if o.startswith("filter="))
        assert set(filters) <= set(names("filter"))
        assert "random" not in filters[1:], "its results stand beside the others' in their tables"
        composed(monkeypatch, *(re.sub(",.*", "", override) for override in overrides))


def test_the_demos_grid_has_every_filter_or_says_why_not() -> None:
    text = (CONF / "experiment" / "demo_grid.yaml").read_text()
    assert [name for name in names("filter") if not re.search(rf"\b{name}\b", text)] == []


@pytest.mark.parametrize("name", names("selector"))
def test_every_selector_can_be_made(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    selector = hydra.utils.instantiate(composed(monkeypatch, f"selector={name}").selector, _convert_="all")
    assert isinstance(selector, Selector)
    assert (CONF / "selector" / f"{name}.yaml").read_text().startswith("# ")


def test_ds_clip_is_its_papers_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    cfg = composed(monkeypatch, "experiment=ds_clip", *GIVEN["ds_clip"])
    encoder = hydra.utils.instantiate(cfg.downstream.dual_encoder, _convert_="all")
    assert isinstance(encoder, DualEncoder)
    assert list(cfg.downstream) == ["dual_encoder"]
    assert (encoder.locked, encoder.unlocked.projection, encoder.unlocked.pretrained) == (False, 384, False)
    training = encoder.training
    assert training.samples_seen == 32 * cfg.size.samples
    assert (training.batch_size, training.weight_decay, training.warmup_ratio) == (4096, 0.2, 5 / 32)
    assert (training.optimizer, training.lr) == ("lamb", 2.5e-3)
    assert cfg.selector.labels.clusters == 10_000
    assert cfg.filter._target_ == composed(monkeypatch, "filter=no_filter").filter._target_
    assert (cfg.captions.use, cfg.captions.weights) == ("sum", None)
    assert "imagenet" in cfg.evalset
    assert Path(cfg.pool.url) == Path("/data/yfcc15m")
