"""PAC-S and RefPAC-S in the suite, on a small checkpoint; the published example's arithmetic."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from benchmark.core.errors import UserError
from benchmark.models.pac_clip import load_pac_clip
from downstream.metrics.clipscore import PACSCORE_WEIGHT, ClipScorer, PacScore
from downstream.metrics.metric import Corpus
from downstream.metrics.suite import score_captions, score_domains
from tests.filters.checkpoints import open_clip_model
from tests.pixel_workers import InMemory, decode_in_processes

CPU = torch.device("cpu")
CANDIDATES = {number: f"a photo of thing number {number}" for number in range(40)}
REFERENCES = {number: ["a red ball", f"thing number {number}"][: 1 + number % 2] for number in CANDIDATES}
IMAGES = {
    number: InMemory(Image.fromarray(np.random.default_rng(number).integers(0, 256, (20, 30, 3), np.uint8)))
    for number in CANDIDATES
}


@pytest.fixture(scope="module")
def pac_s(tmp_path_factory: pytest.TempPathFactory) -> PacScore:
    folder = tmp_path_factory.mktemp("pac")
    model = open_clip_model(folder / "clip")
    generator = torch.Generator().manual_seed(3)
    save_file({"visual.proj": torch.randn(32, 16, generator=generator)}, folder / "pac.safetensors")
    return PacScore(model, None, str(folder / "pac.safetensors"))


def test_the_means_are_of_one_pair_at_a_time(pac_s):
    domains = {"all": list(CANDIDATES), "few": [3, 4]}
    table = score_domains(CANDIDATES, REFERENCES, domains, [pac_s], IMAGES)
    clip = load_pac_clip(pac_s.model, pac_s.pretrained, pac_s.checkpoint, CPU)
    scorer = ClipScorer(clip, PACSCORE_WEIGHT)
    pairs = [
        scorer.score(clip.embed_images([IMAGES[i].image]), [CANDIDATES[i]], [REFERENCES[i]])
        for i in CANDIDATES
    ]
    plain, referenced = (np.array([pair[side][0] for pair in pairs]) for side in (0, 1))
    assert plain.max() > 0.1
    for domain, ids in domains.items():
        pac, ref = table[domain]
        assert (pac.name, ref.name) == ("PAC-S", "RefPAC-S")
        assert pac.value == pytest.approx(plain[ids].mean(), abs=1e-5)
        assert ref.value == pytest.approx(referenced[ids].mean(), abs=1e-5)
        assert pac.count == len(ids)
        assert pac.version.startswith("open-clip-torch ")
        assert "none" not in pac.version


def test_stored_images_are_decoded_in_processes(pac_s: PacScore, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = Corpus(CANDIDATES, REFERENCES)
    expected = pac_s.scores(corpus, IMAGES, CPU)
    decoded = decode_in_processes(monkeypatch)
    assert pac_s.scores(corpus, IMAGES, CPU) == expected
    assert decoded == list(IMAGES.values())


@pytest.mark.parametrize("checkpoint", [None, "/nowhere/clip_ViT-B-32.pth"])
def test_without_weights_both_are_absent_with_the_reason(pac_s, checkpoint):
    absent = replace(pac_s, checkpoint=checkpoint)
    for metric in score_captions(CANDIDATES, REFERENCES, [absent], IMAGES):
        assert metric.value is None
        assert "github.com/aimagelab/pacscore" in metric.reason
        assert metric.version.endswith("weights none")


def test_without_images_both_are_absent(pac_s):
    metrics = score_captions(CANDIDATES, REFERENCES, [pac_s])
    assert [metric.reason for metric in metrics] == ["PAC-S needs the images, and none were given"] * 2


def test_weights_of_another_model_are_the_users_mistake(pac_s, tmp_path: Path):
    save_file({"visual.proj": torch.zeros(3, 3)}, tmp_path / "other.safetensors")
    other = replace(pac_s, checkpoint=str(tmp_path / "other.safetensors"))
    with pytest.raises(UserError, match="does not fit"):
        score_captions(CANDIDATES, REFERENCES, [other], IMAGES)
