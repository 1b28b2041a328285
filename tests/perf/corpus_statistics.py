"""One corpus statistic in a process of its own: ``python -m tests.perf.corpus_statistics NAME FEATURES SHARDS``.

Prints a JSON object: processor seconds, and by how much the statistic raised the process's peak memory, in bytes:
`peak` with and `anonymous` without mapped pages of files, which the system drops when memory is short.
"""

import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmark.core.uids import first_of_each, sort_uids
from benchmark.engine.local import LocalEngine
from benchmark.scoring.corpus_fit import MappedCorpus
from benchmark.scoring.corpus_rows import CorpusRows, write_rows
from benchmark.scoring.feature_cache import load_features
from filters.clip import ClipFeatures
from filters.embeddings.cluster_labels import ClusterLabels
from filters.embeddings.corpus import CorpusFilter
from filters.near_duplicates import NearDuplicates
from filters.negcliploss import NegClipLoss
from filters.normsim import NormSim
from filters.vas import Vas

# Few partitions, steps and clusters: what grows with the pool is seen, and the time is short.
FILTERS: dict[str, Callable[[], CorpusFilter]] = {
    "vas": lambda: Vas("unused", None, None),
    "negcliploss": lambda: NegClipLoss("unused", None, 512, 1, 0.01),
    "near_duplicates": lambda: NearDuplicates("unused", None, clusters=200),
    "normsim": lambda: NormSim("unused", None, 2, None, steps=4),
    "clusters": lambda: ClusterLabels(ClipFeatures("unused"), "image", 200, 0),
}


def rows(paths: list[Path], folder: Path) -> None:
    """The rows of the corpus alone, and every embedding read once in batches of a random order."""
    write_rows(paths, None, folder / "rows")
    corpus = CorpusRows(paths, folder / "rows")
    images, texts = (corpus.embeddings(name) for name in ("image", "text"))
    order = np.random.default_rng(0).permutation(len(images))
    for part in np.array_split(order, -(-len(order) // 32768)):
        images[part], texts[part]


def gather(paths: list[Path], folder: Path) -> None:
    """The plain way, which held the pool: parts, then their concatenation, then a copy in the order of the uids."""
    uids, parts = [], {"image": [], "text": []}
    for path in paths:
        table = load_features(path)
        uids.append(table.uids)
        for output, of_output in parts.items():
            of_output.append(table.columns[output].astype(np.float16))
    joined = np.concatenate(uids)
    order = sort_uids(joined)
    order = order[first_of_each(joined[order])]
    features = {name: np.concatenate(of_name)[order] for name, of_name in parts.items()}
    for part in np.array_split(np.random.default_rng(0).permutation(len(order)), -(-len(order) // 32768)):
        features["image"][part], features["text"][part]


def fit(name: str, paths: list[Path], folder: Path) -> None:
    """The rows and the fit of a filter."""
    write_rows(paths, None, folder / "rows")
    corpus = MappedCorpus(CorpusRows(paths, folder / "rows"), (), folder, LocalEngine("cpu", 1))
    FILTERS[name]().fit_corpus(corpus)


def memory(kind: str) -> int:
    """Bytes of this process: ``RssAnon``, what is in no file now, or ``VmHWM``, the most that there was of all."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{kind}:")[1].split()[0]) * 1024


def main(name: str, features: Path, shards: int) -> None:
    """Measure one statistic over the first shards of a folder."""
    paths = sorted(features.glob("*.arrow"))[:shards]
    before, peak_before = memory("RssAnon"), memory("VmHWM")
    highest = before
    done = threading.Event()

    def watch() -> None:
        nonlocal highest
        while not done.wait(0.02):
            highest = max(highest, memory("RssAnon"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    started = time.process_time()
    with tempfile.TemporaryDirectory(dir=features) as folder:
        plain = {"rows": rows, "gather": gather}
        if name in plain:
            plain[name](paths, Path(folder))
        else:
            fit(name, paths, Path(folder))
    seconds = time.process_time() - started
    done.set()
    watcher.join()
    peak = memory("VmHWM") - peak_before
    print(json.dumps({"seconds": seconds, "peak": peak, "anonymous": highest - before}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
