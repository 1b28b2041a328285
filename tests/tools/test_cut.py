"""The cut of the demo at a CLIP similarity: a bitmap of accepted draws, and the shares that it leaves."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from pairsift.demo.worlds import PAIRS
from tools.demo_world.cut import accepted_indices, save_cut
from tools.demo_world.draws import sample_draft
from tools.demo_world.embedded_text import ALL
from tools.demo_world.embedded_text import KINDS as TEXTS
from tools.demo_world.mix import PARROT, drawn_mix, pool_mix
from tools.demo_world.noise import GRADES
from tools.demo_world.shipped import CUT
from tools.scale_models.cut import shares_to_draw


def test_accepted_pairs_are_kept_in_order(tmp_path: Path) -> None:
    bitmap = np.zeros(20, bool)
    bitmap[[1, 4, 5, 19]] = True
    save_cut(tmp_path, bitmap, drawn_mix(), 0)
    assert accepted_indices(tmp_path, drawn_mix(), 0).tolist() == [1, 4, 5, 19]
    for mix, seed in ((drawn_mix(), 1), (pool_mix(1.0), 0)):
        with pytest.raises(ValueError, match="made with another mix or seed"):
            accepted_indices(tmp_path, mix, seed)


@pytest.mark.slow
def test_the_shipped_pool_has_its_shares() -> None:
    indices = accepted_indices(CUT, drawn_mix(), 0)[:PAIRS]
    assert len(indices) == PAIRS
    drafts = [sample_draft("pool", int(index), 0, drawn_mix()) for index in indices[::16]]
    kinds, texts = Counter(draft.kind for draft in drafts), Counter(draft.embedded for draft in drafts)
    del texts[ALL]  # parrots' own
    for counted, target in ((kinds, pool_mix().kinds), (texts, pool_mix().texts)):
        shares = {kind: counted[kind] / counted.total() for kind in target}
        assert shares == pytest.approx(target, abs=0.02)


def test_after_the_cut_the_shares_are_the_targets() -> None:
    accepted = np.random.default_rng(0).uniform(0.02, 0.6, (len(GRADES), len(TEXTS)))
    accepted[list(GRADES).index(PARROT)] = 0.4  # whatever the text, as parrots have their own
    target = pool_mix().without("near_duplicate")
    drawn, kept = shares_to_draw(accepted, target)
    cells = np.outer([drawn.kinds[k] for k in GRADES], [drawn.texts[t] for t in TEXTS]) * accepted
    assert cells.sum() == pytest.approx(kept)
    kinds = np.array([target.kinds[k] for k in GRADES])
    assert cells.sum(axis=1) / kept == pytest.approx(kinds / kinds.sum(), abs=1e-3)
    others = cells[[kind != PARROT for kind in GRADES]].sum(axis=0)
    assert others / others.sum() == pytest.approx([target.texts[t] for t in TEXTS], abs=1e-3)
