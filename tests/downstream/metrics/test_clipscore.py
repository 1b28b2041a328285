"""PAC-S and RefPAC-S: by hand, and in the suite on a small checkpoint."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from benchmark.core.errors import UserError
from benchmark.models.pac_clip import load_pac_clip
from downstream.metrics.clipscore import PacScore, pac_scores
from downstream.metrics.metric import Corpus
from downstream.metrics.suite import score_captions, score_domains
from tests.filters.checkpoints import open_clip_model
from tests.pixel_workers import InMemory, decode_in_processes

CPU = torch.device("cpu")
CANDIDATES = {number: f"a photo of thing number {number}" for number in range(12)}
REFERENCES = {number: ["a red ball", f"thing number {number}"][: 1 + number % 2] for number in CANDIDATES}
IMAGES = {
    number: InMemory(Image.fromarray(np.random.default_rng(number).integers(0, 256, (20, 30, 3), np.uint8)))
    for number in CANDIDATES
}


@dataclass
class LetterClip:
    """Counts the letters c and d of a caption; x turns the vector round."""

    seen: list[str] = field(default_factory=list)

    def embed_texts(self, texts):
        self.seen += texts
        sign = np.array([[-1 if "x" in text else 1] for text in texts])
        return sign * np.array([[text.count("c"), text.count("d") + 1] for text in texts], np.float16)


def test_scores_by_hand():
    clip, images = LetterClip(), np.array([[1, 2], [0, 1], [1, 2]], np.float32)
    plain, referenced = pac_scores(clip, images, ["c", "", "x"], [["cc", ""], ["ddd"], ["x"]])
    assert clip.seen == [f"A photo depicts {text}" for text in ("c", "", "x", "cc", "", "ddd", "x")]
    # The prefix has one c and one d: candidates (2, 2), (1, 2) and -(1, 2). A negative cosine counts as 0.
    assert plain == pytest.approx([2 * 6 / (8 * 5) ** 0.5, 2 * 2 / 5**0.5, 0])
    best = [10 / (8 * 13) ** 0.5, 11 / (5 * 26) ** 0.5]  # references (3, 2), (1, 2); (1, 5)
    expected = [2 * p * b / (p + b) for p, b in zip(plain, best, strict=False)]
    assert referenced == pytest.approx([*expected, 0])
    opposite = pac_scores(clip, images[:1], ["x"], [["c"]])
    assert opposite == (pytest.approx([0]), pytest.approx([0]))


def test_a_candidate_without_a_reference_is_an_error():
    with pytest.raises(ValueError, match="must have a reference"):
        pac_scores(LetterClip(), np.ones((2, 2)), ["a", "b"], [["a"], []])


def test_half_precision_features_are_summed_exactly():
    class Wide:
        def embed_texts(self, texts):
            return np.full(
                (len(texts), 4096), 8.0, np.float16
            )  # the sum of squares is above float16's largest

    plain, referenced = pac_scores(Wide(), np.full((1, 4096), 8.0, np.float16), ["a"], [["a"]])
    assert (plain, referenced) == (pytest.approx([2]), pytest.approx([4 / 3]))


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
    vectors = {i: clip.embed_images([IMAGES[i].image]) for i in CANDIDATES}
    pairs = np.array([pac_scores(clip, vectors[i], [CANDIDATES[i]], [REFERENCES[i]]) for i in CANDIDATES])
    assert pairs.max() > 0.1
    for domain, ids in domains.items():
        means = [metric.value for metric in table[domain]]
        assert means == pytest.approx(pairs[ids].mean(axis=(0, 2)), abs=1e-5)
        assert {(m.count, m.version.split()[0], "none" in m.version) for m in table[domain]} == {
            (len(ids), "open-clip-torch", False)
        }


def test_stored_images_are_decoded_in_processes(pac_s: PacScore, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = Corpus(CANDIDATES, REFERENCES)
    expected = pac_s.scores(corpus, IMAGES, CPU)
    decoded = decode_in_processes(monkeypatch)
    assert pac_s.scores(corpus, IMAGES, CPU) == expected
    assert decoded == list(IMAGES.values())


def test_without_weights_or_images_both_are_absent(pac_s):
    for checkpoint in (None, "/nowhere/clip_ViT-B-32.pth"):
        for metric in score_captions(CANDIDATES, REFERENCES, [replace(pac_s, checkpoint=checkpoint)], IMAGES):
            assert metric.value is None
            assert "github.com/aimagelab/pacscore" in metric.reason
            assert metric.version.endswith("weights none")
    metrics = score_captions(CANDIDATES, REFERENCES, [pac_s])
    assert [metric.reason for metric in metrics] == ["PAC-S needs the images, and none were given"] * 2


def test_weights_of_another_model_are_the_users_mistake(pac_s, tmp_path: Path):
    save_file({"visual.proj": torch.zeros(3, 3)}, tmp_path / "other.safetensors")
    other = replace(pac_s, checkpoint=str(tmp_path / "other.safetensors"))
    with pytest.raises(UserError, match="does not fit"):
        score_captions(CANDIDATES, REFERENCES, [other], IMAGES)
