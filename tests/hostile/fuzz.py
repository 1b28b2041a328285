"""Files with random damage through the readers: each is read, counted or refused in one line, and within seconds.

``python -m tests.hostile.fuzz --minutes 10`` (`make fuzz`) goes on for so long. It names a fault by the number of the
file; seed and number make the file again.
"""

import argparse
import faulthandler
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import count, takewhile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from benchmark.core.batch import Batch, SampleError
from benchmark.core.errors import UserError
from benchmark.core.uids import encode_uids
from benchmark.pool.image_parquet import write_as_tar
from benchmark.pool.parquet_reader import read_metadata
from benchmark.pool.tar_index import index_tar
from benchmark.pool.tar_reader import read_images
from filters.score_file import ScoreFile
from filters.uid_list import UidList
from tests.hostile.hostile_tars import BLOCK, with_checksum
from tests.pools import rows, write_metadata, write_tar

SECONDS = 5.0  # for a file of some kilobytes
HOSTILE = (b"-1", b"9" * 40, b"\xff" * 12, b"\x80" + b"\xff" * 11, b"\xef\xbb\xbf", b"null", b"NaN")
# Place and size in a tar's header of name, size, type, link, magic, prefix.
HEADER_FIELDS = ((0, 100), (124, 12), (156, 1), (157, 100), (257, 8), (345, 155))


def read_tar(path: Path) -> None:
    drops: Counter[str] = Counter()
    index = index_tar(path, {}, frozenset(), [], keyed=True)
    for batch in read_images(path, index, 16, drops):
        assert len(batch.images) == len(batch.texts)


def read_parquet(path: Path) -> None:
    for batch in read_metadata(str(path), {}, frozenset(), 16, Counter(), ()):
        assert len(batch.uids) == len(batch.texts)


def write_image_parquet(path: Path) -> None:
    samples = rows(20)
    images = [{"bytes": sample.image, "path": sample.key} for sample in samples]
    captions = [[sample.text, sample.key] for sample in samples]
    pq.write_table(pa.table({"image": images, "caption": captions}), path, row_group_size=5)


def read_image_parquet(path: Path) -> None:
    (tar := path.with_suffix(".tar")).unlink(missing_ok=True)
    write_as_tar(str(path), str(path), {}, tar)
    read_tar(tar)
    for batch in read_metadata(str(path), {}, frozenset({"all_captions"}), 16, Counter(), by_row=True):
        assert len(batch.uids) == len(batch.texts)


def read_score_file(path: Path) -> None:
    for scorer in (ScoreFile(str(path), "score"), UidList(str(path))):
        scorer.score(Batch(encode_uids([sample.uid for sample in rows(20)]), [""] * 20))


def write_scores(path: Path) -> None:
    table = pa.table({"uid": [sample.uid for sample in rows(20)], "score": np.arange(20.0)})
    if path.suffix == ".csv":
        csv.write_csv(table, path)
    else:
        pq.write_table(table, path)


# How a whole file of each kind is written and read; it may be refused with `UserError` or `SampleError`.
TARGETS: dict[str, tuple[Callable[[Path], object], Callable[[Path], object]]] = {
    "pool.tar": (lambda path: write_tar(path, rows(6)), read_tar),
    "metadata.parquet": (lambda path: write_metadata(path, rows(40)), read_parquet),
    "images.parquet": (write_image_parquet, read_image_parquet),
    "scores.parquet": (write_scores, read_score_file),
    "scores.csv": (write_scores, read_score_file),
}


def damaged(data: bytes, rng: np.random.Generator, is_tar: bool) -> bytes:
    """Return `data` with one to four places flipped, cut, cleared, repeated or filled with what breaks numbers."""
    array = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        start, size = int(rng.integers(max(len(array), 1))), int(rng.integers(1, 64))
        here, filling = slice(start, start + size), HOSTILE[rng.integers(len(HOSTILE))]
        kind = rng.integers(6)
        if kind < 2:
            array[here] = rng.bytes(len(array[here])) if kind else bytes(len(array[here]))
        elif kind == 2:
            del array[start:]
        elif kind == 3:
            array[start:start] = array[start : start + int(rng.integers(1, 2048))]
        elif kind == 4:
            array[start : start + len(filling)] = filling
        elif is_tar:
            block = slice(BLOCK * (start // BLOCK), BLOCK * (start // BLOCK + 1))
            if len(header := array[block]) == BLOCK:  # any bytes in one of its fields, and a right checksum
                place, size = HEADER_FIELDS[rng.integers(len(HEADER_FIELDS))]
                header[place : place + size] = rng.choice(
                    [rng.bytes(size), *(c * size for c in (b"7", b"-", b"g"))]
                )
                array[block] = with_checksum(header)
    return bytes(array)


def fuzz(folder: Path, numbers: Iterable[int], seed: int = 0) -> tuple[Counter[str], list[str]]:
    """Read damaged files of every target; return the outcomes and the faults. Seed and number make a file again."""
    outcomes, faults, whole = Counter[str](), list[str](), dict[str, bytes]()
    for name, (write, read) in TARGETS.items():
        write(folder / name)
        read(folder / name)
        whole[name] = (folder / name).read_bytes()
    for number, name in ((number, name) for number in numbers for name in TARGETS):
        rng = np.random.default_rng([seed, number])
        (folder / name).write_bytes(damaged(whole[name], rng, name.endswith(".tar")))
        faulthandler.dump_traceback_later(20 * SECONDS, exit=True)  # a hang in compiled code
        began = time.perf_counter()
        try:
            TARGETS[name][1](folder / name)
            outcomes[f"{name} read"] += 1
        except (UserError, SampleError) as error:
            outcomes[f"{name} refused"] += 1
            if "\n" in str(error):
                faults.append(f"{name} {number}: more than one line: {error!r}")
        except Exception:
            faults.append(f"{name} {number}: {traceback.format_exc()}")
        faulthandler.cancel_dump_traceback_later()
        if (took := time.perf_counter() - began) > SECONDS:
            faults.append(f"{name} {number}: {took:.1f} seconds")
    return outcomes, faults


def main() -> int:
    """Damage files for some minutes; print the outcomes and the faults."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    end = time.monotonic() + 60 * arguments.minutes
    with tempfile.TemporaryDirectory() as folder:
        numbers = takewhile(lambda _: time.monotonic() < end, count())
        outcomes, faults = fuzz(Path(folder), numbers, arguments.seed)
    print(
        f"seed {arguments.seed}: {outcomes.total()} files, {len(faults)} faults",
        dict(outcomes),
        *faults,
        sep="\n",
    )
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
