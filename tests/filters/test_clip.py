from collections import Counter

import numpy as np
import pytest
import torch
from PIL import Image

from benchmark.core import devices
from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from benchmark.core.uids import decode_uids
from benchmark.engine.local import LocalEngine
from benchmark.models.clip_models import load_clip
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import score_pool
from filters.clip import Clip, ClipFeatures
from tests.pools import numbered_uids, rows, write_pool

CPU = torch.device("cpu")


def test_score_is_the_cosine_of_open_clips_own_embeddings(tmp_path, clip: str) -> None:
    import open_clip

    pool = Pool("p", str(write_pool(tmp_path / "pool", [rows(6)])))
    table = score_pool(pool, Clip(clip), LocalEngine("cpu", 1))
    model, _, preprocess = open_clip.create_model_and_transforms(clip)
    tokenizer = open_clip.get_tokenizer(clip)
    model.eval()
    needs = frozenset({"image", "text"})
    (batch,) = pool.batches(pool.shards(needs)[0], needs, 99, Counter())
    with torch.inference_mode():
        image = model.encode_image(torch.stack([preprocess(i) for i in batch.images]))
        text = model.encode_text(tokenizer(batch.texts))
        expected = torch.nn.functional.cosine_similarity(image, text)
    found = dict(zip(decode_uids(table.uids), table.scores, strict=True))
    scores = [found[u] for u in decode_uids(batch.uids)]
    assert scores == pytest.approx(expected.tolist(), abs=2e-3)  # features are float16


def test_precision_changes_embeddings_a_little_and_their_key(clip: str, monkeypatch) -> None:
    monkeypatch.setattr(devices, "_computes_bf16", lambda device: True)  # emulated where it is not computed
    embedded = {
        precision: load_clip(clip, None, CPU, precision).embed_texts(["a dog", "a photo of a cat"])
        for precision in ("fp32", "bf16")
    }
    cosines = (embedded["fp32"] * embedded["bf16"]).sum(axis=1)
    assert cosines == pytest.approx([1, 1], abs=0.01)
    assert np.abs(embedded["fp32"] - embedded["bf16"]).max() > 1e-4
    assert Clip(clip, None, "fp32").key() == Clip(clip).key() != Clip(clip, None, "bf16").key()


def test_a_prefix_stands_before_every_caption(clip: str) -> None:
    images = [Image.new("RGB", (40, 40))] * 2
    captions, prefixed = ["a dog", "a red ball"], ["A photo depicts a dog", "A photo depicts a red ball"]
    found, expected, plain = (
        made.extract(Batch(numbered_uids(2), texts, images))["text"]
        for made, texts in (
            (features(clip, "A photo depicts"), captions), (features(clip), prefixed), (features(clip), captions),
        )
    )  # fmt: skip
    assert np.array_equal(found, expected)
    assert not np.allclose(found, plain, atol=1e-3)
    assert Clip(clip, prefix="A photo depicts").key() != Clip(clip).key()


def features(model: str, prefix: str | None = None) -> ClipFeatures:
    made = ClipFeatures(model, prefix=prefix)
    made.setup(CPU)
    return made


@pytest.mark.parametrize(
    ("model", "pretrained", "message"),
    [
        ("ViT-B-32", None, r"ViT-B-32 needs weights; set pretrained.* to one of openai"),
        ("ViT-B-23", "openai", "did you mean 'ViT-B-32'"),
        ("ViT-B-32", "opeanai", "cannot be loaded"),
    ],
)
def test_models_that_cannot_be_had(model: str, pretrained: str | None, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_clip(model, pretrained, CPU)
