"""Which images have text in them, by the cached features of a filter that looked for it."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from benchmark.core.uids import UidArray, UidIndex, unite_uids
from benchmark.pool.pool import Pool
from benchmark.scoring.feature_cache import load_features
from benchmark.scoring.shard_reader import features_path
from filters.base import Composite, Features, Reader
from filters.ocr.features import TextDetection


def have_text(pool: Pool, scorer: Reader, uids: UidArray) -> npt.NDArray[np.float64]:
    """Return for each of n images 1 if it has a text area, 0 if not, NaN where `scorer` did not look, shape (n,)."""
    distinct = unite_uids([uids])
    index = UidIndex(distinct)
    text = np.full(len(distinct), np.nan)
    detection = next((part for part in _features(scorer) if isinstance(part, TextDetection)), None)
    for path in [features_path(pool, shard, detection) for shard in pool.tars] if detection else []:
        if path.is_file():
            table = load_features(path, index)
            text[index.find(table.uids)] = [len(polygons) > 0 for polygons in table.columns["polygons"]]
    return np.asarray(text[index.find(uids)])


def _features(reader: Reader) -> Iterator[Features]:
    """Yield all features under a filter, those of its parts and of its features among them."""
    parts = reader.filters.values() if isinstance(reader, Composite) else ()
    for part in (*parts, *reader.features):
        if isinstance(part, Features):
            yield part
        yield from _features(part)
