"""Training of SBA's bridge, with CLIP and the language model frozen (ICC paper, appendix A.7)."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from benchmark.core.launch import is_main_process
from benchmark.core.paths import atomic_write
from filters.icc.autoencoder import one_line
from filters.icc.sba import BRIDGE, FrozenParts, Loaded
from pairsift.studies.icc.building.training import IGNORED, Recipe, train


class BridgeTraining(nn.Module):
    """Wraps the bridge for the Trainer: only the linear layer is a parameter."""

    accepts_loss_kwargs = True  # makes the Trainer pass `num_items_in_batch`

    def __init__(self, parts: Loaded, linear: nn.Linear) -> None:
        super().__init__()
        self.linear = linear
        self._parts = (parts,)  # in a tuple, so that the frozen models are not registered as submodules

    def forward(
        self,
        vectors: Tensor,
        input_ids: Tensor,
        attention_mask: Tensor,
        labels: Tensor,
        num_items_in_batch: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """Return the cross-entropy of the caption's tokens and the end after them.

        Args:
            vectors: (n, d) CLIP text vectors.
            input_ids: (n, t) caption and end, padded on the right.
            attention_mask: (n, t), 0 on padding.
            labels: (n, t) input ids, `IGNORED` on padding.
            num_items_in_batch: divides the sum of the losses; by default the number of labels.
        """
        (parts,) = self._parts
        prefix = parts.prefix(self.linear(vectors))
        before = prefix.shape[:2]
        loss: Tensor = parts.llm(
            inputs_embeds=torch.cat([prefix, parts.embed_tokens(input_ids)], dim=1),
            attention_mask=torch.cat([attention_mask.new_ones(before), attention_mask], dim=1),
            labels=torch.cat([labels.new_full(before, IGNORED), labels], dim=1),
            num_items_in_batch=num_items_in_batch,
            use_cache=False,
        ).loss
        return {"loss": loss}


def train_bridge(
    captions: Sequence[str],
    frozen: FrozenParts,
    recipe: Recipe,
    max_tokens: int,
    folder: Path,
    device: torch.device,
) -> dict[str, float]:
    """Train the bridge on captions of at most `max_tokens` into `folder`; return its last loss, in nats per token."""
    parts = frozen.load(device)
    if recipe.checkpointing:
        _recompute_activations(parts.llm)
    width = parts.llm.get_input_embeddings().embedding_dim
    with torch.random.fork_rng():
        torch.manual_seed(recipe.seed)
        linear = nn.Linear(parts.clip.project_texts(["a"]).shape[1], width).to(device)
    lines = [one_line(caption) for caption in captions]
    checkpoints = folder / "checkpoints"
    collate = Collate(parts, max_tokens)
    loss = train(BridgeTraining(parts, linear), lines, collate, recipe, checkpoints, device, "SBA's bridge")
    if is_main_process():
        weights = {name: tensor.detach().cpu() for name, tensor in linear.state_dict().items()}
        with atomic_write(folder / BRIDGE) as temporary:
            save_file(weights, temporary)
        shutil.rmtree(checkpoints, ignore_errors=True)
    return {"loss": loss}


def _recompute_activations(llm: Any) -> None:
    """Turn on gradient checkpointing, which transformers applies only to layers in training mode.

    The modules in the layers stay in evaluation mode: the frozen model needs no dropout.
    """
    from transformers.modeling_layers import GradientCheckpointingLayer

    llm.gradient_checkpointing_enable({"use_reentrant": False})
    for module in llm.modules():
        if isinstance(module, GradientCheckpointingLayer):
            module.training = True


@dataclass
class Collate:
    """Makes batches of captions for `BridgeTraining`; None is a row without loss."""

    parts: Loaded
    max_tokens: int  # of a caption with its end; CLIP itself reads 77 tokens

    def __call__(self, captions: list[str | None]) -> dict[str, Tensor]:
        """Return the arguments of `BridgeTraining.forward`."""
        texts = [caption or "" for caption in captions]
        end = self.parts.end
        tokens = self.parts.tokenizer(
            texts, add_special_tokens=False, truncation=True, max_length=self.max_tokens - len(end)
        )["input_ids"]
        rows = [torch.tensor([*ids, *end]) for ids in tokens]
        ids = nn.utils.rnn.pad_sequence(rows, batch_first=True)
        lengths = torch.tensor([len(row) for row in rows])
        mask = torch.arange(ids.shape[1])[None] < lengths[:, None]
        counted = mask & torch.tensor([caption is not None for caption in captions])[:, None]
        return {
            "vectors": self.parts.clip.project_texts(texts),
            "input_ids": ids,
            "attention_mask": mask.long(),
            "labels": ids.masked_fill(~counted, IGNORED),
        }
