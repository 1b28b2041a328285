"""The jobs of a command: their configurations, composed and checked before the first of them runs."""

from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hydra import compose, initialize_config_dir
from hydra._internal.callbacks import Callbacks
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra._internal.utils import get_args_parser
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.utils import run_job as hydra_job
from hydra.types import HydraContext, RunMode, TaskFunction
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from benchmark.cli.mistakes import end_with_mistakes, of_job
from benchmark.cli.wrong_overrides import explain_command
from benchmark.core.errors import UserError
from benchmark.run.config import CONF, USER_ERRORS, call_task, choice, explain

# The classes of Hydra's parts with which the jobs of a sweep run in this process.
HERE = {
    "launcher": "hydra._internal.core_plugins.basic_launcher.BasicLauncher",
    "sweeper": "hydra._internal.core_plugins.basic_sweeper.BasicSweeper",
}


class WrongJobsError(UserError):
    """Jobs of a sweep cannot run; `lines` says which, and why."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("; ".join(lines))
        self.lines = list(lines)


@dataclass(frozen=True)
class Job:
    """One run of a command.

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
        """Whether it runs in this process, as it does unless ``hydra/launcher`` or ``hydra/sweeper`` is another."""
        hydra = self.composed.hydra
        return all(OmegaConf.select(hydra, f"{part}._target_") == target for part, target in HERE.items())

    def place(self, number: int, folder: Path) -> None:
        """Set what Hydra's own launcher would set: the number in its sweep, from 0 on, and the sweep's folder."""
        with read_write(self.composed.hydra), open_dict(self.composed.hydra):
            self.composed.hydra.job.num = self.composed.hydra.job.id = number
            self.composed.hydra.sweep.dir = str(folder)

    def run(self, task: TaskFunction) -> None:
        """Call `task` with the configuration as Hydra's own launcher would, which composes it twice more."""
        with initialize_config_dir(str(CONF), version_base="1.3", job_name="benchmark"):
            _call(task, self.composed, "hydra.sweep.dir", "hydra.sweep.subdir")

    @contextmanager
    def settings(self) -> Iterator[DictConfig]:
        """Yield the configuration without the node `hydra`, while Hydra answers as it would in this job."""
        before = HydraConfig.instance().cfg
        HydraConfig.instance().set_config(self.composed)
        settings = self.composed.copy()
        with open_dict(settings):
            del settings["hydra"]
        try:
            yield settings
        finally:
            HydraConfig.instance().cfg = before


def compose_jobs(sweeps: Sequence[Sequence[str]]) -> list[Job]:
    """Return the jobs of all sweeps in the order in which Hydra runs them.

    Args:
        sweeps: the arguments of each sweep, as `planned_sweeps` returns them.

    Raises:
        WrongJobsError: names each job that Hydra cannot compose, and why.
    """
    overrides: list[list[str]] = []
    indices: list[int] = []
    composed: list[DictConfig | str] = []
    with initialize_config_dir(str(CONF), version_base="1.3", job_name="benchmark"):
        for index, arguments in enumerate(sweeps):
            given = get_args_parser().parse_args(list(arguments))
            for of_job in job_overrides(given.overrides):
                overrides.append(of_job)
                indices.append(index)
                try:
                    composed.append(_composed(of_job, given, RunMode.MULTIRUN))
                except USER_ERRORS as error:
                    composed.append(explain_command(error, of_job))
    names = _names(overrides)
    _refuse([(name, c if isinstance(c, str) else None) for name, c in zip(names, composed, strict=True)])
    jobs = zip(names, indices, composed, strict=True)
    return [Job(name, index, c) for name, index, c in jobs if not isinstance(c, str)]


def run_single(arguments: Sequence[str], task: TaskFunction) -> None:
    """Compose the configuration of a single run, and call `task` with it as Hydra would, which composes it twice."""
    given = get_args_parser().parse_args(list(arguments))
    with initialize_config_dir(str(CONF), version_base="1.3", job_name="benchmark"):
        _call(task, _composed(given.overrides, given, RunMode.RUN), "hydra.run.dir", None)


def _call(task: TaskFunction, composed: DictConfig, folder: str, subfolder: str | None) -> None:
    """Call `task` as a job of Hydra; `folder` and `subfolder` name the settings with the job's folder."""
    context = HydraContext(GlobalHydra.instance().config_loader(), Callbacks(composed))
    try:
        done = hydra_job(task, composed, folder, subfolder, context)
    except OSError as error:  # Hydra makes the folder; what the task raises is kept for below
        raise UserError(f"{folder}={error.filename} cannot be made ({error.strerror})") from None
    _ = done.return_value  # raises what the task raised


