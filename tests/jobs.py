"""Jobs made of the shipped configuration, as the command line makes them."""

from pathlib import Path

from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, open_dict

from benchmark.run.config import CONF, register_resolvers
from benchmark.run.job import Job


def compose_config(*overrides: str, return_hydra_config: bool = False) -> DictConfig:
    """The configuration of a command."""
    register_resolvers()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("config", list(overrides), return_hydra_config=return_hydra_config)


def make_job(*overrides: str, sweep: Path | None = None) -> Job:
    """The job of a command."""
    cfg = compose_config(*overrides, return_hydra_config=True)
    hydra = cfg.hydra
    with open_dict(cfg):
        del cfg["hydra"]
    return Job(cfg, dict(hydra.runtime.choices), list(hydra.overrides.task), sweep)
