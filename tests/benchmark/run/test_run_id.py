"""The id of a run: the published results keep theirs, and a quick try has another."""

from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig

from benchmark.run import run_id
from benchmark.run.config import CONF, register_resolvers
from benchmark.run.run_id import make_run_id

REFERENCE = Path(__file__).resolve().parents[3] / "results" / "reference"


@pytest.fixture
def cfg(monkeypatch: pytest.MonkeyPatch) -> DictConfig:
    register_resolvers()
    choices = {"filter": "random", "selector": "best"}
    monkeypatch.setattr(
        run_id, "choice", lambda cfg, group: choices[group]
    )  # known within Hydra's main alone
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("config", ["filter=random", "size=200k"])


def test_published_results_keep_their_ids(cfg: DictConfig) -> None:
    assert (REFERENCE / f"{make_run_id(cfg, None)}.json").is_file()


def test_a_quick_try_is_another_run(cfg: DictConfig) -> None:
    whole = make_run_id(cfg, None)
    cfg.evalset.limit = 5
    five = make_run_id(cfg, None)
    cfg.evalset.limit = 6
    assert len({whole, five, make_run_id(cfg, None)}) == 3


def test_a_cache_within_the_checkout_changes_no_id(cfg: DictConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = make_run_id(cfg, None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(CONF.parent / ".cache"))
    assert make_run_id(cfg, None) == elsewhere
