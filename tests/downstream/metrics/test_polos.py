"""Polos on a small random checkpoint in the published format, against a plain one-caption-at-a-time reading of it."""

import os
import sys
import types
import zipfile
from collections import OrderedDict
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from benchmark.core.errors import UserError
from benchmark.core.requirements import State
from downstream.metrics import polos, polos_estimator
from downstream.metrics.metric import Corpus
from downstream.metrics.polos import Polos
from tests.extras import needs_extra
from tests.pixel_workers import InMemory
from tests.servers import Behaviour, http_server

CPU = torch.device("cpu")
CLIP_WIDTH, HIDDEN, LAYERS = 8, 16, 3
HPARAMS = (
    "encoder_model: BERT\nlayer: mix\npool: cls\nactivations: Tanh\nfinal_activation: false\n"
    "hidden_sizes: '12,6'\nmodel: PolosEstimator\n"
)
CANDIDATES = ("a cat sits on the mat", "", "two dog and a big red man in the park", "dog " * 600)
REFERENCES = (["the cat", "a dog runs under the table"], ["a cat"], ["a man", "two dog", "photo"], ["dog"])
CORPUS = Corpus(dict(enumerate(CANDIDATES)), dict(enumerate(REFERENCES)))


def random_clip() -> "OrderedDict[str, torch.Tensor]":
    """A CLIP in the state dict of OpenAI's code, which the checkpoint has."""
    from open_clip.model import CLIP, CLIPTextCfg, CLIPVisionCfg, convert_weights_to_fp16

    vision = CLIPVisionCfg(layers=1, width=64, patch_size=16, image_size=32)
    text = CLIPTextCfg(context_length=77, vocab_size=49408, width=64, heads=1, layers=1)
    clip = CLIP(CLIP_WIDTH, vision, text, quick_gelu=True)
    convert_weights_to_fp16(clip)
    return clip.state_dict()


@pytest.fixture(scope="module")
def state(tiny_roberta: Path) -> "OrderedDict[str, torch.Tensor]":
    from transformers import RobertaModel

    with torch.random.fork_rng():
        torch.manual_seed(1)
        roberta = RobertaModel.from_pretrained(tiny_roberta).state_dict()
        entries = {f"encoder.model.{key}": torch.randn_like(value) / 4 for key, value in roberta.items()}
        entries["encoder.model.embeddings.position_ids"] = torch.arange(42)[None]
        entries |= {f"scalar_mix.scalar_parameters.{i}": torch.randn(1) for i in range(LAYERS + 1)}
        entries |= {
            "scalar_mix.gamma": torch.tensor([1.3]),
            "scalar_mix.dropout_mask": torch.zeros(LAYERS + 1),
        }
        sizes = [4 * HIDDEN + 6 * CLIP_WIDTH, 12, 6, 1]
        for number, (inputs, outputs) in enumerate(pairwise(sizes), start=1):
            entries[f"ff.0.ff.linear_{number}.weight"] = torch.randn(outputs, inputs) / inputs**0.5
            entries[f"ff.0.ff.linear_{number}.bias"] = torch.randn(outputs) / 4
        entries |= {f"clip.{key}": value for key, value in random_clip().items()}
    return OrderedDict(entries)


