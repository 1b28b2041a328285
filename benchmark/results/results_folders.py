"""Several results folders, read as one, and each run once."""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_json
from benchmark.core.records import LeftOut, R, Record, scan_records, warn_of
from benchmark.results.report.leaderboard import settings_of
from benchmark.results.result import Result
from downstream.metrics.metric import Metric

T = TypeVar("T")
log = logging.getLogger(__name__)


def read_or_leave_out(read: Callable[[Path], T], path: Path, absent: T) -> T:
    """Return the content of a file that a run left; `absent`, with a warning, if it is damaged."""
    try:
        return read(path)
    except UserError as error:
        _warn_once(str(error))
    except (ValueError, KeyError, TypeError, OSError) as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        _warn_once(f"{path} cannot be read ({reason}); move it away, or run it again")
    return absent


@cache
def _warn_once(line: str) -> None:
    log.warning("left out: %s", line)


def read_runs(folder: Path) -> list[Result]:
    """Return the runs in a folder, each once; warn of files left out."""
    runs, left_out = scan_records(folder, Result)
    warn_of(left_out)
    return list(each_once(runs).values())


def each_once(records: Mapping[Path, R]) -> dict[Path, R]:
    """Return the records, each run once: among records with one id, and among copies, the last one to finish.

    A copy has the same selection, trained with the same seed under one protocol. Its id may hold another spelling of
    paths. The log names both.
    """
    found = dict(records)
    for identity in (lambda record: record.run_id, _identity):
        kept: dict[str, Path] = {}
        for path, record in found.items():
            known = kept.setdefault(identity(record), path)
            if known == path:
                continue
            # Among records of one time, the record with the folder of its run counts.
            ends = {
                of: (getattr(found[of], "finished", ""), of.with_suffix("").is_dir()) for of in (known, path)
            }
            kept[identity(record)] = newest = max(ends, key=ends.__getitem__)
            differs = _metrics(found[known]) != _metrics(record)
            if differs or found[known].run_id != record.run_id:
                level = logging.WARNING if differs else logging.INFO
                message = "%s and %s are the same run%s; %s finished last and counts"
                log.log(level, message, known, path, " with other metrics" * differs, newest)
        found = {path: found[path] for path in kept.values()}
    return found


def _identity(run: Record) -> str:
    """Return what makes a run the same as another one, whatever its id; of other records, the id."""
    if not isinstance(run, Result):
        return run.run_id
    settings, trainings = settings_of(run.config, run.selection.config), run.config.get("downstream", {})
    trained = {n: trainings.get(n, {}).get("training", {}).get("seed", run.seed) for n in run.downstream}
    if any(name.startswith("captions.") for name in settings):
        # Settings have the names of files with other captions; the name of a training depends on their content.
        trained |= {name: Path(model.checkpoint).parent.name for name, model in run.downstream.items()}
    facts = [run.protocol.fingerprint, run.filter, run.size, run.seed, run.selection.sha256]
    return hash_json([*facts, settings, trained])


class ResultsFolders:
    """Records of several folders, each run once (see `each_once`).

    `left_out` holds, by path, the files so far that were not readable.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = folders
        self.left_out: dict[Path, LeftOut] = {}

    def has(self, folder: str) -> bool:
        """Tell whether one of the folders has a `folder` of records."""
        return any((of_results / folder).is_dir() for of_results in self.folders)

    def read(self, record_type: type[R]) -> dict[Path, R]:
        """Return all records of one type by their paths, folder by folder."""
        found: dict[Path, R] = {}
        for folder in self.folders:
            records, left_out = scan_records(folder, record_type)
            for file in left_out:
                self.left_out.setdefault(file.path, file)
            found |= records
        return each_once(found)


def _metrics(record: Record) -> list[tuple[str, Metric]]:
    """Return the metrics of a run or an evaluation by their places; nothing for other records."""
    return [(row.name, row.metric) for row in getattr(record, "rows", [])]
