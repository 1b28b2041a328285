"""The jobs of a command: their configurations, composed and checked before the first of them runs."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra import compose, initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from benchmark.cli.mistakes import WrongJobsError, explain_command, name_job
from benchmark.cli.overrides import GROUPS
from benchmark.cli.sweeps import job_overrides
from benchmark.core.errors import UserError
from benchmark.run.config import CONF, USER_ERRORS, explain

if TYPE_CHECKING:
    from benchmark.run.job import Job


@dataclass(frozen=True)
class SweepJob:
    """One run of a sweep.

    Args:
        name: the overrides in which it differs from the others.
        sweep: index of its sweep.
        composed: its configuration, with the node `hydra`.
    """

    name: str
    sweep: int
    composed: DictConfig

    @property
    def runs_here(self) -> bool:
        """Whether it runs in this process; Hydra runs it if another launcher, sweeper or kind of job is chosen."""
        hydra = self.composed.hydra
        others = hydra.callbacks or hydra.job.env_set or hydra.job.chdir
        return not others and {
            hydra.runtime.choices[f"hydra/{part}"] for part in ("launcher", "sweeper")
        } == {"basic"}

    def place(self, folder: Path) -> None:
        """Set the folder of the sweep."""
        with read_write(self.composed.hydra):
            self.composed.hydra.sweep.dir = str(folder)

    @contextmanager
    def settings(self) -> Iterator[DictConfig]:
        """Yield the configuration without the node `hydra`, which Hydra's resolver reads within the block."""
        before = HydraConfig.instance().cfg
        HydraConfig.instance().set_config(self.composed)
        try:
            yield without_hydra(self.composed)
        finally:
            HydraConfig.instance().cfg = before


def without_hydra(composed: DictConfig) -> DictConfig:
    """Return a copy of a configuration without the node `hydra`."""
    settings = composed.copy()
    with open_dict(settings):
        del settings["hydra"]
    return settings


def compose_jobs(sweeps: Sequence[Sequence[str]]) -> list[SweepJob]:
    """Return the jobs of all sweeps in the order in which Hydra runs them.

    Args:
        sweeps: the arguments of each sweep, as `planned_sweeps` returns them.

    Raises:
        WrongJobsError: names each job that Hydra cannot compose, and why.
    """
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--config-dir", "-cd")
    parser.add_argument("--config-name", "-cn", default="config")
    jobs: list[tuple[int, list[str], DictConfig | str]] = []
    with initialize_config_dir(str(CONF), version_base="1.3", job_name="benchmark"):
        for index, arguments in enumerate(sweeps):
            options, overrides = parser.parse_known_args(arguments)
            hydras = [f"hydra.mode={RunMode.MULTIRUN.name}"]
            if options.config_dir is not None:
                if not Path(options.config_dir).is_dir():
                    raise UserError(f"--config-dir {options.config_dir} must be a folder with configs")
                hydras.append(f"hydra.searchpath=['file://{Path(options.config_dir).absolute()}']")
            for of_job in job_overrides([o for o in overrides if "=" in o or o.startswith("~")]):
                try:
                    composed = compose(options.config_name, [*hydras, *of_job], return_hydra_config=True)
                    jobs.append((index, of_job, composed))
                except USER_ERRORS as error:
                    jobs.append((index, of_job, explain_command(error, of_job)))
    names = _names([of_job for _, of_job, _ in jobs])
    _refuse([(name, c if isinstance(c, str) else None) for name, (*_, c) in zip(names, jobs, strict=True)])
    return [
        SweepJob(name, index, c)
        for name, (index, _, c) in zip(names, jobs, strict=True)
        if isinstance(c, DictConfig)
    ]


def check_jobs(jobs: Sequence[SweepJob]) -> list[Job]:
    """Return the checked jobs. Raises `WrongJobsError` unless each can run."""
    checked: list[Job | str] = []
    built: dict[str, Any] = {}
    for job in jobs:
        with job.settings() as cfg:
            try:
                made = make_job(cfg, job.composed.hydra, built)
                made.check()
                checked.append(made)
            except USER_ERRORS as error:
                checked.append(explain(error))
    _refuse([(job.name, c if isinstance(c, str) else None) for job, c in zip(jobs, checked, strict=True)])
    return [job for job in checked if not isinstance(job, str)]


def make_job(cfg: DictConfig, hydra: Any, built: dict[str, Any] | None = None) -> Job:
    """Return the job of a configuration. Raises `UserError` unless the settings that the command gives are right.

    Args:
        cfg: the configuration of a run.
        hydra: its node `hydra`.
        built: the parts that the jobs of a sweep share.
    """
    check_given(cfg, hydra)
    from benchmark.run.job import Job  # imported once the settings are right

    sweep = Path(hydra.sweep.dir) if hydra.mode == RunMode.MULTIRUN else None
    return Job.from_config(cfg, hydra.runtime.choices, sweep, hydra.overrides.task, built)


def check_given(cfg: DictConfig, hydra: Any) -> None:
    """Raise `UserError` unless the settings that a command gives, or a config of the user's, are right.

    Args:
        cfg: the configuration of a run.
        hydra: its node `hydra`.
    """
    own = any("command-line" in source.provider for source in hydra.runtime.config_sources)
    overrides: Any = OmegaConf.to_container(hydra.overrides.task)  # unresolved
    names = [override.lstrip("+~").partition("=")[0] for override in overrides]
    given = (
        [str(key) for key in cfg] if own else [n for n in names if n not in GROUPS and not set("@/") & set(n)]
    )
    if given:
        from benchmark.cli.check_settings import (
            check_settings,
        )  # a choice of configs is right, without pydantic

        check_settings(cfg, given)


def print_plan(jobs: Iterable[tuple[str, Job]]) -> None:
    """Print the plan of jobs, each with its name; nothing is run."""
    from benchmark.results.report.terminal import print_tables
    from benchmark.run.plan import Plan

    plan = Plan()
    for name, job in jobs:
        plan.add(name, job)
    print_tables([plan.table()])


def _refuse(mistakes: Sequence[tuple[str, str | None]]) -> None:
    """Raise `WrongJobsError` if one of the jobs, each a name and its mistake, has a mistake."""
    wrong = [(name, mistake) for name, mistake in mistakes if mistake is not None]
    if len(wrong) == len(mistakes) and len({mistake for _, mistake in wrong}) == 1:
        raise WrongJobsError([str(wrong[0][1])])
    if wrong:
        raise WrongJobsError([name_job(name, mistake) for name, mistake in wrong])


def _names(overrides: Sequence[Sequence[str]]) -> list[str]:
    """Return for each job its overrides that not all jobs have, of a single job all."""
    shared = set.intersection(*map(set, overrides)) if len(overrides) > 1 else set()
    return [
        " ".join(o for o in of_job if o not in shared and not o.startswith("hydra")) for of_job in overrides
    ]