def run_job(cfg: DictConfig) -> None:
    """Run the task of a single run, or print its plan. Raises `UserError` for any mistake of the user."""
    if cfg.plan:
        check_job(cfg)
        print_plan([(choice(cfg, "filter"), cfg)])
        return
    # Imported here: a misspelt command should be answered before pydantic is imported.
    from benchmark.cli.settings_schema import check_settings

    check_settings(cfg)  # the task itself checks what it needs
    check_shards(cfg)
    finished = call_task(cfg)
    if finished is not None and finished.failure:
        end_with_mistakes(finished.failure, exit_code=1)


def check_jobs(jobs: Sequence[Job]) -> list[frozenset[str]]:
    """Return what `check_job` returns of each job. Raises `WrongJobsError` unless each can run."""
    checked = [_checked(job) for job in jobs]
    _refuse([(job.name, c if isinstance(c, str) else None) for job, c in zip(jobs, checked, strict=True)])
    return [reasons for reasons in checked if not isinstance(reasons, str)]


def check_job(cfg: DictConfig) -> frozenset[str]:
    """Raise `UserError` unless the settings of a run are right and what its task needs is there.

    Returns what `check_before_run` returns.
    """
    from benchmark.cli.settings_schema import check_settings

    try:
        check_settings(cfg)
        from benchmark.run.preflight import check_before_run  # imported once the settings are right

        check_shards(cfg)
        return check_before_run(cfg)
    except USER_ERRORS as error:
        raise UserError(explain(error)) from error


def check_shards(cfg: DictConfig) -> None:
    """Raise `UserError` unless ``shards=`` can be understood, and belongs to the task."""
    if cfg.shards is not None:
        from benchmark.run.settings import shard_part

        shard_part(cfg)


def settings_of(jobs: Iterable[Job]) -> Iterator[tuple[str, DictConfig]]:
    """Yield the name and the settings of each job, while Hydra answers as it would in this job."""
    for job in jobs:
        with job.settings() as cfg:
            yield job.name, cfg


@dataclass(frozen=True)
class Settings(Iterable[DictConfig]):
    """The settings of jobs, which can be iterated several times; meanwhile Hydra answers as in the job at hand."""

    jobs: Sequence[Job]

    def __iter__(self) -> Iterator[DictConfig]:
        return (cfg for _, cfg in settings_of(self.jobs))


def print_plan(jobs: Iterable[tuple[str, DictConfig]]) -> None:
    """Print the plan of jobs, each a name and its settings; nothing is run."""
    from benchmark.results.report.terminal import print_tables
    from benchmark.run.plan.plan import Plan

    plan = Plan()
    for name, cfg in jobs:
        plan.add(name, cfg)
    print_tables([plan.table()])


def _checked(job: Job) -> frozenset[str] | str:
    """Return what `check_job` returns of a job, or the mistake in it."""
    with job.settings() as cfg:
        try:
            return check_job(cfg)
        except UserError as error:
            return str(error)


def _refuse(mistakes: Sequence[tuple[str, str | None]]) -> None:
    """Raise `WrongJobsError` if one of the jobs, each a name and its mistake, has a mistake."""
    wrong = [(name, mistake) for name, mistake in mistakes if mistake is not None]
    if len(wrong) == len(mistakes) and len({mistake for _, mistake in wrong}) == 1:
        raise WrongJobsError([str(wrong[0][1])])
    if wrong:
        raise WrongJobsError([of_job(name, mistake) for name, mistake in wrong])


def job_overrides(overrides: Sequence[str]) -> list[list[str]]:
    """Return the overrides of each job of one sweep; Hydra must be initialised."""
    loader = GlobalHydra.instance().config_loader()
    (jobs,) = BasicSweeper.split_arguments(
        OverridesParser.create(config_loader=loader).parse_overrides(list(overrides)), None
    )
    return [list(job) for job in jobs]


def _composed(overrides: Sequence[str], given: Namespace, mode: RunMode) -> DictConfig:
    """Return the configuration of a job; `given` are the command's options."""
    if given.config_dir is not None and not Path(given.config_dir).is_dir():
        raise UserError(f"--config-dir {given.config_dir} must be a folder with configs")
    own = (
        []
        if given.config_dir is None
        else [f"hydra.searchpath=['file://{Path(given.config_dir).absolute()}']"]
    )
    composed = compose(given.config_name or "config", [*overrides, *own], return_hydra_config=True)
    with open_dict(composed):
        composed.hydra.mode = mode
    return composed


def _names(overrides: Sequence[Sequence[str]]) -> list[str]:
    """Return for each job its overrides that not all jobs have, of a single job all."""
    shared = set.intersection(*map(set, overrides)) if len(overrides) > 1 else set()
    return [
        " ".join(o for o in of_job if o not in shared and not o.startswith("hydra")) for of_job in overrides
    ]
