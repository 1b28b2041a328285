"""Sweeps: several runs in one command, one after the other; a run that fails does not stop the others."""

import itertools
import logging
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Override
from hydra.types import TaskFunction
from omegaconf import DictConfig, OmegaConf

from benchmark.config import CONF, call_task
from benchmark.core.errors import UserError
from benchmark.core.launch import is_main_process, process_count
from benchmark.report.table import Table, plain
from benchmark.report.terminal import print_tables
from benchmark.tasks.output import Finished

log = logging.getLogger(__name__)
MULTIRUN = "--multirun"
SHOWS = {"--cfg", "-c", "--help", "-h", "--hydra-help", "--info", "-i", "--shell-completion", "-sc"}


def planned_sweeps(arguments: Sequence[str]) -> list[list[str]]:
    """Return the arguments of each sweep that a command asks for; none for a single run.

    ``filter=random,clip`` is one sweep. An experiment may list several in `sweeps`. Each takes the other overrides of
    the command; of a setting that both give, the values that both list.

    Raises:
        UserError: the overrides leave no run of the experiment.
    """
    flags = [a for a in arguments if a.startswith("-") or "=" not in a]
    if SHOWS & {flag.partition("=")[0] for flag in flags}:
        return []
    flags = [MULTIRUN, *(flag for flag in flags if flag not in {"-m", MULTIRUN})]
    given = [a for a in arguments if not a.startswith("-") and "=" in a]
    overrides = _parsed(given)
    listed = [sweep for override in overrides for sweep in _listed_sweeps(override)]
    if not listed:
        return [flags + given] if any(o.is_sweep_override() for o in overrides) else []
    others = [o for o in overrides if o.key_or_group != "experiment"]
    sweeps = [narrowed for sweep in listed if (narrowed := _narrowed(sweep.split(), others))]
    if not sweeps:
        raise UserError(
            f"no run of the experiment has {' '.join(str(o.input_line) for o in others)}; give values that its file"
            " lists, or leave the experiment out"
        )
    return [flags + sweep for sweep in sweeps]


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
    if override.is_discrete_sweep():
        return list(override.sweep_string_iterator())
    return [override.get_value_element_as_str()]


def run_sweeps(sweeps: Sequence[Sequence[str]], with_hydra: Callable[[TaskFunction], Any]) -> int:
    """Run one sweep after the other, print how each run ended, and return the exit code of the command.

    Args:
        sweeps: the arguments of each sweep, as `planned_sweeps` returns them.
        with_hydra: the decorator that runs a function of the configuration for every combination in `sys.argv`.
    """
    sweep = Sweep(sweeps)
    try:
        for arguments in sweeps:
            sys.argv[1:] = arguments
            with_hydra(sweep.run)()
    finally:
        sweep.print_outcomes()
    return sweep.exit_code


@dataclass(frozen=True)
class Outcome:
    """How a run of a sweep ended; `text` is the path of its result, or the error's line."""

    run: str
    state: Literal["done", "skipped", "failed"]
    seconds: float
    text: str
    exit_code: int = 0


class Sweep:
    """The runs of one command, and how those that ran in this process ended.

    Args:
        sweeps: the arguments of each sweep, as `planned_sweeps` returns them.
    """

    def __init__(self, sweeps: Sequence[Sequence[str]]) -> None:
        settings = [_parsed([a for a in sweep if "=" in a and not a.startswith("-")]) for sweep in sweeps]
        values = [{o.get_key_element(): _values(o) for o in overrides} for overrides in settings]
        keys = set().union(*values)
        self._differing = {key for key in keys if len(_all_values(values, key)) > 1}
        self.total = sum(math.prod(map(len, of_sweep.values())) for of_sweep in values)
        self._process = os.getpid()
        self._outcomes: list[Outcome] = []

    def run(self, cfg: DictConfig) -> None:
        """Run the task once. An error in this process is kept for the sweep's end; a launcher's worker raises it."""
        if os.getpid() != self._process:
            call_task(cfg)
            return
        name = self._name(HydraConfig.get().overrides.task)
        log.info("sweep: run %d of %d: %s; %s", len(self._outcomes) + 1, self.total, name, self._progress())
        outcome = _outcome(name, cfg)
        self._outcomes.append(outcome)
        if outcome.exit_code:
            log.error("error: %s: %s", name, outcome.text)
        if outcome.exit_code and process_count() > 1:
            sys.exit(outcome.exit_code)  # ends the launch: its other processes would wait for this one

    @property
    def exit_code(self) -> int:
        """0 if no run failed, 2 if users can correct all that did, else 1."""
        return min((outcome.exit_code for outcome in self._outcomes if outcome.exit_code), default=0)

    def print_outcomes(self) -> None:
        """Print a row per run: its state, its seconds, its result or error."""
        if self._outcomes and is_main_process():
            rows = [plain(o.run, o.state, f"{o.seconds:.1f}", o.text) for o in self._outcomes]
            title = f"Sweep of {self.total} runs: {self._counts()}"
            print_tables([Table(title, ["run", "state", "seconds", "result or error"], rows)], stderr=True)

    def _name(self, overrides: Sequence[str]) -> str:
        """Return the overrides in which the runs differ, of a single run all."""
        return " ".join(o for o in overrides if not self._differing or o.partition("=")[0] in self._differing)

    def _counts(self) -> str:
        states = [outcome.state for outcome in self._outcomes]
        return ", ".join(f"{states.count(state)} {state}" for state in ("done", "skipped", "failed"))

    def _progress(self) -> str:
        """Return how many runs ended how, how many remain, and the time that they need at the rate of those done."""
        done = [outcome.seconds for outcome in self._outcomes if outcome.state == "done"]
        left = self.total - len(self._outcomes)
        eta = f", ETA {timedelta(seconds=round(statistics.fmean(done) * left))}" if done else ""
        return f"{self._counts()}, {left - 1} remaining{eta}"


def _all_values(sweeps: Sequence[dict[str, list[str]]], key: str) -> set[str]:
    return set(itertools.chain.from_iterable(values.get(key, [""]) for values in sweeps))


def _outcome(name: str, cfg: DictConfig) -> Outcome:
    """Run the task; an error that is no mistake of the user is logged with its traceback."""
    started = time.monotonic()
    try:
        finished: Finished | None = call_task(cfg)
    except UserError as error:
        return Outcome(name, "failed", time.monotonic() - started, " ".join(str(error).split()), 2)
    except Exception as error:
        log.exception("unexpected error")
        text = f"{type(error).__name__}: {error}".splitlines()[0]
        return Outcome(name, "failed", time.monotonic() - started, text, 1)
    skipped = finished is not None and finished.skipped
    path = str(finished.path) if finished else ""
    return Outcome(name, "skipped" if skipped else "done", time.monotonic() - started, path)
