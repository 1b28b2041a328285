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
from downstream.models.dual_encoder import Unlocked
from downstream.training.trainer import TrainConfig

COLOURS = {
    "red": (220, 30, 30),
    "green": (30, 200, 40),
    "blue": (30, 40, 220),
    "yellow": (230, 220, 40),
    "black": (0, 0, 0),
    "white": (255, 255, 255),
    "pink": (250, 120, 250),
    "brown": (110, 60, 10),
}
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


class CountingSubset(MemorySubset):
    """Counts how often an image is read."""

    reads = 0

    def __getitem__(self, index: int, /) -> Sample:
        self.reads += 1
        return super().__getitem__(index)


class SummedCaptions(MemorySubset):
    """Pairs with a rewritten caption, and every second one with a description."""

    def __getitem__(self, index: int, /) -> Sample:
        sample, words = super().__getitem__(index), self.captions[index].split()
        described = None if index % 2 else " ".join(words[3:])
        return replace(sample, others=(" ".join(words[:3]), described))


def save_gpt2(
    folder: Path, texts: list[str], width: int = 32, layers: int = 2, heads: int = 4, **config: int
) -> Path:
    from tokenizers import ByteLevelBPETokenizer
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator(texts * 10, vocab_size=400, special_tokens=["<|endoftext|>"], show_progress=False)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe._tokenizer, bos_token="<|endoftext|>", eos_token="<|endoftext|>"
    )
    tokenizer.save_pretrained(folder)
    end = tokenizer.eos_token_id
    sizes = {"vocab_size": len(tokenizer), "n_positions": 64} | config
    GPT2LMHeadModel(
        GPT2Config(n_embd=width, n_layer=layers, n_head=heads, bos_token_id=end, eos_token_id=end, **sizes)
    ).save_pretrained(folder)
    return folder


def save_decoder(folder: Path, model: Any) -> Path:
    """A language model of another family, with the tokenizer of `save_gpt2`, which has at most 400 tokens."""
    save_gpt2(folder, CAPTIONS)
    model.save_pretrained(folder)
    return folder


def save_roberta(folder: Path, model: Any) -> Path:
    """A RoBERTa, whose positions start after its padding token, with a tokenizer that has one."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import PreTrainedTokenizerFast

    special = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator(
        CAPTIONS * 10, vocab_size=400, special_tokens=list(special.values()), show_progress=False
    )
    PreTrainedTokenizerFast(tokenizer_object=bpe._tokenizer, **special).save_pretrained(folder)
    model.save_pretrained(folder)
    return folder


def edited(source: str | Path, folder: Path, file: str, **changes: Any) -> Path:
    """A copy of a checkpoint with other values in a file of JSON."""
    shutil.copytree(source, folder)
    write_text(folder / file, json.dumps(json.loads((folder / file).read_text()) | changes))
    return folder


def save_bert(
    folder: Path, texts: list[str], width: int = 32, layers: int = 2, heads: int = 4, **config: int
) -> Path:
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder.mkdir(parents=True)
    words = sorted({word for text in texts for word in text.split()})
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    sizes = {
        "vocab_size": len(vocabulary),
        "num_attention_heads": heads,
        "intermediate_size": 4 * width,
    } | config
    BertModel(BertConfig(hidden_size=width, num_hidden_layers=layers, **sizes)).save_pretrained(folder)
    return folder


def save_processor(folder: Path, size: int = SIZE) -> None:
    from transformers import ViTImageProcessor

    ViTImageProcessor(
        size={"height": size, "width": size},
        image_mean=[0.5, 0.4, 0.3],
        image_std=[0.2, 0.25, 0.3],
        resample=3,
    ).save_pretrained(folder)


def save_swin(folder: Path) -> Path:
    from transformers import SwinConfig, SwinModel

    config = SwinConfig(
        image_size=SIZE, patch_size=4, embed_dim=16, depths=[1, 1], num_heads=[2, 4], window_size=4
    )
    SwinModel(config).save_pretrained(folder)
    save_processor(folder)
    return folder


def save_vit(folder: Path) -> Path:
    from transformers import ViTConfig, ViTModel

    config = ViTConfig(
        image_size=SIZE,
        patch_size=8,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
    )
    ViTModel(config, add_pooling_layer=False).save_pretrained(folder)
    save_processor(folder)
    return folder


def save_clip_architecture(folder: Path, **changes: Any) -> Path:
    """An open_clip config with OpenAI's tokenizer; a ViT, whose loss by parts is that of the whole batch."""
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
    clip: str = ""


@dataclass
class Recorder:
    """A tracker that keeps what it is told, and can stop the training at a step as a kill would."""

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
