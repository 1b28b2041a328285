"""``task=fetch``: gets the missing requirements of a command, so that it runs without a network."""

import logging
from collections.abc import Iterator, Sequence
from functools import partial

from benchmark.core.disk import disk_space
from benchmark.core.errors import UserError
from benchmark.core.fetched_files import fetch_files
from benchmark.core.paths import user_path
from benchmark.core.prefetch import prefetch_map
from benchmark.core.progress import progress
from benchmark.core.requirements import Requirement, State
from benchmark.core.storage import CONNECTIONS, find_file, is_remote
from benchmark.pool.layout import PARQUET, TAR
from benchmark.results.report.table import Table, plain
from benchmark.results.report.terminal import print_tables
from benchmark.run.config import USER_ERRORS, explain
from benchmark.run.doctor import print_needs, print_remedies, requirements_of
from benchmark.run.job import Job

log = logging.getLogger(__name__)
MEGABYTE = 1_000_000


def fetch(*jobs: Job) -> None:
    """List the missing requirements of the jobs as ``task=run``, get them, and print how to get the rest by hand.

    A failure does not stop the others; the same command takes up a fetch that was interrupted. Raises `UserError` if
    the disk has no room, or if a job still cannot run.
    """
    # Several parts may need the same thing. Small things come first, so that a failure is seen soon.
    lacked = {r.detail: r for part in requirements_of(jobs).values() for r in part if r.make}
    todo = sorted(lacked.values(), key=lambda r: (r.size == 0, r.size))
    todo += _copies_of_pools(jobs)
    total = sum(r.size for r in todo)
    sizes = [f"{r.size / 1e6:,.0f} MB" if r.size else "unknown" for r in todo]
    rows = [plain(r.name, size, str(r.folder or "")) for r, size in zip(todo, sizes, strict=True)]
    unknown = " and things of unknown size" * ("unknown" in sizes)
    space = list(disk_space(todo))
    notes = [f"{len(todo)} to get: {total / 1e6:,.0f} MB{unknown}.", *(room.detail for room in space)]
    print_tables([Table("To be fetched", ["what", "size", "to"], rows, notes)])
    if any(room.state is State.MISSING for room in space):
        raise UserError("; ".join(room.detail for room in space if room.state is State.MISSING))
    failed = []
    with progress("fetch", total // MEGABYTE, "MB") as advance:
        for requirement in todo:
            log.info("fetch: %s", requirement.name)
            try:
                if requirement.make:
                    requirement.make()
            except USER_ERRORS as error:
                failed.append(requirement.name)
                log.warning("%s: %s", requirement.name, explain(error))
            else:
                advance(requirement.size // MEGABYTE, requirement.name)
    print_remedies(print_needs(requirements_of(jobs)))
    if failed:
        raise UserError(f"{', '.join(failed)} could not be fetched; run the same command again")


def _copies_of_pools(jobs: Sequence[Job]) -> Iterator[Requirement]:
    """Yield the copy of a remote pool, if ``task.pool`` names a folder for it."""
    folder = jobs[0].cfg.task.pool
    pools = {job.pool.url: job.pool for job in jobs} if folder is not None else {}
    if len(pools) > 1:
        raise UserError(f"task.pool={folder} must be for one pool, not {len(pools)}; give one of them")
    for pool in pools.values():
        if is_remote(pool.url):
            here, shards = user_path(folder), (*pool.tars, *pool.metadata)
            files = {here / f"{s.name}{TAR if s.is_tar else PARQUET}": s.url for s in shards}
            size = sum(prefetch_map(lambda url: find_file(url).size or 0, files.values(), CONNECTIONS))
            name = f"pool {pool.name}, for pool.url={folder}"
            yield Requirement(name, State.MISSING, pool.url, size, here, partial(fetch_files, files))
