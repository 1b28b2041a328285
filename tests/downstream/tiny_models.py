"""Small random checkpoints in the hub's format, and subsets that live in memory."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmark.core.batch import Sample, SampleError
from benchmark.core.paths import write_text
from benchmark.core.progress import CaptionedImage
from downstream.models.captioner import Captioner
from downstream.models.clip_scratch import ClipScratch
from downstream.models.dual_encoder import DualEncoder, Unlocked
from downstream.training.trainer import TrainConfig

COLOURS = {
    "red": (220, 30, 30), "green": (30, 200, 40), "blue": (30, 40, 220), "yellow": (230, 220, 40), "black": (0, 0, 0),
    "white": (255, 255, 255), "pink": (250, 120, 250), "brown": (110, 60, 10),
}  # fmt: skip
CAPTIONS = [f"a {colour} square on the {('left', 'right')[i % 2]}" for i, colour in enumerate(COLOURS)]
SIZE = 32
UNLOCKED = Unlocked(projection=24, pretrained=True, augment=False)


def six_steps(**changes: Any) -> TrainConfig:
    """Return a recipe of six steps of eight samples, read in this process, with changes."""
    recipe = {"samples_seen": 48, "batch_size": 8, "lr": 3e-3, "log_every": 1, "seed": 0, "workers": 0}
    return TrainConfig(**(recipe | changes))


def draw(caption: str) -> Image.Image:
    words = caption.split()
    pixels = np.full((SIZE, SIZE, 3), 128, np.uint8)
    columns = slice(0, SIZE // 2) if words[-1] == "left" else slice(SIZE // 2, SIZE)
    pixels[8:24, columns] = COLOURS[words[1]]
    return Image.fromarray(pixels)


@dataclass
class MemorySubset:
    """Coloured squares; `broken` maps an index to the reason why it cannot be read, `drawn` is what epochs see."""

    captions: list[str]
    broken: dict[int, str] = field(default_factory=dict)
    others: tuple[str | None, ...] = ()
    drawn: tuple[tuple[int, ...], ...] = ()
    caption_weights: tuple[float, ...] = ()

    def __len__(self) -> int:
        return len(self.captions)

    @property
    def epochs(self) -> tuple[np.ndarray, ...]:
        return tuple(np.asarray(epoch) for epoch in self.drawn) or (np.arange(len(self)),)

    def __getitem__(self, index: int, /) -> Sample:
        if index in self.broken:
            raise SampleError(self.broken[index])
        return Sample(f"{index:032x}", self.captions[index], draw(self.captions[index]), self.others)


class ManyCaptions(MemorySubset):
    """Every second sample has two other captions. Counts how often a sample is read."""

    reads = 0

    def __getitem__(self, index: int, /) -> Sample:
        self.reads += 1
        sample = super().__getitem__(index)
        return sample if index % 2 else replace(sample, others=("a square", "something red"))


class SummedCaptions(MemorySubset):
    """Pairs with a rewritten caption, and every second one with a description."""

    def __getitem__(self, index: int, /) -> Sample:
        sample, words = super().__getitem__(index), self.captions[index].split()
        described = None if index % 2 else " ".join(words[3:])
        return replace(sample, others=(" ".join(words[:3]), described))


def save_gpt2(folder: Path, texts: list[str], width: int = 32, **config: int) -> Path:
    from transformers import GPT2Config, GPT2LMHeadModel

    end = "<|endoftext|>"
    words = _save_bpe(folder, texts, [end], bos_token=end, eos_token=end)
    sizes = {"vocab_size": words, "n_positions": 64, "n_embd": width, "n_layer": 2, "n_head": 4}
    GPT2LMHeadModel(GPT2Config(bos_token_id=0, eos_token_id=0, **sizes | config)).save_pretrained(folder)
    return folder


def _save_bpe(folder: Path, texts: list[str], special: list[str], **names: str) -> int:
    """Save a tokenizer of at most 400 tokens, the special ones first; return how many it has."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import PreTrainedTokenizerFast

    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator(texts * 10, vocab_size=400, special_tokens=special, show_progress=False)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bpe._tokenizer, **names)
    tokenizer.save_pretrained(folder)
    return len(tokenizer)


def save_decoder(folder: Path, model: Any) -> Path:
    """A language model of another family, with the tokenizer of `save_gpt2`."""
    save_gpt2(folder, CAPTIONS)
    model.save_pretrained(folder)
    return folder


def save_roberta(folder: Path, model: Any) -> Path:
    """A RoBERTa; its positions start after its padding token. Its tokenizer has one."""
    special = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    _save_bpe(folder, CAPTIONS, list(special.values()), **special)
    model.save_pretrained(folder)
    return folder


def edited(source: str | Path, folder: Path, file: str, **changes: Any) -> Path:
    """A copy of a checkpoint with other values in a file of JSON."""
    shutil.copytree(source, folder)
    write_text(folder / file, json.dumps(json.loads((folder / file).read_text()) | changes))
    return folder


def save_bert(folder: Path, texts: list[str]) -> Path:
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder.mkdir(parents=True)
    words = sorted({word for text in texts for word in text.split()})
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
    BertModel(BertConfig(vocab_size=len(vocabulary), **sizes)).save_pretrained(folder)
    return folder


