"""BERTScore F1 of pairs of texts (Zhang et al. 2019): bert-score's matching with any encoder."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.core.devices import Device
from benchmark.core.errors import UserError
from benchmark.core.requirements import Requirement, look
from benchmark.models.checkpoints import (
    find_checkpoint,
    load_model,
    load_pretrained,
    locate_checkpoint,
    text_limit,
)

BATCH = 64


@dataclass(frozen=True)
class BertMatcher:
    """An encoder, truncated after the layer whose vectors are compared, and its tokenizer."""

    encoder: Any
    tokenizer: Any
    device: Device

    def f1(self, candidates: Sequence[str], references: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the F1 of each candidate with its reference, shape (n,), at most 1; 0 if either is empty."""
        from bert_score.utils import bert_cos_score_idf

        pairs = [(c.strip(), r.strip()) for c, r in zip(candidates, references, strict=True)]
        scores = np.zeros(len(pairs), np.float32)
        # bert-score crashes on an empty text with transformers 5.
        rows = [row for row, (candidate, reference) in enumerate(pairs) if candidate and reference]
        if not rows:
            return scores
        weights = defaultdict(
            lambda: 1.0, {self.tokenizer.cls_token_id: 0.0, self.tokenizer.sep_token_id: 0.0}
        )
        similarities = bert_cos_score_idf(
            self.encoder,
            [pairs[row][1] for row in rows],
            [pairs[row][0] for row in rows],
            self.tokenizer,
            weights,
            batch_size=BATCH,
            device=self.device,
        )
        scores[rows] = similarities[:, 2].float().cpu().numpy()
        return scores


def load_bert_matcher(model: str, num_layers: int, device: Device) -> BertMatcher:
    """Load the first `num_layers` layers of `model` (hub name or folder).

    bert-score's own loader treats any path with "t5" in it as a T5, and needs a table of layers.
    Raises `UserError` for more layers than the encoder has, or missing weights.
    """
    folder = locate_checkpoint(model)
    config = load_pretrained("AutoConfig", model)
    _check_layers(folder, num_layers, config.num_hidden_layers)
    encoder = load_model("AutoModel", model, ("pooler.",), num_hidden_layers=num_layers)
    tokenizer = load_pretrained("AutoTokenizer", model)
    # A tokenizer saved without its maximum length reports 10^30, and a long caption then exceeds the positions.
    limit = text_limit(tokenizer, encoder, f"checkpoint {model}")
    tokenizer.model_max_length = min(tokenizer.model_max_length, limit)
    return BertMatcher(encoder.eval().to(device), tokenizer, device)


def bert_requirement(model: str, num_layers: int) -> Requirement:
    """Return whether `model` is on this machine and has so many layers, or how large its download is."""

    def locate() -> Path:
        folder = find_checkpoint(model)
        try:  # not transformers' own reader, whose import takes seconds
            config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UserError(f"checkpoint {folder} has no readable config.json ({error})") from None
        if "num_hidden_layers" in config:  # some have another name for it
            _check_layers(folder, num_layers, config["num_hidden_layers"])
        return folder

    return look(f"encoder {Path(model).name}", locate)


def _check_layers(folder: Path, num_layers: int, layers: int) -> None:
    if not 0 < num_layers <= layers:
        raise UserError(
            f"models.bertscore.num_layers={num_layers} must be from 1 to {layers}, the number of layers of {folder}"
        )
