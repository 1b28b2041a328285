"""Training of SBA's bridge, with CLIP and the language model frozen (ICC paper, appendix A.7)."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from benchmark.core.paths import atomic_write
from filters.icc.autoencoder import one_line
from filters.icc.sba import BRIDGE, FrozenParts, Loaded
from filters.icc.training import Recipe, train

IGNORED = -100  # label of a position without loss
MAX_TOKENS = 128  # per caption; CLIP itself reads 77


class BridgeTraining(nn.Module):
    """Wraps the bridge for the Trainer: only the linear layer is a parameter."""

    def __init__(self, parts: Loaded, linear: nn.Linear) -> None:
        super().__init__()
        self.linear = linear
        self._parts = (parts,)  # in a tuple, so that the frozen models are not registered as submodules

    def forward(self, vectors: Tensor, input_ids: Tensor, attention_mask: Tensor) -> dict[str, Tensor]:
        """Return the mean cross-entropy of the caption's tokens and the newline after them.

        Args:
            vectors: (n, d) CLIP text vectors.
            input_ids: (n, t) caption and newline, padded on the right.
            attention_mask: (n, t), 0 on padding.
        """
        (parts,) = self._parts
        first = self.linear(vectors)[:, None].to(parts.llm.dtype)
        embedded = torch.cat([first, parts.embed_tokens(input_ids)], dim=1)
        mask = torch.cat([attention_mask.new_ones(len(attention_mask), 1), attention_mask], dim=1)
        labels = input_ids.masked_fill(attention_mask == 0, IGNORED)
        labels = torch.cat([labels.new_full((len(labels), 1), IGNORED), labels], dim=1)
        loss: Tensor = parts.llm(
            inputs_embeds=embedded, attention_mask=mask, labels=labels, use_cache=False
        ).loss
        return {"loss": loss}


def train_bridge(
    captions: Sequence[str], frozen: FrozenParts, recipe: Recipe, folder: Path, device: torch.device
) -> dict[str, float]:
    """Train the bridge on `captions` into `folder` and return its last loss, in nats per token."""
    parts = frozen.load(device)
    width = parts.llm.get_input_embeddings().embedding_dim
    with torch.random.fork_rng():
        torch.manual_seed(recipe.seed)
        linear = nn.Linear(parts.clip.project_texts(["a"]).shape[1], width).to(device)
    lines = [one_line(caption) for caption in captions]
    checkpoints = folder / "checkpoints"
    loss = train(
        BridgeTraining(parts, linear), lines, _Collate(parts), recipe, checkpoints, device, "SBA's bridge"
    )
    weights = {name: tensor.detach().cpu() for name, tensor in linear.state_dict().items()}
    with atomic_write(folder / BRIDGE) as temporary:
        save_file(weights, temporary)
    shutil.rmtree(checkpoints, ignore_errors=True)
    return {"loss": loss}


class _Collate:
    def __init__(self, parts: Loaded) -> None:
        self.parts = parts

    def __call__(self, captions: list[str]) -> dict[str, Any]:
        tokens = self.parts.tokenizer(
            captions, add_special_tokens=False, truncation=True, max_length=MAX_TOKENS
        )["input_ids"]
        rows = [torch.tensor([*ids, self.parts.newline]) for ids in tokens]
        ids = nn.utils.rnn.pad_sequence(rows, batch_first=True)
        lengths = torch.tensor([len(row) for row in rows])
        mask = (torch.arange(ids.shape[1])[None] < lengths[:, None]).long()
        return {"vectors": self.parts.clip.project_texts(captions), "input_ids": ids, "attention_mask": mask}
