"""``task=profile``: how much text a pool's images hold, how much of it captions repeat, and what CLIP makes of it."""

import logging
from pathlib import Path
from typing import Any

import hydra
from omegaconf import DictConfig

from benchmark.config import make_engine, make_pool, resolved
from benchmark.core.errors import UserError
from benchmark.core.extras import require
from benchmark.core.paths import write_text
from benchmark.studies.profile.page import to_html
from benchmark.studies.profile.profiling import Tools, profile_pool, write_profile
from benchmark.studies.profile.sample import PoolSample
from benchmark.studies.profile.tables import profile_tables
from benchmark.tasks.output import say
from benchmark.tasks.report import show

log = logging.getLogger(__name__)


def profile(cfg: DictConfig) -> None:
    """Profile a sample of the pool, or all of it; show the tables; print the path of the page and of the JSON."""
    require("clusters")
    samples = _whole_number(cfg.profile, "samples", least=1, none=True)
    clusters = _whole_number(cfg.profile, "clusters", least=1)
    assert clusters is not None
    seed = int(cfg.seed)
    pool = make_pool(cfg)
    if samples is not None:
        pool = PoolSample(pool, samples, seed)
    spotter = hydra.utils.instantiate(cfg.ocr, _convert_="all")
    tools = Tools(spotter, resolved(cfg.ocr), resolved(cfg.models.clip))
    done = profile_pool(pool, tools, make_engine(cfg), clusters=clusters, seed=seed)
    path = write_profile(Path(cfg.results_dir), done)
    page = path.with_suffix(".html")
    write_text(page, to_html(done))
    show(profile_tables(done))
    say(str(page))
    say(str(path))


def _whole_number(settings: Any, name: str, least: int, none: bool = False) -> int | None:
    value = settings[name]
    if value is None and none:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        hint = ", or null for the whole pool" if none else ""
        raise UserError(
            f"profile.{name}={value} is no number of {name}; give a whole number from {least} on{hint}"
        )
    return value
