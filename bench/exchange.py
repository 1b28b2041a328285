"""Commands of the exchange on a made pool: looking scores up, exclusion, soft cap, agreement, publishing.

``python -m bench.exchange FOLDER PAIRS`` writes to a new folder a pool of that many pairs, ten times as many
published scores and .78 urls to exclude per pair (600 bytes per pair), prints the usage of commands, and removes it.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.measurement import measure
from benchmark.core.arrow import from_numpy
from benchmark.core.uids import UID_DTYPE, encode_uid_column, uid_columns

OTHERS, LISTED = 9, 10 / 12.8  # scores of other pairs, and urls to exclude, per pair
COMMANDS = [  # the first three leave scores in the cache
    *(f"task=score filter=column filter.column={name}" for name in ("score", "other_score", "cluster")),
    "task=score filter=score_file filter.path=FOLDER/scores filter.column=score",
    "task=select filter=column filter.column=score size=30%",
    "task=select filter=column filter.column=score size=30% pool.exclude=FOLDER/urls.txt",
    "task=select filter=score_sum filter@filter.filters.a=column filter.filters.a.column=score"
    " filter@filter.filters.b=column filter.filters.b.column=other_score selector=soft_cap size.samples=PAIRS",
    "task=agreement task.filters=[a=column,b=column,c=column] task.filters.a.column=score"
    " task.filters.b.column=other_score task.filters.c.column=cluster",
    "task=publish filter=column filter.column=score task.output=FOLDER/published",
]
SHARED = "pool=img2dataset pool.url=FOLDER/pool results_dir=FOLDER/results engine.workers=1"


def write(target: str, pairs: int) -> None:
    """Write the pool, scores of its and of other pairs, and a list of urls, half of them of its pairs."""
    from bench.listed_pools import write_metadata  # torch would be in children, too

    folder, rng = Path(target), np.random.default_rng(1)
    (metadata := folder / "pool" / "metadata").mkdir(parents=True)
    (folder / "scores").mkdir()
    write_metadata(str(metadata), pairs, rows=200_000)  # its seed is 0
    with (folder / "urls.txt").open("w") as listed:
        for path in sorted(metadata.iterdir()):
            table = pq.read_table(path, columns=["uid", "url"])
            for url in table["url"].to_pylist()[: int(len(table) * LISTED / 2)]:
                listed.write(f"{url}\n{url}?{rng.integers(2**32)}\n")
            others = rng.integers(0, 2**64, (len(table) * OTHERS, 2), dtype=np.uint64).view(UID_DTYPE).ravel()
            uids = rng.permutation(np.concatenate([encode_uid_column(table["uid"]), others]))
            scores = from_numpy(rng.random(len(uids), np.float32))
            pq.write_table(pa.table(uid_columns(uids) | {"score": scores}), folder / "scores" / path.name)


if __name__ == "__main__":
    from bench import exchange  # functions are measured by the name of their module

    target, pairs = sys.argv[1:]
    measure(exchange.write, target, int(pairs))
    os.environ["XDG_CACHE_HOME"] = f"{target}/cache"
    for overrides in COMMANDS:
        typed = f"{SHARED} {overrides}".replace("FOLDER", target).replace("PAIRS", pairs).split()
        began = time.monotonic()
        process = subprocess.Popen([sys.executable, "-m", "benchmark", *typed], stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        assert not status, typed
        spent = [time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20]
        print("{:.1f} s, {:.1f} of processors, {:.2f} GiB:".format(*spent), overrides, flush=True)
    shutil.rmtree(target)
