"""Sweeps: the runs that a command asks for."""

import math
from collections.abc import Sequence
from itertools import product

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Override, RangeSweep
from omegaconf import OmegaConf

from benchmark.core.errors import UserError
from benchmark.run.config import CONF

MULTIRUN = "--multirun"
MAX_RUNS = 1_000  # of a command; each is composed and checked before the first
SHOWS = {"--cfg", "-c", "--help", "-h", "--hydra-help", "--info", "-i", "--shell-completion", "-sc"}


def planned_sweeps(arguments: Sequence[str]) -> list[list[str]]:
    """Return the arguments of each sweep that a command asks for; none for a single run.

    ``filter=random,clip`` is one sweep. An experiment may list several in `sweeps`. Each takes the other overrides of
    the command; of a setting that both give, the values that both list.

    Raises:
        UserError: the overrides leave no run of the experiment, or there are more than `MAX_RUNS`.
    """
    flags = [a for a in arguments if a.startswith("-") or "=" not in a]
    if SHOWS & {flag.partition("=")[0] for flag in flags}:
        return []
    flags = [MULTIRUN, *(flag for flag in flags if flag not in {"-m", MULTIRUN})]
    given = [a for a in arguments if not a.startswith("-") and "=" in a]
    overrides = _parsed(given)
    listed = [sweep for override in overrides for sweep in _listed_sweeps(override)]
    if listed:
        others = [o for o in overrides if o.key_or_group != "experiment"]
        sweeps = [narrowed for sweep in listed if (narrowed := _narrowed(sweep.split(), others))]
        if not sweeps:
            raise UserError(
                f"no run of the experiment has {' '.join(str(o.input_line) for o in others)}; give values that its"
                " file lists, or leave the experiment out"
            )
    else:
        sweeps = [given] if any(o.is_sweep_override() for o in overrides) else []
    runs = sum(math.prod(len(_values(override)) for override in _parsed(sweep)) for sweep in sweeps)
    if runs > MAX_RUNS:
        raise UserError(f"a command must have at most {MAX_RUNS:,} runs, not {runs:,}; split the sweep")
    return [flags + sweep for sweep in sweeps]


def job_overrides(overrides: Sequence[str]) -> list[list[str]]:
    """Return the overrides of each job of one sweep, in the order of Hydra's own sweeper."""
    settings = {o.get_key_element(): _values(o) for o in _parsed(overrides)}
    return [
        list(job) for job in product(*([f"{key}={v}" for v in values] for key, values in settings.items()))
    ]


def _parsed(overrides: Sequence[str]) -> list[Override]:
    return OverridesParser.create().parse_overrides(list(overrides))


def _listed_sweeps(override: Override) -> list[str]:
    """Return the overrides of each sweep that the file of an experiment lists; none for another override."""
    path = CONF / "experiment" / f"{override.value()}.yaml"
    if override.key_or_group != "experiment" or not path.is_file():
        return []
    return list(OmegaConf.select(OmegaConf.load(path), "sweeps", default=[]))


def _narrowed(sweep: Sequence[str], overrides: Sequence[Override]) -> list[str]:
    """Return the overrides of both, and of a setting in both the values that both list; none without such values."""
    values = {o.get_key_element(): _values(o) for o in _parsed(sweep)}
    for override in overrides:
        key, given = override.get_key_element(), _values(override)
        values[key] = [value for value in values.get(key, given) if value in given]
    return [f"{key}={','.join(of_key)}" for key, of_key in values.items()] if all(values.values()) else []


def _values(override: Override) -> list[str]:
    """Return the values that an override gives to its setting, one per run."""
    value = override.value()
    if isinstance(value, Glob):
        return value.filter([path.stem for path in (CONF / override.key_or_group).glob("*.yaml")])
    if isinstance(value, RangeSweep):
        span = abs((value.stop or 0) - (value.start or 0))
        if not span <= MAX_RUNS * abs(value.step):  # not a number, either
            raise UserError(f"{override.input_line} must have at most {MAX_RUNS:,} values")
    if override.is_discrete_sweep():
        return list(override.sweep_string_iterator())
    return [override.get_value_element_as_str()]
