"""How many pairs a command selects and how long it trains on them: both must fit the pool."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from omegaconf import DictConfig, OmegaConf

from benchmark.core.errors import UserError
from benchmark.results.protocol import size_text

if TYPE_CHECKING:
    from benchmark.pool.pool import Pool

MAX_EPOCHS = 100  # of a budget that the command does not name


def subset_size(cfg: DictConfig) -> int | None:
    """Return k, the number of selected pairs: `size.samples` divided by the scale of the pool.

    None for all, and for a percentage. Raises `UserError` for anything else than an integer of at least the scale.
    """
    samples, scale = cfg.size.samples, int(cfg.pool.scale)
    if isinstance(samples, str):
        return None
    if not isinstance(samples, int) or samples < scale:
        raise UserError(f"size={samples} must be an integer of at least {scale}, the scale of the pool")
    return samples // scale


def check_size(cfg: DictConfig, pool: Pool | None, repeats: bool = False) -> None:
    """Raise `UserError` if the pool has fewer than k pairs, as far as its metadata, or the demo's size, says.

    A selector that `repeats` pairs may draw more than there are.
    """
    k, scale = subset_size(cfg), int(cfg.pool.scale)
    drawn = OmegaConf.select(cfg, "pool.demo.pairs")
    if repeats:
        return
    listed = drawn if k is None or drawn is not None or pool is None else pool.count()
    if listed and k is not None and k > listed:  # none: its files are damaged or empty, which scoring says
        paper = f"{k * scale:,} pairs of the paper's pool, which is {k:,} here (scale 1:{scale})"
        asked = f"{k:,} pairs" if scale == 1 else paper
        whole = f"pool {cfg.pool.name} lists {listed:,} whose download did not fail"
        found = whole if drawn is None else f"pool.demo.pairs={drawn}"
        raise UserError(f"size asks for {asked}, but {found}; choose size={listed * scale} or less")


def check_budget(cfg: DictConfig, overrides: Iterable[str], k: int | None = None) -> None:
    """Raise `UserError` if a model would train for over `MAX_EPOCHS` epochs, unless the command says so, or says two.

    `overrides` are the command line; `k` is the number of pairs that were selected with ``size=all``.
    """
    k = k or subset_size(cfg)
    given = {override.lstrip("+").partition("=")[0] for override in overrides}
    for name, node in cfg.downstream.items():
        samples, setting = int(node.training.samples_seen), f"downstream.{name}.training.samples_seen"
        if {"budget", setting} <= given:
            typed = f"budget={size_text(cfg.budget)} and {setting}={samples}"
            raise UserError(f"{typed} both say how many samples {name} sees; leave one of them out")
        # Without k, which is known once the pairs are scored, nothing is too long.
        if k is not None and samples > MAX_EPOCHS * k and not given & {"budget", setting}:
            budget, ten = (f"budget={size_text(n * int(cfg.pool.scale))}" for n in (samples, 10 * k))
            raise UserError(
                f"{budget} would train {name} for {samples / k:,.0f} epochs of {k:,} pairs; add {ten}"
                f" for 10 epochs, as in the ICC paper at 200k, or type {budget} to train that long"
            )
