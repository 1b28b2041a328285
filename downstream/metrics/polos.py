"""Polos (Wada et al., CVPR 2024): a regressor of human judgement on SimCSE-RoBERTa and CLIP features.

A reimplementation that loads the authors' weights: the folder of their ``reprod.zip``, with a Lightning checkpoint
(RoBERTa, CLIP and regressor) and its ``hparams.yaml``. Their package needs Python 3.10.0 and transformers 4.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
import yaml
from PIL import Image
from torch import Tensor, nn

from benchmark.core.errors import UserError
from benchmark.core.requirements import Requirement
from benchmark.models.checkpoints import load_pretrained, locate_checkpoint
from downstream.batching import chunks, images_in_order, pixel_batches, stack_pixels
from downstream.metrics.base import CaptionMetric, Request, Table, revision_or_none, without_unless
from downstream.metrics.clipscore import PREFIX
from downstream.metrics.metric import Corpus, ImageId, UnavailableError, library

URL = "https://polos-polaris.s3.ap-northeast-1.amazonaws.com/reprod.zip"
IMAGES_AT_ONCE = CAPTIONS_AT_ONCE = 32
# Settings of the released model in the authors' training config; other values would need another estimator.
PUBLISHED = {
    "encoder_model": "BERT",
    "layer": "mix",
    "pool": "cls",
    "activations": "Tanh",
    "final_activation": False,
}


@dataclass(frozen=True)
class Polos(CaptionMetric):
    """Polos, 0 to 1.

    Args:
        checkpoint: folder of the authors' weights; None if they are not on this machine.
        encoder: the RoBERTa whose tokenizer they use, a hub name or folder.
    """

    names = ("Polos",)
    checkpoint: str | None
    encoder: str = "princeton-nlp/sup-simcse-roberta-base"

    def compute(self, request: Request) -> Table:
        """Return the mean of each domain's images."""
        if request.images is None:
            raise UnavailableError("Polos needs the images, and none were given")
        return request.means("Polos", self.scores(request.corpus, request.images, request.device))

    def version(self) -> str:
        """Return this project's version and the revision of the weights."""
        return f"{library('pairsift')}, weights {revision_or_none(lambda: self.locate()[0])}"

    def requirements(self) -> Iterator[Requirement]:
        """Yield the weights and the tokenizer."""
        yield without_unless("Polos weights", lambda: self.locate()[0])

    def locate(self) -> tuple[Path, Path]:
        """Return the folders of weights and tokenizer. Raises `UnavailableError` if one cannot be had."""
        if self.checkpoint is None:
            raise UnavailableError(
                f"Polos needs its authors' weights: unzip {URL} and set models.polos.checkpoint to its folder"
            )
        try:
            return locate_checkpoint(self.checkpoint), locate_checkpoint(self.encoder)
        except UserError as error:
            raise UnavailableError(str(error)) from None

    def scores(
        self, corpus: Corpus, images: Mapping[ImageId, Image.Image], device: torch.device
    ) -> dict[ImageId, float]:
        """Return each image's score, the best over its references.

        `images` may decode on access; 32 are held at a time. Raises `UnavailableError` without the weights.
        """
        estimator = PolosEstimator.load(*self.locate()).to(device)
        ids = list(corpus.candidates)
        scores: dict[ImageId, float] = {}
        preprocess = partial(stack_pixels, estimator.preprocess)
        batches = pixel_batches(images_in_order(images, ids), preprocess, IMAGES_AT_ONCE, device)
        for pixels, some in zip(batches, chunks(ids, IMAGES_AT_ONCE), strict=True):
            part = corpus.subset(some)
            batch = estimator.score(
                pixels,
                list(part.candidates.values()),
                list(part.references.values()),
            )
            scores |= zip(part.candidates, batch.tolist(), strict=True)
        return scores


