"""The jobs of a command: a single run or sweeps; composed and checked before the first of them runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra import compose, initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.types import Override
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict

from benchmark.cli.mistakes import explain_command, name_job
from benchmark.cli.overrides import GROUPS, OPTIONS, parse_overrides, sweep_values
from benchmark.core.errors import MistakesError, UserError
from benchmark.run.config import CONF, USER_ERRORS, WAYS_ON, explain

if TYPE_CHECKING:
    from benchmark.run.job import Job

MULTIRUN = "--multirun"
SHOWS = {"--cfg", "--hydra-help", "--info", "--shell-completion"}


def planned_sweeps(arguments: Sequence[str]) -> list[list[str]]:
    """Return the arguments of each sweep that a command asks for; none for a single run.

    ``filter=random,clip`` is one sweep. An experiment may list several in `sweeps`. Each takes the other overrides of
    the command; of a setting that both give, the values that both list. Raises `UserError` if the overrides leave no
    run of the experiment, or lack a setting in its `typed`, a mapping to examples.
    """
    flags = [a for a in arguments if a.startswith("-") or "=" not in a]
    if SHOWS & {flag.partition("=")[0] for flag in flags}:
        return []
    flags = [MULTIRUN, *(flag for flag in flags if flag != MULTIRUN)]
    given = [a for a in arguments if not a.startswith("-") and "=" in a]
    overrides = parse_overrides(given)
    experiments = [o.value() for o in overrides if o.key_or_group == "experiment"]
    paths = {name: CONF / "experiment" / f"{name}.yaml" for name in experiments}
    configs = {name: OmegaConf.load(path) for name, path in paths.items() if path.is_file()}
    listed = [s for config in configs.values() for s in OmegaConf.select(config, "sweeps", default=[])]
    if listed and len(configs) == len(paths):  # an unknown experiment is refused as one of a single run
        others = [o for o in overrides if o.key_or_group != "experiment"]
        for name, config in configs.items():
            for key, example in OmegaConf.select(config, "typed", default={}).items():
                if all(o.key_or_group != key for o in others):
                    raise UserError(f"experiment={name} needs {key}=, for example {key}={example}")
        sweeps = [narrowed for sweep in listed if (narrowed := _narrowed(sweep.split(), others))]
        if not sweeps:
            raise UserError(
                f"no run of the experiment has {' '.join(str(o.input_line) for o in others)}; give values that its"
                " file lists, or leave the experiment out"
            )
    elif any(o.is_sweep_override() for o in overrides):  # listed once, as shuffle() draws at every look
        sweeps = [[f"{o.get_key_element()}={','.join(sweep_values(o))}" for o in overrides]]
    else:
        return []
    return [flags + sweep for sweep in sweeps]


def job_overrides(overrides: Sequence[str]) -> list[list[str]]:
    """Return the overrides of each job of one sweep, in the order of Hydra's own sweeper."""
    parsed = parse_overrides(overrides)
    settings = {o.get_key_element(): [f"{o.get_key_element()}={v}" for v in sweep_values(o)] for o in parsed}
    return list(map(list, product(*settings.values())))


def _narrowed(sweep: Sequence[str], overrides: Sequence[Override]) -> list[str]:
    """Return the overrides of both, and of a setting in both the values that both list; none without such values.

    Settings that are only in `overrides` come first: the sweep runs whole at their first values, then at the next.
    """
    given = {o.get_key_element(): sweep_values(o) for o in overrides}
    listed = {o.get_key_element(): sweep_values(o) for o in parse_overrides(sweep)}
    both = {key: [value for value in of if value in given.get(key, of)] for key, of in listed.items()}
    values = {key: of for key, of in given.items() if key not in listed} | both
    return [f"{key}={','.join(of_key)}" for key, of_key in values.items()] if all(values.values()) else []


@dataclass(frozen=True)
class SweepJob:
    """One run of a sweep."""

    name: str  # the overrides in which it differs from the others
    sweep: int  # index of its sweep
    composed: DictConfig  # its configuration, with the node `hydra`

    @property
    def runs_here(self) -> bool:
        """Whether it runs in this process; Hydra runs it if another launcher, sweeper or kind of job is chosen."""
        hydra = self.composed.hydra
        chosen = {hydra.runtime.choices[f"hydra/{part}"] for part in ("launcher", "sweeper")}
        return chosen == {"basic"} and not (hydra.callbacks or hydra.job.env_set or hydra.job.chdir)


def compose_run(arguments: Sequence[str]) -> DictConfig | None:
    """Return the configuration of a single run, with the node `hydra`; None if Hydra's own options are among them.

    Hydra's main composes twice: first to see whether the command is a sweep.
    """
    if any(re.match(r"-|[+~]*hydra\b", argument) for argument in arguments):
        return None
    with initialize_config_dir(str(CONF), version_base="1.3", job_name="benchmark"):
        return compose("config", list(arguments), return_hydra_config=True)


