"""Captions per second and memory of SBA, VBA and ICC, one caption at a time (ICC paper, section 4).

    python -m bench.icc_speed                                          # the demo's models
    python -m bench.icc_speed models=paper models.icc.build=FOLDER

The paper has .45, .2 and 45 captions per second on an A6000. Memory is a GPU's, or without one the peak RSS.
"""

import multiprocessing
import resource
import sys
import time

import torch

from benchmark.core.batch import Batch
from benchmark.core.devices import resolve_device
from benchmark.core.launch import own_cores
from benchmark.results.provenance import machine
from pairsift.api import get_filter
from pairsift.studies.icc.demo_captions import demo_captions
from tests.pools import numbered_uids

CAPTIONS = 20
SCORERS = {"sba": {"filter.mode": "direct"}, "vba": {"filter.mode": "direct"}, "icc": {}}


def measure(name: str, settings: dict[str, str]) -> tuple[float, float]:
    """Return captions per second, and peak memory in GiB."""
    torch.set_num_threads(own_cores())
    device = resolve_device("auto")
    scorer = get_filter(name, {"models": "demo"} | SCORERS[name] | settings)
    scorer.setup(device)
    first, *others = [Batch(numbered_uids(1), [text]) for text in demo_captions(CAPTIONS + 1, 0.5).texts]
    scorer.score(first)  # what is prepared once
    begin = time.perf_counter()
    for batch in others:
        scorer.score(batch)
    speed = CAPTIONS / (time.perf_counter() - begin)
    if device.type == "cuda":
        return speed, torch.cuda.max_memory_allocated(device) / 2**30
    return speed, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    print(machine())
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:  # a process for each
        given = dict(argument.split("=", 1) for argument in sys.argv[1:])
        for scorer_name in SCORERS:
            rate, memory = pool.apply(measure, (scorer_name, given))
            print(f"{scorer_name}: {rate:,.3g} captions/s, {memory:.2f} GiB")
