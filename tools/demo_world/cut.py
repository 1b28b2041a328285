"""The cut of the pool at a CLIP similarity, as LAION-400M is cut at 0.3: which drawn pairs were accepted.

The pool has accepted pairs only. Their indices are shipped as a bitmap, so that drawing the pool needs no CLIP.
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmark.core.errors import UserError
from benchmark.core.paths import atomic_write
from benchmark.demo.settings import ACCEPTED, NEW_CUT, DemoConfig, cut_file


def save_cut(folder: Path, accepted: npt.NDArray[np.bool_], draws_fingerprint: str) -> None:
    """Write the bitmap of accepted pairs, of shape (drawn pairs,), and the fingerprint of the draws to `folder`."""
    bits = np.packbits(accepted)
    with atomic_write(folder / ACCEPTED) as path:
        np.savez_compressed(path, bits=bits, drawn=len(accepted), draws=np.array(draws_fingerprint))


def pool_indices(config: DemoConfig) -> npt.NDArray[np.int64]:
    """Return the index in the `pool` draw of each pair of the pool: shape (config.pairs,), ascending.

    Raises:
        UserError: if the cut is missing, belongs to other settings, or accepted fewer pairs than the pool needs.
    """
    if config.cut is None:
        return np.arange(config.pairs)
    with np.load(cut_file(config.cut), allow_pickle=False) as stored:
        bits, drawn, draws = stored["bits"], int(stored["drawn"]), str(stored["draws"])
    if draws != config.draws_fingerprint:
        raise UserError(
            "pool.demo.cut was made with another pool.demo.seed, image_size, consistency, noise or text; "
            + NEW_CUT
        )
    indices = np.flatnonzero(np.unpackbits(bits, count=drawn))
    if len(indices) < config.pairs:
        raise UserError(
            f"pool.demo.pairs={config.pairs} must be at most {len(indices):,}, the pairs that pool.demo.cut accepted;"
            f" {NEW_CUT}"
        )
    return indices[: config.pairs]
