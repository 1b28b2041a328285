"""The cut of the pool at a CLIP similarity, as LAION-400M is cut at 0.3: a bitmap of the accepted draws."""

import hashlib
import json
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmark.core.paths import atomic_write
from tools.demo_world.draws import GENERATOR_VERSION
from tools.demo_world.mix import Mix

ACCEPTED = "accepted.npz"  # name of a cut's file
SIZE = 128  # pixels of the images that CLIP saw


def draws_fingerprint(mix: Mix, seed: int) -> str:
    """Return a hash of all settings that decide which pairs are drawn, before the cut."""
    fields = [seed, SIZE, mix.kinds, mix.texts, (mix.consistency, mix.name_shift)]
    text = json.dumps([fields, GENERATOR_VERSION], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def save_cut(folder: Path, accepted: npt.NDArray[np.bool_], mix: Mix, seed: int) -> None:
    """Write the bitmap of accepted pairs of `mix`, of shape (drawn pairs,), to `folder`."""
    bits, draws = np.packbits(accepted), np.array(draws_fingerprint(mix, seed))
    with atomic_write(folder / ACCEPTED) as path:
        np.savez_compressed(path, bits=bits, drawn=len(accepted), draws=draws)


def accepted_indices(folder: Path, mix: Mix, seed: int) -> npt.NDArray[np.int64]:
    """Return the indices in the `pool` draw that the cut in `folder` accepted, ascending.

    Raises:
        ValueError: if the cut belongs to another mix or seed.
    """
    with np.load(folder / ACCEPTED, allow_pickle=False) as stored:
        if str(stored["draws"]) != draws_fingerprint(mix, seed):
            raise ValueError(
                f"{folder} was made with another mix or seed; run `python -m tools.scale_models cut`"
            )
        return np.flatnonzero(np.unpackbits(stored["bits"], count=int(stored["drawn"])))
