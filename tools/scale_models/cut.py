"""Cuts drawn pairs at a CLIP similarity, as LAION-400M was cut at 0.3; the pool consists of the accepted pairs.

``python -m tools.scale_models.cut`` prints the similarity and the shares to draw that give the pool's shares and the
published keep rate after the cut. Copy them to conf/models/demo.yaml and tools/demo_world/mix.yaml; then
``python -m tools.scale_models cut`` makes the cut.
"""

import hashlib
import sys
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from omegaconf import OmegaConf

from benchmark.core.paths import atomic_write, cache_folder
from benchmark.models.checkpoints import revision
from tools.demo_world import embedded_text
from tools.demo_world.cut import accepted_indices, save_cut
from tools.demo_world.draws import GENERATOR_VERSION, sample_draft
from tools.demo_world.mix import NEAR_DUPLICATE, PARROT, Mix, drawn_mix, pool_mix
from tools.demo_world.noise import GRADES
from tools.scale_models.clip import embed, load
from tools.scale_models.data import Pairs, world_of
from tools.scale_models.export import MODELS
from tools.scale_models.loop import Recipe

# LAION-5B's announcement: the cut at .28 (.26 for other languages) removed about 90% of more than 50 billion pairs;
# LAION-400M's authors give no figure.
KEEP = 0.1
MODELS_CONFIG = MODELS.parents[2] / "conf" / "models" / "demo.yaml"
SEED = 0  # the pool's seed
CHUNK = 10_000  # pairs per saved part of the similarities
CALIBRATION = 60_000  # pairs to compute the shares to draw from, equally many of each kind
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Cut:
    """The cut: the CLIP, and the number of drawn pairs. A tenth of them is accepted.

    `recipe` holds only the seed and the number of processes.
    """

    clip: Path = MODELS / "clip"
    draws: int = 840_000
    recipe: Recipe = field(default_factory=lambda: Recipe(steps=0, batch=0, lr=0.0, workers=2))


def train(out: Path, config: Cut, device: torch.device) -> None:
    """Write the indices of draws with sufficiently similar image and caption to `out`."""
    cosines = similarities(config, SEED, drawn_mix(), config.draws)
    save_cut(out, cosines >= _minimum(), drawn_mix(), SEED)


def drawn_world() -> str:
    """Return a string that identifies the pairs to cut and the similarity."""
    return repr([world_of(drawn_mix()), _minimum()])


def _minimum() -> float:
    return float(OmegaConf.load(MODELS_CONFIG).clip_minimum)


def similarities(config: Cut, seed: int, mix: Mix, count: int) -> Floats:
    """Return the similarity of image and caption of the first `count` pairs of the `pool` draw: shape (count,).

    They are computed in chunks that are cached, so that a killed run resumes.
    """
    inputs = repr([revision(config.clip), seed, mix, GENERATOR_VERSION])
    folder = cache_folder("demo", "cuts") / hashlib.sha256(inputs.encode()).hexdigest()[:16]
    one = partial(_chunk, folder, config.clip, seed, mix)
    starts = range(0, count, CHUNK)
    with ProcessPoolExecutor(max(1, config.recipe.workers), get_context("spawn")) as processes:
        return np.concatenate(list(processes.map(one, starts)))[:count]


def _chunk(folder: Path, clip: Path, seed: int, mix: Mix, start: int) -> Floats:
    path = folder / f"{start:08d}.npy"
    if not path.is_file():
        torch.set_num_threads(1)
        model, collate = load(clip)
        images, texts = embed(model, collate, Pairs("pool", CHUNK, seed, start, mix))
        with atomic_write(path) as temporary:
            np.save(temporary, (images * texts).sum(dim=1).numpy())
    return np.asarray(np.load(path, allow_pickle=False), np.float32)


def evaluate(folder: Path, samples: int, seed: int) -> dict[str, float]:
    """Return the fraction of drawn pairs that the cut in `folder` accepted, and of each kind among accepted pairs."""
    indices = accepted_indices(folder, drawn_mix(), SEED)
    kinds = [sample_draft("pool", int(i), SEED, drawn_mix()).kind for i in indices[: 10 * samples]]
    shares = {f"share_{kind}": kinds.count(kind) / len(kinds) for kind in (*GRADES, NEAR_DUPLICATE)}
    return {"kept": len(indices) / (int(indices[-1]) + 1), **shares}