def compose_jobs(sweeps: Sequence[Sequence[str]]) -> list[SweepJob]:
    """Return the jobs of all `planned_sweeps`, in the order in which Hydra runs them.

    Raises `MistakesError`, which names each job that Hydra cannot compose, and why.
    """
    planned = []
    for index, arguments in enumerate(sweeps):
        options, overrides = OPTIONS.parse_known_args(arguments)
        hydras = [f"hydra.mode={RunMode.MULTIRUN.name}"]
        if options.config_dir is not None:
            if not Path(options.config_dir).is_dir():
                raise UserError(f"--config-dir {options.config_dir} must be a folder with configs")
            hydras.append(f"hydra.searchpath=['file://{Path(options.config_dir).absolute()}']")
        name = options.config_name or "config"
        planned += [(index, name, hydras, of_job) for of_job in job_overrides(overrides)]
    shared = set.intersection(*(set(of_job) for *_, of_job in planned)) if len(planned) > 1 else set()
    jobs, errors = [], []
    with initialize_config_dir(str(CONF), version_base="1.3", job_name="benchmark"):
        for index, config, hydras, of_job in planned:
            name = " ".join(o for o in of_job if o not in shared and not o.startswith("hydra"))
            try:
                composed = compose(config, [*hydras, *of_job], return_hydra_config=True)
                jobs.append(SweepJob(name, index, composed))
            except USER_ERRORS as error:
                errors.append((name, error, of_job))
    # Outside of the block, as explaining composes, too.
    mistakes = {name: [explain_command(error, of_job)] for name, error, of_job in errors}
    _refuse(mistakes, [*(job.name for job in jobs), *mistakes])
    return jobs


def check_jobs(jobs: Sequence[SweepJob]) -> list[Job]:
    """Return the checked jobs. Raises `MistakesError` unless each can run."""
    checked, mistakes = [], {}
    built: dict[str, Any] = {}
    for job in jobs:
        try:
            made = job_of(job.composed, built)
            made.check()
            checked.append(made)
        except USER_ERRORS as error:
            mistakes[job.name] = error.lines if isinstance(error, MistakesError) else [explain(error)]
    _refuse(mistakes, [job.name for job in jobs])
    return checked


def _refuse(mistakes: Mapping[str, Sequence[str]], jobs: Sequence[str]) -> None:
    """Raise `MistakesError` if some `jobs` have a mistake: one line if all jobs with some settings have it."""
    lines = dict.fromkeys(line for of_job in mistakes.values() for line in of_job)
    named = []
    for line in lines:
        names = [name for name, of_job in mistakes.items() if line in of_job]
        shared = [part for part in names[0].split() if all(part in name.split() for name in names)]
        if len(names) == len(jobs):
            named.append(line)
        elif len(names) == sum({*shared} <= {*job.split()} for job in jobs):
            named.append(name_job(" ".join(shared), line))
        else:
            named += [name_job(name, line) for name in names]
    if mistakes:
        raise MistakesError(sorted(named, key=WAYS_ON.__eq__))


def job_of(composed: DictConfig, built: dict[str, Any] | None = None) -> Job:
    """Return the job of a configuration that has the node `hydra`; see `make_job`."""
    HydraConfig.instance().set_config(composed)  # for interpolations such as ${hydra:runtime.cwd}
    settings = composed.copy()
    with open_dict(settings):
        del settings["hydra"]
    return make_job(settings, composed.hydra, built)


def make_job(cfg: DictConfig, hydra: Any, built: dict[str, Any] | None = None) -> Job:
    """Return the job of a configuration and its node `hydra`; the jobs of a sweep share what is `built`.

    Raises `UserError` if a setting of the command, or a config of the user's, is wrong.
    """
    own = any("command-line" in source.provider for source in hydra.runtime.config_sources)
    overrides: Any = OmegaConf.to_container(hydra.overrides.task)  # unresolved
    names = [override.lstrip("+~").partition("=")[0] for override in overrides]
    given = [n.partition("@")[2] or n for n in names if n not in GROUPS and "/" not in n]
    given = [n for n in given if f"{n}._target_" not in names]  # `check_target` refuses it first
    if own or given:  # a choice of configs is right, without pydantic
        from benchmark.cli.check_settings import check_settings

        check_settings(cfg, [str(key) for key in cfg] if own else given)
    from benchmark.run.job import Job  # imported once the settings are right

    sweep = Path(hydra.sweep.dir) if hydra.mode == RunMode.MULTIRUN else None
    shared = {} if built is None else built
    return Job(cfg, dict(hydra.runtime.choices), overrides, sweep, shared)


def print_plan(jobs: Iterable[tuple[str, Job]]) -> None:
    """Print the plan of jobs, each with its name; nothing is run."""
    from benchmark.results.report.terminal import print_tables
    from benchmark.run.plan import plan_table

    print_tables([plan_table(jobs)])
