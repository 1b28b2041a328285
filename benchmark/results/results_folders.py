"""Several results folders, read as one, and each run once."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TypeVar

from benchmark.core.errors import UserError
from benchmark.core.records import LeftOut, R, Record, scan_records, warn_of
from benchmark.results.protocol import LIMIT
from benchmark.results.report.leaderboard import settings_of
from benchmark.results.result import Evaluation, Result
from downstream.metrics.metric import Metric

QUICK_TRY = "a quick try on the first {:,} images of each evaluation set, comparable to nothing"
MAX_METRICS = 2_000  # over models and evaluation sets; a run of all papers' metrics has 114
TOO_MANY = "{:,} metrics; a report shows at most {:,} of a record"
T = TypeVar("T")
Evaluations = dict[str, list[Metric]]  # by evaluation set
log = logging.getLogger(__name__)


@contextmanager
def damage_as_one_line(path: Path) -> Iterator[None]:
    """Raise `UserError` if a file that a run left cannot be read within the block."""
    try:
        yield
    except (ValueError, KeyError, TypeError, OSError) as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise UserError(f"{path} cannot be read ({reason}); move it away, or run it again") from None


def read_or_leave_out(read: Callable[[Path], T], path: Path, absent: T) -> T:
    """Return the content of a file that a run left; `absent`, with a warning, if it is damaged."""
    try:
        with damage_as_one_line(path):
            return read(path)
    except UserError as error:
        _warn_once(str(error))
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
    """Return the records without copies of a run: the same selection, trained with the same seed under one protocol.

    A copy has another id, such as of a version of this program whose ids held the spelling of paths. A run that has
    its folder counts, then the last one to finish; the log names both.
    """
    kept: dict[str, Path] = {}
    for path, record in records.items():
        identity = _identity(record) if isinstance(record, Result) else str(path)
        known = kept.setdefault(identity, path)
        if known != path:
            newest = max(
                known,
                path,
                key=lambda of: (of.with_suffix("").is_dir(), getattr(records[of], "finished", "")),
            )
            log.info("%s and %s are one run, by their selection and seed; %s counts", known, path, newest)
            kept[identity] = newest
    return {path: records[path] for path in kept.values()}


def _identity(run: Result) -> str:
    """Return what makes a run the same as another one, whatever its id and however its paths are spelled."""
    settings, trainings = settings_of(run), run.config.get("downstream", {})
    seeds = [trainings.get(name, {}).get("training", {}).get("seed", run.seed) for name in run.downstream]
    # Settings have the names of files with other captions; the name of a training depends on their content.
    captioned = any(name.startswith("captions.") for name in settings)
    trained = [Path(model.checkpoint).parent.name for model in run.downstream.values()] if captioned else []
    facts = [
        run.filter,
        settings,
        run.size,
        run.seed,
        run.selection.sha256,
        [*run.downstream],
        seeds,
        trained,
    ]
    return json.dumps([run.protocol.fingerprint, *facts], sort_keys=True)


class ResultsFolders:
    """Records of several folders; among records with one run id, the last one to finish counts.

    `left_out` holds, by path, the files so far that were not readable or too large, and quick tries, which no table
    may show.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = folders
        self.left_out: dict[Path, LeftOut] = {}

    def has(self, folder: str) -> bool:
        """Tell whether one of the folders has a `folder` of records."""
        return any((of_results / folder).is_dir() for of_results in self.folders)

    def read(self, record_type: type[R]) -> dict[Path, R]:
        """Return all records of one type by their paths, folder by folder."""
        latest: dict[str, tuple[Path, R]] = {}
        for folder in self.folders:
            records, left_out = scan_records(folder, record_type)
            for file in left_out:
                self.left_out.setdefault(file.path, file)
            for path, record in records.items():
                # Of a run or an evaluation: for all images, and for other records, there is none.
                if limit := getattr(record, "config", {}).get("evalset", {}).get(LIMIT):
                    self.left_out[path] = LeftOut(path, QUICK_TRY.format(limit))
                    continue
                evaluations = _evaluations(record)
                count = sum(len(metrics) for of_model in evaluations for metrics in of_model.values())
                if count > MAX_METRICS:
                    self.left_out[path] = LeftOut(path, TOO_MANY.format(count, MAX_METRICS))
                    continue
                known = latest.get(record.run_id, (path, record))
                newest = max(known, (path, record), key=lambda file: getattr(file[1], "finished", ""))
                if _evaluations(known[1]) != evaluations:
                    message = "%s and %s are the same run with other metrics; %s finished last and counts"
                    log.warning(message, known[0], path, newest[0])
                latest[record.run_id] = newest
        return each_once(dict(latest.values()))


def _evaluations(record: Record) -> list[Evaluations]:
    """Return the metrics of each model of a run, or of an evaluation; nothing for other records."""
    if isinstance(record, Result):
        return [trained.evaluations for trained in record.downstream.values()]
    return [record.evaluations] if isinstance(record, Evaluation) else []