def save_processor(folder: Path, size: int = SIZE) -> None:
    from transformers import ViTImageProcessor

    mean, std = [0.5, 0.4, 0.3], [0.2, 0.25, 0.3]
    sizes = {"height": size, "width": size}
    ViTImageProcessor(size=sizes, image_mean=mean, image_std=std, resample=3).save_pretrained(folder)


def save_swin(folder: Path) -> Path:
    from transformers import SwinConfig, SwinModel

    sizes = {"image_size": SIZE, "patch_size": 4, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 4]}
    SwinModel(SwinConfig(window_size=4, **sizes)).save_pretrained(folder)
    save_processor(folder)
    return folder


def save_vit(folder: Path) -> Path:
    from transformers import ViTConfig, ViTModel

    layers = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    config = ViTConfig(image_size=SIZE, patch_size=8, **layers)
    ViTModel(config, add_pooling_layer=False).save_pretrained(folder)
    save_processor(folder)
    return folder


def save_timm(folder: Path, name: str, **sizes: Any) -> Any:
    """Save a model of timm with random weights as the hub has it; return the model."""
    import timm
    import torch
    from timm.models import save_for_hf

    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = timm.create_model(name, pretrained=False, num_classes=7, **sizes).eval()
    model.pretrained_cfg |= {"input_size": (3, SIZE, SIZE), "crop_pct": 1.0, "crop_mode": "squash"}
    save_for_hf(model, str(folder), model_args=sizes, safe_serialization=True)
    return model


def save_clip_architecture(folder: Path, **changes: Any) -> Path:
    """An open_clip config with OpenAI's tokenizer; a ViT: its loss by parts equals the loss of the whole batch."""
    vision = {"image_size": SIZE, "layers": 2, "width": 32, "head_width": 8, "patch_size": 8}
    text = {"context_length": 16, "vocab_size": 49408, "width": 32, "heads": 4, "layers": 2}
    model = {"embed_dim": 24, "vision_cfg": vision, "text_cfg": text} | changes
    folder.mkdir(parents=True)
    write_text(folder / "open_clip_config.json", json.dumps({"model_cfg": model, "preprocess_cfg": {}}))
    return folder


@dataclass(frozen=True)
class Checkpoints:
    swin: str
    gpt2: str
    vit: str
    bert: str
    clip: str


CAPTIONERS = ("captioner", "lstm_captioner")
PAIR_ENCODERS = ("locked", "uncached", "unlocked", "clip_scratch")  # uncached: each image embedded each time
KINDS = (*CAPTIONERS, *PAIR_ENCODERS)


def make(kind: str, tiny: Checkpoints, training: TrainConfig | None = None, **settings: Any) -> Any:
    """Return an untrained model of the tiny checkpoints; the LSTM is in the package that may be absent."""
    training = training or six_steps()
    if kind == "captioner":
        given = {
            "encoder": tiny.swin,
            "decoder": tiny.gpt2,
            "max_tokens": 16,
            "beams": 3,
            "max_new_tokens": 12,
        }
        return Captioner(training=training, **given | {"eval_batch_size": 5} | settings)
    if kind == "lstm_captioner":
        from pairsift.studies.ava.lstm_captioner import LstmCaptioner

        given = {"encoder": tiny.swin, "width": 128, "dropout": 0.0, "word_threshold": 1, "max_words": 10}
        return LstmCaptioner(training=training, **given | {"beams": 2, "eval_batch_size": 5} | settings)
    if kind == "clip_scratch":
        given = {"architecture": tiny.clip, "eval_batch_size": 5}
        return ClipScratch(training=training, **given | settings)
    given = {"image_encoder": tiny.vit, "text_encoder": tiny.bert, "max_tokens": 16, "unlocked": UNLOCKED}
    given |= {"locked": kind != "unlocked", "cache_images": kind == "locked", "eval_batch_size": 5}
    return DualEncoder(training=training, **given | settings)


def built(*given: Any, **settings: Any) -> Any:
    """Return a model of `make` before its first step, on the CPU."""
    import torch

    model = make(*given, **settings)
    model.build(torch.device("cpu"))
    return model


def weights(model: Any) -> dict[str, Any]:
    """Return copies of all tensors of the trained network."""
    return {name: tensor.clone() for name, tensor in model.model.state_dict().items()}


def same_weights(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(bool((one[name] == other[name]).all()) for name in one)


@dataclass
class Recorder:
    """A tracker that keeps its values, and can stop the training at a step as a kill would."""

    stop_at: int | None = None
    rows: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    captions: list[tuple[int, list[CaptionedImage]]] = field(default_factory=list)

    def log(self, values: Mapping[str, float], step: int | None = None) -> None:
        assert step is not None
        self.rows.append((step, dict(values)))
        if self.stop_at is not None and step >= self.stop_at:
            raise KeyboardInterrupt

    def log_captions(self, name: str, captions: Sequence[CaptionedImage], step: int) -> None:
        self.captions.append((step, list(captions)))

    def finish(self, result: Mapping[str, Any]) -> None:
        raise AssertionError("training never finishes a run")

    def losses(self) -> list[float]:
        return [value for _, row in self.rows for key, value in row.items() if key.endswith("/loss")]
