"""One run is one run whatever its ids: copies of records change no table, page, file or answer of the API."""

from dataclasses import replace
from itertools import count, cycle
from pathlib import Path
from typing import Any

import pytest

from benchmark.cli.sweep_runs import Outcome, outcome_tables
from benchmark.core.paths import REFERENCE_RESULTS
from benchmark.core.records import scan_records, write_record
from benchmark.results.report.report_data import eval_results
from benchmark.results.report.run_tables import run_table
from benchmark.results.result import Evaluation, Result
from benchmark.results.results_folders import ResultsFolders, each_once, read_runs
from benchmark.run.report import report
from pairsift import api
from pairsift.studies.profile.profiling import Profile
from pairsift.studies.profile.web_likeness.caption_profile import CaptionProfile
from tests.benchmark.results.report.made_results import captioned, protocol
from tests.jobs import make_job

LONGER = replace(protocol(), facts=protocol().facts | {"captioner.training.samples_seen": "40000"})


def run_of(name: str, cider: float, seed: int = 0, *, selects: str = "", **changes: Any) -> Result:
    """A run with the selection of the filter `selects`, by default of its filter."""
    made = captioned(name, cider, seed=seed, **changes)
    selection = replace(made.selection, sha256=f"{selects or name} {seed} {made.size}")
    run_id = f"{made.run_id}-{made.protocol.fingerprint}"
    return replace(made, selection=selection, run_id=run_id, finished="2026-02-01", config=settings("pool"))


def settings(url: str) -> dict[str, Any]:
    return {"pool": {"url": url}, "downstream": {"captioner": {"training": {"seed": 0}}}}


RUN = run_of("clip", 0.1)


# Two filters with one selection, one with two seeds, a reference, at two sizes and under two protocols.
RUNS = [
    run_of(name, 0.1 + seed / 10, seed, selects="random" if name == "no_filter" else "", **changes)
    for name, seeds in {"random": 2, "no_filter": 1, "clip": 2, "oracle": 1}.items()
    for changes in ({}, {"size": 500_000, "protocol": protocol(size=500_000)}, {"protocol": LONGER})
    for seed in range(seeds)
]
# Copies with other ids, spellings, machines and costs, and no later time.
COPIES = [
    replace(
        made, run_id=f"{prefix}{made.run_id}-{number}", config=settings(url), finished=finished, machine="another",
        scoring=replace(made.scoring, seconds=99.0),
    )
    for number, made, (prefix, url, finished) in zip(
        count(),
        [*RUNS[::2], RUNS[0]],
        cycle([("", "./pool", "2026-01-01"), ("z", "/home/me/pool", "2026-02-01"), ("z", "~/pool", "2026-01-01")]),
        strict=False,
    )
]  # fmt: skip


def everything(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """All that is shown of the runs in a folder."""
    found = read_runs(folder)
    capsys.readouterr()
    report(make_job("task=report", f"results_dir={folder}"))
    shown = {"terminal": capsys.readouterr().out}
    shown |= {suffix: (folder / f"report.{suffix}").read_text() for suffix in ("md", "csv", "json", "html")}
    table = api.load_results(folder)
    shown["api"] = table.to_csv() if hasattr(table, "to_csv") else str(table.to_pydict())
    new = run_of("mine", 0.5)
    shown["end of a run"] = str(run_table(new, found, found))
    done = [Outcome("run", "done", 1.0, str(path)) for path in sorted(scan_records(folder, Result)[0])]
    shown["sweep"] = str(outcome_tables(done)[1:])
    shown["eval_results.jsonl"] = eval_results(found)
    return shown


def test_copies_of_runs_change_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    for run in RUNS:
        path = write_record(tmp_path, run)
        path.with_suffix("").mkdir()  # what a run leaves; those who copy records may leave it behind
    alone = everything(tmp_path, capsys)
    for run in COPIES:
        write_record(tmp_path, run)
    caplog.clear()
    caplog.set_level("INFO")
    read_runs(tmp_path)
    assert sum("are the same run" in line for line in caplog.messages) == len(COPIES)
    for name, text in everything(tmp_path, capsys).items():
        assert text == alone[name], name


@pytest.mark.parametrize(
    ("run_id", "cider", "level"),
    [("a", 0.1, "INFO"), ("a", 0.2, "WARNING"), (RUN.run_id, 0.1, None), (RUN.run_id, 0.2, "WARNING")],
)
def test_the_run_that_finished_last_counts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, run_id: str, cider: float, level: str | None
) -> None:
    last = replace(run_of("clip", cider), run_id=run_id, finished="2026-02-02")
    path = write_record(tmp_path / "two", last)
    write_record(tmp_path / "one", RUN)
    other = write_record(tmp_path / "two", run_of("icc", 0.3))
    caplog.set_level("INFO")
    for order in (("one", "two", "one"), ("two", "one")):
        found = ResultsFolders([tmp_path / name for name in order]).read(Result)
        assert (found.pop(path), [*found]) == (last, [other])
    records = [record for record in caplog.records if "are the same run" in record.getMessage()]
    assert [record.levelname for record in records[:1]] == ([level] if level else [])
    assert all(f"{path} finished last and counts" in record.getMessage() for record in records)
    assert all(("other metrics" in record.getMessage()) == (cider == 0.2) for record in records)


def test_files_of_every_kind_are_merged_and_left_out_once(tmp_path: Path) -> None:
    for folder, finished in (("a", "2"), ("b", "1")):
        write_record(tmp_path / folder, Evaluation("e", "e", {}, {}, {}, finished=finished))
    path = tmp_path / "a" / "profile" / "broken.json"
    path.parent.mkdir()
    path.write_text("[]")
    source = ResultsFolders([tmp_path / "a", tmp_path / "b", tmp_path / "absent"])
    assert [made.finished for made in source.read(Evaluation).values()] == ["2"]
    assert source.left_out == {}
    assert {**source.read(Profile), **source.read(CaptionProfile)} == {}
    assert list(source.left_out) == [path]


def with_captions(training: str) -> Result:
    trained = replace(RUN.downstream["captioner"], checkpoint=f"~/trained/{training}/model")
    config = settings("pool") | {"captions": {"columns": [], "files": ["captions.parquet"]}}
    return replace(RUN, config=config, downstream={"captioner": trained})


TRAINED = settings("pool") | {"downstream": {"captioner": {"training": {"seed": 1}}}}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (RUN, replace(RUN, seed=1)),
        (RUN, replace(RUN, filter="no_filter")),
        (RUN, replace(RUN, protocol=LONGER)),
        (RUN, replace(RUN, selection=replace(RUN.selection, sha256="another"))),
        (RUN, replace(RUN, selection=replace(RUN.selection, config={"minimum": 0.3}))),
        (RUN, replace(RUN, config=TRAINED)),
        (with_captions("captioner-1"), with_captions("captioner-2")),
    ],
    ids=["seed", "filter", "protocol", "selection", "settings", "seed of the training", "captions"],
)
def test_other_runs_are_no_copies(one: Result, other: Result) -> None:
    found = {Path("a.json"): one, Path("b.json"): replace(other, run_id="b")}
    assert each_once(found) == found


def test_published_results_hold_no_copies() -> None:
    found = scan_records(REFERENCE_RESULTS, Result)[0]
    assert len(each_once(found)) == len(found) > 100
