"""Full-size scorers with random weights, saved locally in the real formats, through the paper's configuration."""

from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.core.images import decode_image
from benchmark.core.uids import decode_uids
from benchmark.scoring.score_parts import read_part
from tests.command_line import Run
from tests.filters.checkpoints import roberta_scorer
from tests.pools import rows, write_pool

pytestmark = pytest.mark.slow


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LAION400M_8M", str(tmp_path / "pool"))
    return write_pool(tmp_path / "pool", [rows(30)])


def score(run: Run, *overrides: str) -> dict[str, float]:
    done = run("task=score", "experiment=icc_paper", "pool.nsfw=[]", *overrides)
    assert done.returncode == 0, done.stderr[-3000:]
    parts = [read_part(path) for path in Path(done.stdout.splitlines()[-1]).glob("*.parquet")]
    return {
        uid: value
        for uids, scores in parts
        for uid, value in zip(decode_uids(uids), scores.tolist(), strict=True)
    }


def test_clip_vit_b_32_equals_open_clips_own_processing(run: Run, pool: Path, tmp_path: Path) -> None:
    import open_clip
    from safetensors.torch import save_file

    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        model, _, preprocess = open_clip.create_model_and_transforms("ViT-B-32-quickgelu", load_weights=False)
    model.eval()
    save_file(model.state_dict(), tmp_path / "ViT-B-32.safetensors")
    found = score(
        run,
        "filter=clip",
        "filter.model=ViT-B-32-quickgelu",
        f"filter.pretrained={tmp_path / 'ViT-B-32.safetensors'}",
    )
    tokenizer = open_clip.get_tokenizer("ViT-B-32-quickgelu")
    with torch.inference_mode():
        images = model.encode_image(torch.stack([preprocess(decode_image(r.image)) for r in rows(8)]))
        texts = model.encode_text(tokenizer([r.text for r in rows(8)]))
    expected = torch.nn.functional.cosine_similarity(images, texts)
    assert [found[r.uid] for r in rows(8)] == pytest.approx(
        expected.tolist(), abs=2e-3
    )  # features are float16


def test_distilroberta_size_scorer_equals_transformers_pipeline(run: Run, pool: Path, tmp_path: Path) -> None:
    from transformers import pipeline

    scorer = roberta_scorer(
        tmp_path / "icc",
        layers=6,
        hidden_size=768,
        num_attention_heads=12,
        intermediate_size=3072,
        vocab_size=50265,
        max_position_embeddings=514,
        initializer_range=0.02,
    )
    found = score(run, "filter=icc", f"filter.checkpoint={scorer}")
    plain = pipeline("text-classification", str(scorer), function_to_apply="none")
    ours = np.array([found[r.uid] for r in rows(30)])
    assert ours == pytest.approx(np.array([plain(r.text)[0]["score"] for r in rows(30)]), abs=1e-5)
