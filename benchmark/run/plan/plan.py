"""The plan of a command: a row per job, and what all jobs need together."""

from dataclasses import dataclass, field
from datetime import timedelta

from benchmark.core.devices import device_type
from benchmark.core.errors import UserError
from benchmark.core.requirements import Requirement, State
from benchmark.results.report.table import Table, plain
from benchmark.run.job import Job
from benchmark.run.plan.cached_stages import CachedStages, cached_stages
from benchmark.run.plan.disk import scoring_bytes, training_bytes
from benchmark.run.plan.estimates import (
    drawing_cost,
    evaluation_cost,
    overhead_cost,
    pool_pairs,
    scoring_cost,
    training_cost,
)
from benchmark.run.plan.recorded_costs import NOTHING, Cost, RecordedCosts

TASKS = ("score", "select", "train", "run")
CACHED, TO_DO, SHARED = "cached", "to do", "with a job above"
HEADER = ["job", "scores", "selection", "training", "result", "time"]


@dataclass
class Plan:
    """The plan of several jobs.

    Args:
        rows: the cells of each job.
        cost: of all jobs, as far as it is known.
        disk: bytes that all jobs write to the cache, as far as they are known.
        no_time: what the cost is not known of.
        no_size: what the bytes are not known of.
        requirements: what will be fetched or drawn.
    """

    rows: list[list[str]] = field(default_factory=list)
    cost: Cost = NOTHING
    disk: int = 0
    of_reference: bool = False  # some costs are those of the reference's machine
    no_time: dict[str, None] = field(default_factory=dict)
    no_size: dict[str, None] = field(default_factory=dict)
    requirements: dict[Requirement, None] = field(default_factory=dict)
    _made: set[str] = field(default_factory=set)  # by the jobs so far

    def add(self, name: str, job: Job) -> None:
        """Add a job; `name` stands in its row. Raises `UserError` if its task has no plan."""
        task, cfg = job.task, job.cfg
        if task not in TASKS:
            raise UserError(f"plan=true is for task={', '.join(TASKS)}; leave it out with task={task}")
        self._require(job)
        cached = cached_stages(job)
        if cached.result:
            self.rows.append([name, CACHED, CACHED, CACHED, str(cached.result), "0:00:00"])
            return
        plan = _JobPlan(self, job, cached, RecordedCosts(job.results_dir, device_type(cfg.device)))
        before = self.cost
        cells = [plan.scores()]
        cells.append(plan.begin(cached.selection_key, done=cached.selected) if task != "score" else "")
        cells.append(plan.trainings() if task in ("train", "run") else "")
        cells.append(plan.result() if task == "run" else "")
        self.of_reference |= plan.costs.of_reference
        time = timedelta(seconds=round(self.cost.wall - before.wall))
        self.rows.append([name, *cells, f"{time}" if plan.complete else f"over {time}"])

    def table(self) -> Table:
        """Return a row per job; what all of them need, and what is not known of it, stands below."""
        wall, cpu = (timedelta(seconds=round(seconds)) for seconds in (self.cost.wall, self.cost.cpu))
        notes = [
            f"Time: about {wall} ({cpu} of processors), as earlier runs took{self._machine()}.",
            *([f"No earlier run tells the time of: {', '.join(self.no_time)}."] if self.no_time else []),
            f"Disk: about {self.disk / 1e6:,.0f} MB in the cache.",
            *([f"No earlier run tells the size of: {', '.join(self.no_size)}."] if self.no_size else []),
            *(f"First use: {requirement.name}: {requirement.detail}" for requirement in self.requirements),
            "Nothing was run. Leave out plan=true to run it.",
        ]
        return Table(f"Plan of {len(self.rows)} jobs", HEADER, [plain(*row) for row in self.rows], notes)

    def _machine(self) -> str:
        return " on the machine of the reference results" if self.of_reference else ""

    def _require(self, job: Job) -> None:
        """Count what the job fetches or draws, once for all jobs."""
        for part in job.requirements(job.task).values():
            for requirement in part:
                if requirement.state is State.FIRST_USE and requirement not in self.requirements:
                    self.requirements[requirement] = None
                    self.disk += requirement.size


@dataclass
class _JobPlan:
    """Adds one job's stages to the plan."""

    plan: Plan
    job: Job
    cached: CachedStages
    costs: RecordedCosts
    complete: bool = True  # the time of each of its stages is known

    def begin(self, key: str, *, done: bool) -> str:
        """Return the state of what has that key; from now on it is there."""
        if done:
            return CACHED
        state = SHARED if key in self.plan._made else TO_DO
        self.plan._made.add(key)
        return state

    def scores(self) -> str:
        """Add the drawing of the pool and the missing scores; return the cell."""
        if self.cached.pool is None and self.begin(f"pool {self.job.cfg.pool}", done=False) == TO_DO:
            self._charge(f"making pool {self.job.cfg.pool.name}", drawing_cost(self.job.cfg), 0)
        state = self.begin(self.cached.scores_key, done=not self.cached.missing_share)
        if state == TO_DO:
            pairs = pool_pairs(self.job.cfg, self.cached.pool)
            size = None if pairs is None else scoring_bytes(self.job, pairs * self.cached.missing_share)
            name = f"scoring with {self.cached.filter_name}"
            self._charge(name, scoring_cost(self.job.cfg, self.cached, self.costs), size)
        done = f"{len(self.cached.parts)} of {self.cached.shards} shards cached"
        return done if state == TO_DO and self.cached.parts else state

    def trainings(self) -> str:
        """Add the missing trainings; return the cell."""
        states = {}
        for name, done in self.cached.trained.items():
            key = f"{self.cached.selection_key} {name} {self.job.cfg.downstream[name]}"
            states[name] = self.begin(key, done=done)
            if states[name] == TO_DO:
                self._charge(
                    f"training {name}", training_cost(self.job.cfg, name, self.costs), training_bytes(name)
                )
        return ", ".join(f"{name} {state}" for name, state in states.items())

    def result(self) -> str:
        """Add the evaluations and the short stages; return the cell."""
        for name in self.cached.trained:
            self._charge(f"evaluating {name}", evaluation_cost(self.job.cfg, name, self.costs), 0)
        self._charge("the short stages", overhead_cost(self.job.cfg, self.costs), 0)
        return TO_DO

    def _charge(self, what: str, cost: Cost | None, size: int | None) -> None:
        if cost is None:
            self.plan.no_time[what] = None
            self.complete = False
        if size is None:
            self.plan.no_size[what] = None
        self.plan.cost += cost or NOTHING
        self.plan.disk += size or 0
