"""The network of Polos (Wada et al., CVPR 2024): RoBERTa, CLIP, and a regressor on the features of both."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmark.core.errors import UserError
from benchmark.models.checkpoints import load_pretrained
from benchmark.models.clip_models import ClipProcessor
from benchmark.models.pac_clip import PREFIX

CAPTIONS_AT_ONCE = 32


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
        self.processor = ClipProcessor(open_clip.image_transform(clip.visual.image_size, is_train=False))
        self.register_buffer("mix", mix)

    @classmethod
    def load(cls, weights: Path, encoder_folder: Path) -> "PolosEstimator":
        """Load the authors' `weights`. Raises `UserError` if they are anything else."""
        from open_clip.model import build_model_from_openai_state_dict
        from transformers import AutoConfig, AutoModel, AutoTokenizer

        state = _read_state(weights)
        auto: Any = AutoModel  # untyped
        encoder = auto.from_config(load_pretrained(AutoConfig, str(encoder_folder)))
        encoder_state = _part(state, "encoder.model.")
        encoder_state.pop("embeddings.position_ids", None)  # older transformers saved this constant
        try:
            encoder.load_state_dict(encoder_state)
            clip = build_model_from_openai_state_dict(_part(state, "clip."), cast_dtype=torch.float32).float()
        except (RuntimeError, KeyError) as error:
            raise UserError(
                f"{weights.parent} does not fit {encoder_folder} and CLIP: {_first_line(error)}"
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


def _read_state(weights: Path) -> dict[str, Tensor]:
    try:
        # Old versions of Lightning pickle their callbacks' classes; they become inert objects, never code.
        names = torch.serialization.get_unsafe_globals_in_checkpoint(weights)
        with torch.serialization.safe_globals([(_Inert, name) for name in names]):
            state: dict[str, Tensor] = torch.load(weights, map_location="cpu", weights_only=True)[
                "state_dict"
            ]
    except Exception as error:  # torch raises any type of exception on invalid bytes
        raise UserError(f"{weights} cannot be read as weights: {_first_line(error)}") from None
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