def calibrate(config: Cut, target: Mix, seed: int) -> tuple[float, Mix]:
    """Return the similarity to cut at, and a mix. The cut keeps `KEEP` of the mix, with the shares of `target`."""
    equal = Mix(dict.fromkeys(GRADES, 1.0), dict.fromkeys(embedded_text.KINDS, 1.0), target.consistency)
    cosines = similarities(config, seed, equal, CALIBRATION)
    drafts = [sample_draft("pool", index, seed, equal) for index in range(CALIBRATION)]
    kinds = np.array([list(GRADES).index(draft.kind) for draft in drafts])
    texts = np.array([list(embedded_text.KINDS).index(d.embedded) if d.kind != PARROT else 0 for d in drafts])
    low, high = float(cosines.min()), float(cosines.max())
    for _ in range(40):
        minimum = (low + high) / 2
        accepted = _acceptance(kinds, texts, cosines >= minimum)
        drawn, kept = shares_to_draw(accepted, target.without(NEAR_DUPLICATE))
        low, high = (minimum, high) if kept > KEEP else (low, minimum)
    return minimum, _with_near_duplicates(drawn, target)


def _acceptance(
    kinds: npt.NDArray[np.int64], texts: npt.NDArray[np.int64], accepted: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    """Return the accepted fraction of each kind of caption with each kind of text, shape (kinds, texts), never 0.

    Parrots, which have one kind of text of their own, are counted in the first column; their row is constant.
    """
    shape = (len(GRADES), len(embedded_text.KINDS))
    cells = np.ravel_multi_index((kinds, texts), shape)
    size = shape[0] * shape[1]
    rates = (np.bincount(cells, accepted, size) + 0.5) / (np.bincount(cells, minlength=size) + 1)
    rates = rates.reshape(shape)
    parrot = list(GRADES).index(PARROT)
    rates[parrot] = rates[parrot, 0]
    return np.asarray(rates)


def shares_to_draw(accepted: npt.NDArray[np.float64], target: Mix) -> tuple[Mix, float]:
    """Return the mix that has the shares of `target` after the cut, and the fraction of it that is kept.

    Kinds of captions and of text are drawn independently; both are fitted in turn (iterative proportional fitting).
    Shares of texts are those of all kinds but parrots.
    """
    kind_share = np.array([target.kinds[kind] for kind in GRADES])
    text_share = np.array([target.texts[kind] for kind in embedded_text.KINDS])
    kind_share, text_share = kind_share / kind_share.sum(), text_share / text_share.sum()
    kinds, texts = kind_share.copy(), text_share.copy()
    others = np.array([kind != PARROT for kind in GRADES])
    for _ in range(200):
        kinds = kind_share / (accepted @ texts)
        kinds /= kinds.sum()
        texts = text_share / (kinds[others] @ accepted[others])
        texts /= texts.sum()
    names = (
        dict(zip(GRADES, kinds.tolist(), strict=True)),
        dict(zip(embedded_text.KINDS, texts.tolist(), strict=True)),
    )
    return Mix(*names, target.consistency), float(kinds @ accepted @ texts)


def _with_near_duplicates(drawn: Mix, target: Mix) -> Mix:
    """Add near-duplicates to the mix; as copies of all kinds they have the mean acceptance of all others."""
    share = target.kinds[NEAR_DUPLICATE]
    kinds: Mapping[str, float] = {kind: p * (1 - share) for kind, p in drawn.kinds.items()}
    return drawn.only({**kinds, NEAR_DUPLICATE: share})


def main() -> None:
    """Print the similarity to cut at and the shares to draw."""
    config = Cut()
    minimum, drawn = calibrate(config, pool_mix(), seed=1)
    lines = [f"clip_minimum: {minimum:.4f}"]
    lines += [f"{kind}: drawn {p:.4f}" for part in (drawn.kinds, drawn.texts) for kind, p in part.items()]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
