"""The semantic-bottleneck autoencoder: caption to CLIP vector to caption (ICC paper, section 2, appendix A.7)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from benchmark.core.devices import default_dtype
from benchmark.core.errors import UserError
from benchmark.core.identity import Identified
from benchmark.core.requirements import Requirement, look
from benchmark.models.checkpoints import (
    checkpoint_requirement,
    load_model,
    load_pretrained,
    locate_checkpoint,
    quiet_transformers,
    revision,
)
from benchmark.models.clip_models import ClipModel, clip_identity, clip_requirement, load_clip
from filters.icc.autoencoder import Autoencoder, Beams, one_line

BRIDGE = "model.safetensors"
FirstToken = Literal["eos"]
END = " \n"  # what the bridge is trained to end captions with, as in the authors' code; the newline ends decoding


class FrozenParts(Identified):
    """The frozen models of SBA: CLIP's text encoder and a causal language model.

    Args:
        clip: open_clip's `model` and `pretrained`.
        llm: hub name or folder of a causal language model.
        first_token: ``eos`` to begin its input with its end token, as the authors' code does; None for BOS.
    """

    def __init__(self, clip: dict[str, str | None], llm: str, first_token: FirstToken | None = None) -> None:
        self.clip = dict(clip)
        self.llm = llm
        self._first_token = first_token

    def identity(self) -> dict[str, Any]:
        """Name both checkpoints by their revisions; a CLIP of open_clip's own by its model and tag."""
        clip = clip_identity(str(self.clip["model"]), self.clip["pretrained"])
        first = {"first_token": self._first_token} if self._first_token else {}
        return super().identity() | {"clip": clip, "llm": revision(locate_checkpoint(self.llm))} | first

    def requirements(self) -> Iterator[Requirement]:
        """Yield both checkpoints."""
        yield clip_requirement(str(self.clip["model"]), self.clip["pretrained"])
        yield checkpoint_requirement(self.llm)

    def load(self, device: torch.device) -> "Loaded":
        """Load both: the language model in bf16 on a GPU that computes it (the authors used fp16).

        Raises `UserError` without a first or a newline token.
        """
        dtype = default_dtype(device)
        model = load_model("AutoModelForCausalLM", self.llm, dtype=dtype)
        tokenizer = load_pretrained("AutoTokenizer", self.llm)
        end = _end_tokens(tokenizer)
        first = tokenizer.eos_token_id if self._first_token == "eos" else tokenizer.bos_token_id
        if first is None or not end or "\n" not in tokenizer.decode(list(end[-1:])):
            raise UserError(
                f"models.icc.llm={self.llm} must have {'an EOS' if self._first_token else 'a BOS'} and a newline"
                " token, between which SBA's captions stand"
            )
        clip = load_clip(str(self.clip["model"]), self.clip["pretrained"], device)
        return Loaded(clip, model.requires_grad_(False).to(device).eval(), tokenizer, first, end)


def _end_tokens(tokenizer: Any) -> tuple[int, ...]:
    """Return the tokens of `END` after a caption; some tokenizers read it differently without a caption."""
    caption, ended = (tokenizer(t, add_special_tokens=False)["input_ids"] for t in ("a", f"a{END}"))
    return tuple(ended[len(caption) :])


@dataclass(frozen=True)
class Loaded:
    """The loaded models, the first token, and the tokens that end a caption, of which the last stops decoding."""

    clip: ClipModel
    llm: Any
    tokenizer: Any
    first: int
    end: tuple[int, ...]

    def embed_tokens(self, ids: Tensor) -> Tensor:
        """Return the language model's input embeddings, (n, t, width), of token ids (n, t)."""
        embedded: Tensor = self.llm.get_input_embeddings()(ids)
        return embedded

    def prefix(self, bridged: Tensor) -> Tensor:
        """Return the input before the caption, (n, 2, width): first token, bridge's output, (n, width)."""
        first = self.embed_tokens(torch.tensor([[self.first]], device=bridged.device))
        return torch.cat([first.expand(len(bridged), -1, -1), bridged[:, None].to(first.dtype)], dim=1)


