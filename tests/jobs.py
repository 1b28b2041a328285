"""Jobs made of the shipped configuration, as the command line makes them."""

from pathlib import Path

from hydra import compose, initialize_config_dir
from omegaconf import open_dict

from benchmark.run.config import CONF, register_resolvers
from benchmark.run.job import Job


def make_job(*overrides: str, sweep: Path | None = None) -> Job:
    """The job of a command."""
    register_resolvers()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("config", list(overrides), return_hydra_config=True)
    hydra = cfg.hydra
    with open_dict(cfg):
        del cfg["hydra"]
    return Job(cfg, dict(hydra.runtime.choices), list(hydra.overrides.task), sweep)
