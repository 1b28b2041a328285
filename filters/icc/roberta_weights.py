"""The weights of a RoBERTa scorer, read without transformers' model: its import takes longer than scoring 10,000
captions on a CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmark.models.checkpoints import load_model, locate_checkpoint, read_weights

if TYPE_CHECKING:
    import torch

Shapes = dict[str, tuple[int, ...]]


def roberta_weights(checkpoint: str, config: Any) -> dict[str, torch.Tensor]:
    """Return the weights of a `RobertaForSequenceClassification` by name.

    Raises `UserError` if the file cannot be read or weights are missing.
    """
    file = locate_checkpoint(checkpoint) / "model.safetensors"
    weights = read_weights(file) if file.is_file() else {}
    shapes = _shapes(config)
    if any(name not in weights or weights[name].shape != shape for name, shape in shapes.items()):
        from transformers import AutoModelForSequenceClassification

        # Weights in other files or by former names are left to transformers, and so is what to say of missing ones.
        weights = load_model(AutoModelForSequenceClassification, checkpoint).state_dict()
    return {name: weights[name] for name in shapes}


def _shapes(config: Any) -> Shapes:
    """Return the shape of each weight."""
    width, intermediate = config.hidden_size, config.intermediate_size
    embeddings = "roberta.embeddings"
    shapes: Shapes = {
        f"{embeddings}.word_embeddings.weight": (config.vocab_size, width),
        f"{embeddings}.position_embeddings.weight": (config.max_position_embeddings, width),
        f"{embeddings}.token_type_embeddings.weight": (config.type_vocab_size, width),
        **_norm(embeddings, width),
        **_linear("classifier.dense", width, width),
        **_linear("classifier.out_proj", 1, width),
    }
    for layer in range(config.num_hidden_layers):
        name = f"roberta.encoder.layer.{layer}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            shapes |= _linear(f"{name}.attention.{part}", width, width)
        shapes |= _linear(f"{name}.intermediate.dense", intermediate, width)
        shapes |= _linear(f"{name}.output.dense", width, intermediate)
        shapes |= _norm(f"{name}.attention.output", width) | _norm(f"{name}.output", width)
    return shapes


def _linear(name: str, outputs: int, inputs: int) -> Shapes:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def _norm(name: str, width: int) -> Shapes:
    return {f"{name}.LayerNorm.{kind}": (width,) for kind in ("weight", "bias")}
