"""A subset of a pool: its samples at random offsets of the tars, or written out as tars of their own."""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import IMAGE_MISSING, Sample
from benchmark.core.errors import UserError
from benchmark.core.progress import progress
from benchmark.core.uids import UidArray, decode_uids, encode_uids, find_uids, sort_uids
from benchmark.pool.pool import Pool, Shard
from benchmark.pool.tar_index import TarIndex
from benchmark.pool.tar_reader import read_image
from benchmark.subset.other_captions import OtherCaptions

log = logging.getLogger(__name__)
IMAGE_NEEDS = frozenset({"image", "text"})


@dataclass(frozen=True)
class Rows:
    """Which rows of one tar are selected, and how often (a uid that stands twice is drawn twice)."""

    shard: Shard
    index: TarIndex
    rows: npt.NDArray[np.int64]


class Subset:
    """Random access to the selected samples of a local pool, in the order of their uids, with their other captions.

    ``subset[i]`` returns a `Sample`, or raises `SampleError` when its image cannot be decoded. Picklable, for
    loader workers. `missing` counts selected uids that no tar holds; `epochs` holds the indices of each.

    Args:
        pool: where the samples are.
        uids: of all of them.
        epochs: the uids of each epoch where they are not all; each sorted, each uid once.
        captions: other captions of them, if there are any.
    """

    def __init__(
        self,
        pool: Pool,
        uids: UidArray,
        epochs: Sequence[UidArray] = (),
        captions: OtherCaptions | None = None,
    ) -> None:
        if not pool.is_local:
            raise UserError(
                f"training reads at random offsets, and pool {pool.name} is remote; run task=reshard first"
                " and train with pool=img2dataset pool.url=FOLDER"
            )
        self._paths: list[Path] = []
        places: list[tuple[int, int, int]] = []
        texts: list[str] = []
        names: list[str] = []
        for part in selected_rows(pool, uids):
            for row in part.rows:
                places.append((len(self._paths), part.index.offsets[row], part.index.sizes[row]))
                texts.append(part.index.texts[row])
                names.append(part.index.uids[row])
            with pool.local(part.shard) as path:
                self._paths.append(path)
        order = sort_uids(encode_uids(names))
        self._places = np.asarray(places, np.int64).reshape(-1, 3)[order]
        self._texts = [texts[i] for i in order]
        self._uids = [names[i] for i in order]
        self.epochs: tuple[npt.NDArray[np.int64], ...] = (np.arange(len(names)),)
        if len(epochs) > 1:
            held = encode_uids(self._uids)
            found = [find_uids(held, drawn) for drawn in epochs]
            self.epochs = tuple(indices[indices >= 0] for indices in found)
        self.captions = captions or OtherCaptions()
        self.missing = Counter({IMAGE_MISSING: n}) if (n := len(uids) - len(names)) else Counter[str]()
        if not names:
            raise UserError(f"none of the {len(uids):,} selected uids is in the tars of pool {pool.name}")
        if self.missing:
            log.warning("subset: %d of %d selected samples are in no tar of the pool", n, len(uids))

    def __len__(self) -> int:
        return len(self._uids)

    def __getitem__(self, item: int) -> Sample:
        shard, offset, size = self._places[item]
        with self._paths[shard].open("rb") as file:
            image = read_image(file, int(offset), int(size))
        uid = self._uids[item]
        return Sample(uid, self._texts[item], image, self.captions.by_uid.get(uid, ()))


def selected_rows(pool: Pool, uids: UidArray) -> list[Rows]:
    """Return the selected rows of every tar that holds any. A uid found in several tars is taken from the first."""
    counts = Counter(decode_uids(uids))
    found = []
    shards = pool.shards(IMAGE_NEEDS)
    with progress("index", len(shards), "shards") as advance:
        for shard in shards:
            with pool.local(shard) as path:
                index = pool.index(shard, path)
            rows = [row for row, uid in enumerate(index.uids) for _ in range(counts.pop(uid, 0))]
            if rows:
                found.append(Rows(shard, index, np.asarray(rows)))
            advance(1, "")
    return found