@pytest.fixture
def checkpoint(
    state: "OrderedDict[str, torch.Tensor]", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The folder of reprod.zip: a Lightning checkpoint that names a class of Lightning's, and hparams.yaml."""
    fake = types.ModuleType("pytorch_lightning_callbacks")
    fake.ModelCheckpoint = type("ModelCheckpoint", (), {"__module__": fake.__name__})
    monkeypatch.setitem(sys.modules, fake.__name__, fake)
    folder = tmp_path / "reprod"
    folder.mkdir()
    content = {"epoch": 3, "callbacks": {fake.ModelCheckpoint: {"best": 0.5}}, "state_dict": state}
    torch.save(content, folder / "reprod.ckpt")
    monkeypatch.delitem(sys.modules, fake.__name__)
    (folder / "hparams.yaml").write_text(HPARAMS)
    return folder


@pytest.fixture
def images() -> dict[int, InMemory]:
    rng = np.random.default_rng(0)
    pixels = {i: rng.integers(0, 256, (40, 50 + i, 3), np.uint8) for i in CORPUS.candidates}
    return {i: InMemory(Image.fromarray(of_image)) for i, of_image in pixels.items()}


@torch.no_grad()
def plain_polos(state, tokenizer_folder, image, candidate, references) -> float:
    """One caption and one reference at a time, as the authors' forward does with a batch of one."""
    import open_clip
    from open_clip.model import build_model_from_openai_state_dict
    from transformers import AutoTokenizer, RobertaConfig, RobertaModel

    def part(prefix):
        return {key[len(prefix) :]: value for key, value in state.items() if key.startswith(prefix)}

    roberta = RobertaModel(RobertaConfig.from_pretrained(tokenizer_folder)).eval()
    roberta.load_state_dict(part("encoder.model."), strict=False)
    clip = build_model_from_openai_state_dict(part("clip."), cast_dtype=torch.float32).float().eval()
    tokenizer = AutoTokenizer.from_pretrained(tokenizer_folder)
    weights = torch.softmax(torch.cat([state[f"scalar_mix.scalar_parameters.{i}"] for i in range(4)]), 0)

    def sentence(text):
        ids = tokenizer(text)["input_ids"]
        ids = ids if len(ids) <= 40 else [*ids[:39], ids[-1]]
        hidden = roberta(torch.tensor([ids]), output_hidden_states=True).hidden_states
        normed = [(layer - layer.mean()) / (layer.var(unbiased=False) + 1e-12).sqrt() for layer in hidden]
        mixed = sum(w * layer for w, layer in zip(weights, normed, strict=True))
        return (state["scalar_mix.gamma"] * mixed)[0, 0]

    def clip_text(text):
        return clip.encode_text(open_clip.tokenize(["A photo depicts " + text]))[0]

    pixels = open_clip.image_transform(32, is_train=False)(image)
    i, c, s, scores = clip.encode_image(pixels[None])[0], clip_text(candidate), sentence(candidate), []
    for reference in references:
        r, t = sentence(reference), clip_text(reference)
        x = torch.cat([r, s, (s - r).abs(), s * r, i, c, (i - c).abs(), i * c, (t - c).abs(), t * c])
        for number in (1, 2, 3):
            weight, bias = (state[f"ff.0.ff.linear_{number}.{name}"] for name in ("weight", "bias"))
            x = weight @ x + bias
            x = torch.tanh(x) if number < 3 else torch.sigmoid(x)
        scores.append(float(x))
    return max(scores)


def test_batches_score_as_one_caption_at_a_time(checkpoint, tiny_roberta, state, images, monkeypatch):
    metric = Polos(str(checkpoint), str(tiny_roberta))
    scores = metric.scores(CORPUS, images, CPU)
    expected = {
        image: plain_polos(state, tiny_roberta, images[image].image, candidate, CORPUS.references[image])
        for image, candidate in CORPUS.candidates.items()
    }
    assert scores == pytest.approx(expected, abs=1e-4)
    assert len({round(score, 3) for score in scores.values()}) == 4
    monkeypatch.setattr(polos, "IMAGES_AT_ONCE", 1)
    monkeypatch.setattr(polos_estimator, "CAPTIONS_AT_ONCE", 2)
    assert metric.scores(CORPUS, images, CPU) == pytest.approx(scores, abs=1e-5)


@needs_extra("http")
def test_weights_are_fetched_into_the_folder_that_is_set(checkpoint, tiny_roberta, tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "reprod.zip", "w") as archive:
        for path in checkpoint.iterdir():
            archive.write(path, f"reprod/{path.name}")
    metric = Polos(str(tmp_path / "weights"), str(tiny_roberta))
    (lacking,) = metric.requirements()
    assert (lacking.state, lacking.folder) == (State.WITHOUT, tmp_path / "weights")
    with http_server(tmp_path, Behaviour()) as url:
        monkeypatch.setattr(polos, "URL", f"{url}/reprod.zip")
        lacking.make()
    (there,) = metric.requirements()
    assert there.state is State.PRESENT
    for path in checkpoint.iterdir():
        assert (tmp_path / "weights" / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder, _: (folder / "hparams.yaml").unlink(), "one .ckpt and hparams.yaml"),
        (lambda folder, _: (folder / "two.ckpt").touch(), "one .ckpt and hparams.yaml"),
        (
            lambda folder, _: (folder / "hparams.yaml").write_text(HPARAMS.replace("cls", "avg")),
            "'pool': 'avg'",
        ),
        (lambda folder, _: (folder / "reprod.ckpt").write_bytes(b"not a zip"), "cannot be read as weights"),
        (lambda folder, _: torch.save({"state_dict": {}}, folder / "reprod.ckpt"), "does not fit"),
        (
            lambda folder, state: torch.save(
                {"state_dict": state | {"ff.0.ff.linear_1.weight": torch.zeros(12, 7)}},
                folder / "reprod.ckpt",
            ),
            "takes 7 features, but gets 112",
        ),
    ],
)
def test_another_folder_is_one_line(checkpoint, tiny_roberta, state, spoil, message):
    spoil(checkpoint, state)
    with pytest.raises(UserError, match=message) as error:
        Polos(str(checkpoint), str(tiny_roberta)).scores(CORPUS, {}, CPU)
    assert "\n" not in str(error.value)


@dataclass
class Malicious:
    marker: Path

    def __reduce__(self):
        return os.system, (f"touch {self.marker}",)


def test_a_checkpoint_executes_nothing(checkpoint, tiny_roberta, state, tmp_path):
    marker = tmp_path / "executed"
    torch.save({"state_dict": state, "callbacks": Malicious(marker)}, checkpoint / "reprod.ckpt")
    with pytest.raises(UserError, match="cannot be read as weights"):
        Polos(str(checkpoint), str(tiny_roberta)).scores(CORPUS, {}, CPU)
    assert not marker.exists()
