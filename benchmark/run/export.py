"""``task=export``: the selected pairs as a folder for the Hugging Face hub and for img2dataset, with a data card."""

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import islice
from pathlib import Path

from benchmark.core.errors import UserError
from benchmark.core.extras import require
from benchmark.core.output_folder import OutputFolder, writable_folder
from benchmark.core.paths import cache_folder, write_text
from benchmark.core.uids import write_subset
from benchmark.pool.pairs import read_captions, write_pairs
from benchmark.pool.reshard import check_unused, claim
from benchmark.results.report.data_card import data_card, length_figures
from benchmark.results.report.report_data import eval_results
from benchmark.results.results_folders import read_runs
from benchmark.run.job import Job
from benchmark.run.open_samples import open_readable
from benchmark.run.output import print_result
from benchmark.run.score import score_pairs
from benchmark.run.select import select_pairs
from benchmark.selection.selection import subset_files
from filters.english import language_detector

log = logging.getLogger(__name__)
DETECTED = 20_000  # at most so many captions have their language detected


def export(job: Job) -> None:
    """Select, and write the folder; its path is the last line on stdout."""
    output = job.cfg.task.output
    if output is not None:
        check_unused(str(output))  # before anything is scored
    with nullcontext() if output is None else writable_folder(str(output)) as folder:
        _export(job, folder)


def _export(job: Job, output: Path | None) -> None:
    """Select, and write to `output`; None: to a folder in the cache."""
    results = read_runs(job.results_dir)
    pool = job.pool
    selected = select_pairs(job, score_pairs(job))
    if pool.tars and pool.is_local:
        _, selected = open_readable(job, selected)
    manifest, selection = selected.manifest, selected.selection
    name = f"{pool.name}-{manifest.filter}-{manifest.k}-{manifest.sha256[:8]}"
    folder = output or cache_folder("exports", name)
    if output:
        claim(OutputFolder(output), manifest.sha256)
    files = subset_files(folder / "subset.npy", selection)
    for file, uids in zip(files, selection.epochs, strict=True):
        write_subset(file, uids)
    (folder / "eval_results.jsonl").unlink(missing_ok=True)  # of an earlier export, which had other results
    scores = selected.table.of_uids(selection.uids).scores
    parquet = folder / "subset.parquet"
    written = write_pairs(parquet, pool, selection.uids, scores)
    if not written.urls:
        log.warning(
            "export: pool %s has no urls for img2dataset; task=reshard copies images of a pool", pool.name
        )
    compared = [result for result in results if not result.protocol.is_quick_try]
    same = [result for result in compared if result.selection.sha256 == manifest.sha256]
    if same:
        write_text(folder / "eval_results.jsonl", eval_results(same))
    else:
        log.info("export: results_dir=%s has no run on this subset; no eval_results.jsonl", job.results_dir)
    words, characters = zip(*((len(t.split()), len(t)) for t in read_captions(parquet)), strict=True)
    lengths = {"words": length_figures(words), "characters": length_figures(characters)}
    languages = Counter(detect_languages(parquet, written.pairs))
    write_text(
        folder / "README.md", data_card(manifest, written, [f.name for f in files], lengths, languages, same)
    )
    print_result(str(folder))


def detect_languages(pairs: Path, count: int) -> Iterator[str]:
    """Yield the languages of at most `DETECTED` captions, evenly spaced; none without the extra ``language``."""
    try:
        require("language")
    except UserError as error:
        log.info("export: the card names no languages: %s", error)
        return
    evenly = islice(read_captions(pairs), 0, None, -(-count // DETECTED))
    yield from filter(None, map(language_detector(), evenly))
