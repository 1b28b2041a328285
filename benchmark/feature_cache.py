"""Features of a shard on disk: uids and half-precision arrays in one ``.npz``."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmark.batch import Batch
from benchmark.paths import atomic_write
from benchmark.uids import decode_uids, encode_uids

_UIDS, _DROPS = "_uids", "_drops"


def save_features(
    path: Path, uids: Sequence[str], arrays: Mapping[str, npt.NDArray[np.float32]], drops: Counter[str]
) -> None:
    """Write arrays of shape (n, d) as float16: 8M pairs of two 512-wide embeddings take 16 GB, not 32."""
    stored = {name: array.astype(np.float16) for name, array in arrays.items()}
    text = np.frombuffer(json.dumps(drops).encode(), np.uint8)
    with atomic_write(path) as temporary:
        np.savez(temporary, **{_UIDS: encode_uids(uids), _DROPS: text, **stored})  # type: ignore[arg-type]


def load_features(path: Path, batch_size: int, drops: Counter[str]) -> Iterator[Batch]:
    """Yield batches of uids and float32 features; add the counts of what could not be read to `drops`."""
    with np.load(path, allow_pickle=False) as file:
        drops.update(json.loads(file[_DROPS].tobytes()))
        uids = decode_uids(file[_UIDS])
        arrays = {name: file[name] for name in file.files if name not in {_UIDS, _DROPS}}
    for start in range(0, len(uids), batch_size):
        rows = slice(start, start + batch_size)
        features = {name: array[rows].astype(np.float32) for name, array in arrays.items()}
        yield Batch(uids[rows], [], features=features)