class SemanticBottleneck(Autoencoder):
    """Decodes each caption from its CLIP text vector: the projected pooled output, not normalised.

    One linear layer, the bridge, turns that vector into an input embedding, which the language model reads after its
    first token.

    Args:
        frozen: CLIP and the language model.
        bridge: folder of the trained layer.
        beams: number of beams, all of which are returned.
        max_new_tokens: maximum length of a reconstruction.
        together: captions, in their order, that all end when the best beam of the first of them has a newline; of the
            others the first line counts, whether it had ended or not (the authors' code, which takes 2). None, as the
            paper has no such rule: every beam ends at its own newline, and reconstructions do not depend on batches.
        batch: number of captions decoded at a time, if not `together`.
    """

    def __init__(
        self,
        frozen: FrozenParts,
        bridge: str,
        beams: int = 5,
        max_new_tokens: int = 64,
        together: int | None = None,
        batch: int = 64,
    ) -> None:
        self.frozen = frozen
        self.bridge = bridge
        self.beams = beams
        self.max_new_tokens = max_new_tokens
        self._together = together
        self._batch = batch
        self._parts: Loaded
        self._linear: nn.Linear

    def identity(self) -> dict[str, Any]:
        """Name the bridge by its revision."""
        together = {"together": self._together} if self._together else {}
        return super().identity() | {"bridge": revision(locate_checkpoint(self.bridge))} | together

    def requirements(self) -> Iterator[Requirement]:
        """Yield the bridge and the frozen models."""
        yield look("SBA's bridge", lambda: bridge_file(Path(self.bridge)))
        yield from super().requirements()

    def setup(self, device: torch.device) -> None:
        """Load the models. Raises `UserError` when the bridge was trained for another language model."""
        self._parts = self.frozen.load(device)
        self._linear = load_bridge(Path(locate_checkpoint(self.bridge))).to(device)
        width = self._parts.llm.get_input_embeddings().embedding_dim
        if self._linear.out_features != width:
            raise UserError(
                f"models.icc.llm={self.frozen.llm} has {width} dimensions, but the bridge {self.bridge} gives"
                f" {self._linear.out_features}; set the language model that it was trained for"
            )

    @torch.inference_mode()
    def reconstruct(self, captions: Sequence[str]) -> list[Beams]:
        """Return the beams of each caption. Batches hold captions of similar length, which end at similar steps."""
        lines = [one_line(caption) for caption in captions]
        order = sorted(range(len(lines)), key=lambda row: 0 if self._together else len(lines[row]))
        beams: list[Beams] = [[]] * len(lines)
        size = self._together or self._batch
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            for row, decoded in zip(rows, self._decode([lines[r] for r in rows]), strict=True):
                beams[row] = decoded
        return beams

    def _decode(self, captions: list[str]) -> list[Beams]:
        from transformers import NoRepeatNGramLogitsProcessor

        parts = self._parts

        def first_has_a_newline(ids: Tensor, scores: Any) -> Tensor:
            return torch.full((len(ids),), "\n" in parts.tokenizer.decode(ids[0]), device=ids.device)

        # All sequences start with two vectors: batches need no padding, so they do not change the output.
        vectors = parts.prefix(self._linear(parts.clip.project_texts(captions)))
        with quiet_transformers():
            ids = parts.llm.generate(
                inputs_embeds=vectors,
                attention_mask=torch.ones(vectors.shape[:2], dtype=torch.long, device=vectors.device),
                do_sample=False,
                num_beams=self.beams,
                num_return_sequences=self.beams,
                max_new_tokens=self.max_new_tokens,
                eos_token_id=parts.tokenizer.eos_token_id if self._together else parts.end[-1],
                stopping_criteria=[first_has_a_newline] if self._together else [],
                pad_token_id=parts.end[-1],
                logits_processor=[NoRepeatNGramLogitsProcessor(2)],
            )
        texts = parts.tokenizer.batch_decode(ids, skip_special_tokens=True)
        texts = [one_line(text.partition("\n")[0] if self._together else text) for text in texts]
        return [texts[start : start + self.beams] for start in range(0, len(texts), self.beams)]


def load_bridge(folder: Path) -> nn.Linear:
    """Load the linear layer that `train_bridge` wrote to `folder`."""
    weights = load_file(bridge_file(folder))
    rows, columns = weights["weight"].shape
    linear = nn.Linear(columns, rows)
    linear.load_state_dict(weights)
    return linear.requires_grad_(False)


def bridge_file(folder: Path) -> Path:
    """Return the file of the bridge in `folder`. Raises `UserError` if it is missing."""
    path = folder / BRIDGE
    if not path.is_file():
        raise UserError(
            f"models.icc.build must hold SBA's bridge, but {folder} lacks {BRIDGE}; make one with task=icc_build"
        )
    return path