class PolosEstimator(nn.Module):
    """A feed-forward network with tanh and a final sigmoid, on 4 x hidden text features and 6 x CLIP features."""

    mix: Tensor  # weight of each hidden layer, embeddings first

    def __init__(
        self, encoder: Any, tokenizer: Any, mix: Tensor, clip: Any, regressor: nn.Sequential
    ) -> None:
        import open_clip

        super().__init__()
        self.encoder, self.clip, self.regressor = encoder, clip, regressor
        self.tokenizer = tokenizer
        self.clip_tokenizer = open_clip.SimpleTokenizer(context_length=clip.context_length)
        self.preprocess = open_clip.image_transform(clip.visual.image_size, is_train=False)
        self.register_buffer("mix", mix)

    @classmethod
    def load(cls, folder: Path, encoder_folder: Path) -> "PolosEstimator":
        """Load the authors' folder. Raises `UserError` if it holds anything else."""
        from open_clip.model import build_model_from_openai_state_dict
        from transformers import AutoConfig, AutoModel, AutoTokenizer

        state = _read_state(folder)
        auto: Any = AutoModel  # untyped
        encoder = auto.from_config(load_pretrained(AutoConfig, str(encoder_folder)))
        weights = _part(state, "encoder.model.")
        weights.pop("embeddings.position_ids", None)  # older transformers saved this constant
        try:
            encoder.load_state_dict(weights)
            clip = build_model_from_openai_state_dict(_part(state, "clip."), cast_dtype=torch.float32).float()
        except (RuntimeError, KeyError) as error:
            raise UserError(
                f"{folder} does not fit {encoder_folder} and CLIP: {_first_line(error)}"
            ) from None
        layers = range(encoder.config.num_hidden_layers + 1)
        mix = torch.cat([state[f"scalar_mix.scalar_parameters.{layer}"] for layer in layers]).softmax(0)
        tokenizer = load_pretrained(AutoTokenizer, str(encoder_folder))
        width = 4 * encoder.config.hidden_size + 6 * clip.text_projection.shape[1]
        regressor = _regressor(_part(state, "ff.0.ff."), width)
        return cls(encoder, tokenizer, mix * state["scalar_mix.gamma"], clip, regressor).eval()

    @torch.inference_mode()
    def score(self, pixels: Tensor, candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Tensor:
        """Return the score of each candidate, (n,): its best over the references; `pixels` are (n, 3, h, w)."""
        device = self.mix.device
        owner = torch.tensor([i for i, group in enumerate(references) for _ in group], device=device)
        flat = [reference for group in references for reference in group]
        text, clip_text, image = (
            self._embed(candidates),
            self._clip(candidates),
            self.clip.encode_image(pixels),
        )
        features = combine(
            (text[owner], self._embed(flat)), (image[owner], clip_text[owner], self._clip(flat))
        )
        scores = self.regressor(features).squeeze(1)
        best = torch.zeros(len(candidates), device=device)
        return best.scatter_reduce(0, owner, scores, "amax", include_self=False)

    def _clip(self, captions: Sequence[str]) -> Tensor:
        tokens = self.clip_tokenizer([PREFIX + caption for caption in captions]).to(self.mix.device)
        features: Tensor = self.clip.encode_text(tokens)
        return features

    def _embed(self, captions: Sequence[str]) -> Tensor:
        """Return the first token's features, (n, hidden), mixed over the layers."""
        parts = [captions[i : i + CAPTIONS_AT_ONCE] for i in range(0, len(captions), CAPTIONS_AT_ONCE)]
        return torch.cat([self._embed_part(part) for part in parts])

    def _embed_part(self, captions: Sequence[str]) -> Tensor:
        """Normalise each layer over all tokens and dimensions of a caption; return the mix of its first token.

        The authors' code takes mean and variance over a whole batch, so that a score depends on the rest of the
        batch; this equals theirs at batch size 1.
        """
        longest = self.encoder.config.max_position_embeddings - self.encoder.config.pad_token_id - 1
        tokens = self.tokenizer(
            list(captions), padding=True, truncation=True, max_length=longest, return_tensors="pt"
        ).to(self.mix.device)
        output = self.encoder(tokens["input_ids"], tokens["attention_mask"], output_hidden_states=True)
        real = tokens["attention_mask"][:, :, None]
        total = torch.zeros_like(output.hidden_states[0][:, 0])
        for weight, layer in zip(self.mix, output.hidden_states, strict=True):
            count = real.sum((1, 2)) * layer.shape[2]
            mean = (layer * real).sum((1, 2)) / count
            variance = ((layer - mean[:, None, None]) ** 2 * real).sum((1, 2)) / count
            total += weight * (layer[:, 0] - mean[:, None]) / (variance[:, None] + 1e-12).sqrt()
        return total


def combine(sentence: tuple[Tensor, Tensor], clip: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """Return the regressor's input, (n, 4 hidden + 6 clip), Polos' parallel feature extraction.

    Args:
        sentence: RoBERTa features of candidates and references, each (n, hidden).
        clip: CLIP features of images, candidates and references, each (n, clip), not normalised.
    """
    candidate, reference = sentence
    image, text, other = clip
    parts = [reference, candidate, (candidate - reference).abs(), candidate * reference]
    parts += [image, text, (image - text).abs(), image * text, (other - text).abs(), other * text]
    return torch.cat(parts, dim=1)


class _Inert:
    """Stand-in for any class that a checkpoint names and that is not needed (a Lightning callback)."""

    def __init__(self, *_: object) -> None: ...


def _read_state(folder: Path) -> dict[str, Tensor]:
    """Return the weights in `folder`, after checking the hyperparameters beside them."""
    files, settings = sorted(folder.glob("*.ckpt")), folder / "hparams.yaml"
    if len(files) != 1 or not settings.is_file():
        raise UserError(
            f"models.polos.checkpoint={folder} must hold one .ckpt and hparams.yaml, as {URL} does"
        )
    given = yaml.safe_load(settings.read_text())
    other = {key: given.get(key) for key, value in PUBLISHED.items() if given.get(key) != value}
    if other:
        raise UserError(f"{settings} must be that of the published Polos: {other} instead of {PUBLISHED}")
    try:
        # Old versions of Lightning pickle their callbacks' classes; they become inert objects, never code.
        names = torch.serialization.get_unsafe_globals_in_checkpoint(files[0])
        with torch.serialization.safe_globals([(_Inert, name) for name in names]):
            state: dict[str, Tensor] = torch.load(files[0], map_location="cpu", weights_only=True)[
                "state_dict"
            ]
    except Exception as error:  # torch raises any type of exception on invalid bytes
        raise UserError(f"{files[0]} cannot be read as weights: {_first_line(error)}") from None
    return state


def _part(state: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}


def _regressor(state: Mapping[str, Tensor], width: int) -> nn.Sequential:
    """Return ``linear_1, tanh, ... linear_n, sigmoid`` with the sizes of the weights."""
    network = nn.Sequential()
    for number in range(1, len(state) // 2 + 1):
        weight, bias = state[f"linear_{number}.weight"], state[f"linear_{number}.bias"]
        if weight.shape[1] != width:
            raise UserError(
                f"layer {number} of Polos takes {weight.shape[1]} features, but gets {width}; set models.polos"
            )
        layer = nn.Linear(width, weight.shape[0])
        layer.load_state_dict({"weight": weight, "bias": bias})
        network.extend([layer, nn.Tanh()])
        width = weight.shape[0]
    network[-1] = nn.Sigmoid()
    return network


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
