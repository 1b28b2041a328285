"""The cut of the demo at a CLIP similarity: the pool has accepted pairs only, in the pool's shares."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.core.errors import UserError
from benchmark.demo.build import build_pool
from benchmark.demo.settings import DemoConfig
from benchmark.pool.pool import Pool
from tools.demo_world.cut import pool_indices, save_cut
from tools.demo_world.draws import sample_draft
from tools.demo_world.embedded_text import KINDS as TEXTS
from tools.demo_world.noise import GRADES
from tools.scale_models.cut import shares_to_draw
from tools.scale_models.data import demo_config, pool_mix
from tools.scale_models.export import MODELS


def cut_demo(folder: Path, accepted: list[int], **changes: object) -> DemoConfig:
    config = replace(demo_config(cut=folder), pairs=3, shard_size=2, evaluation={}, **changes)
    bitmap = np.zeros(20, bool)
    bitmap[accepted] = True
    save_cut(folder, bitmap, config.draws_fingerprint)
    return config


def test_the_pool_consists_of_accepted_pairs(tmp_path: Path) -> None:
    config = cut_demo(tmp_path / "cut", [1, 4, 5, 19])
    assert pool_indices(config).tolist() == [1, 4, 5]
    build_pool(tmp_path / "pool", config, workers=1)
    pool = Pool("demo", str(tmp_path / "pool"))
    texts = [text for s in pool.shards(frozenset({"text"})) for b in pool.batches(s, frozenset({"text"}), 9, {})
             for text in b.texts]  # fmt: skip
    assert texts == [sample_draft("pool", index, 0, config.drawn).caption for index in (1, 4, 5)]


def test_a_cut_of_other_settings_is_refused(tmp_path: Path) -> None:
    config = cut_demo(tmp_path, [1, 4, 5])
    for changes in ({"seed": 1}, {"consistency": 1.0}, {"image_size": 64}):
        with pytest.raises(UserError, match=r"pool.demo.cut was made with another .*pool.demo.cut=null"):
            pool_indices(replace(config, **changes))
    assert pool_indices(replace(config, jpeg_quality=50)).tolist() == [1, 4, 5]


def test_a_pool_larger_than_the_cut_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"pool.demo.pairs=4 must be at most 3"):
        pool_indices(replace(cut_demo(tmp_path, [1, 4, 5]), pairs=4))


def test_a_missing_cut_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"holds no accepted.npz"):
        _ = demo_config(cut=tmp_path).fingerprint


def test_another_cut_is_another_demo(tmp_path: Path) -> None:
    first = cut_demo(tmp_path / "a", [1, 2, 3]).fingerprint
    assert cut_demo(tmp_path / "b", [1, 2, 4]).fingerprint != first
    (tmp_path / "a").rename(tmp_path / "c")
    assert replace(demo_config(tmp_path / "c"), pairs=3, shard_size=2, evaluation={}).fingerprint == first


@pytest.mark.slow
def test_the_shipped_pool_has_its_shares() -> None:
    config = demo_config(cut=MODELS / "cut")
    indices = pool_indices(config)
    assert len(indices) == config.pairs
    drafts = [sample_draft("pool", int(index), config.seed, config.drawn) for index in indices[::16]]
    kinds, texts = Counter(draft.kind for draft in drafts), Counter(draft.embedded for draft in drafts)
    for counted, target in ((kinds, config.mix.kinds), (texts, config.mix.texts)):
        assert {kind: counted[kind] / len(drafts) for kind in target} == pytest.approx(target, abs=0.02)


def test_after_the_cut_the_shares_are_the_targets() -> None:
    accepted = np.random.default_rng(0).uniform(0.02, 0.6, (len(GRADES), len(TEXTS)))
    target = pool_mix().without("near_duplicate")
    drawn, kept = shares_to_draw(accepted, target)
    cells = np.outer([drawn.kinds[k] for k in GRADES], [drawn.texts[t] for t in TEXTS]) * accepted
    assert cells.sum() == pytest.approx(kept)
    kinds = np.array([target.kinds[k] for k in GRADES])
    assert cells.sum(axis=1) / kept == pytest.approx(kinds / kinds.sum(), abs=1e-3)
    assert cells.sum(axis=0) / kept == pytest.approx([target.texts[t] for t in TEXTS], abs=1e-3)
