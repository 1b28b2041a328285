"""``task=reshard task.output=FOLDER``: write the selected samples as tars that DataComp's train script accepts."""

import json
from collections import Counter

from benchmark.core.output_folder import OutputFolder
from benchmark.pool.pairs import Written
from benchmark.pool.reshard import SHARD_SIZE, check_unused, write_shards
from benchmark.results.report.croissant import croissant
from benchmark.results.report.data_card import data_card
from benchmark.run.job import Job
from benchmark.run.open_samples import open_readable
from benchmark.run.output import print_result
from benchmark.run.score import score_pairs
from benchmark.run.select import select_pairs


def reshard(job: Job) -> None:
    """Select and reshard; print the folder. If epochs differ, each has a folder in it."""
    folder = str(job.cfg.task.output).rstrip("/")
    check_unused(folder)  # before anything is scored
    subset, selected = open_readable(job, select_pairs(job, score_pairs(job)))
    epochs, members = selected.selection.epochs, job.cfg.task.members == "all"
    for number, uids in enumerate(epochs):
        location = f"{folder}/epoch{number:03d}" if len(epochs) > 1 else folder
        count = write_shards(subset.pool, uids, location, job.engine, SHARD_SIZE, job.pool, members)
        written, tars = Written(count, 0), -(-count // SHARD_SIZE)
        card = data_card(selected.manifest, written, [], {}, Counter(), [], tars)
        output, name = (
            OutputFolder(location),
            f"{count:,} pairs of {job.pool.name} by {selected.manifest.filter}",
        )
        output.write_text("README.md", card)
        output.write_text("croissant.json", json.dumps(croissant(name), indent=1))
        print_result(f"wrote {count:,} of {len(uids):,} samples")
    print_result(folder)
