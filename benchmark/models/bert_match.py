"""BERTScore F1 of pairs of texts (Zhang et al. 2019): bert-score's matching, any encoder of the hub or a folder."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from benchmark.core.errors import UserError
from benchmark.models.checkpoints import locate_checkpoint, quiet_transformers

BATCH = 64


@dataclass(frozen=True)
class BertMatcher:
    """An encoder, cut after the layer whose vectors are compared, with its tokenizer."""

    encoder: Any
    tokenizer: Any
    device: torch.device

    def f1(self, candidates: Sequence[str], references: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the F1 of each candidate with its reference, shape (n,), at most 1; 0 where one is empty."""
        from bert_score.utils import bert_cos_score_idf

        pairs = [(c.strip(), r.strip()) for c, r in zip(candidates, references, strict=True)]
        scores = np.zeros(len(pairs), np.float32)
        # bert-score crashes on an empty text with transformers 5, so those never reach it.
        rows = [row for row, (candidate, reference) in enumerate(pairs) if candidate and reference]
        if not rows:
            return scores
        weights = defaultdict(
            lambda: 1.0, {self.tokenizer.cls_token_id: 0.0, self.tokenizer.sep_token_id: 0.0}
        )
        found = bert_cos_score_idf(
            self.encoder,
            [pairs[row][1] for row in rows],
            [pairs[row][0] for row in rows],
            self.tokenizer,
            weights,
            batch_size=BATCH,
            device=self.device,
        )
        scores[rows] = found[:, 2].float().cpu().numpy()
        return scores


def load_bert_matcher(model: str, num_layers: int, device: torch.device) -> BertMatcher:
    """Load `model` (hub name or folder) cut after `num_layers` layers.

    bert-score's own loader takes any path with "t5" in it for a T5, and needs a table for the layers.
    Raises `UserError` for a layer that the encoder does not have, or weights that it lacks.
    """
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    folder = locate_checkpoint(model)
    config = AutoConfig.from_pretrained(folder)
    if not 0 < num_layers <= config.num_hidden_layers:
        raise UserError(
            f"bertscore.num_layers={num_layers}, but {folder} has {config.num_hidden_layers} layers"
        )
    with quiet_transformers():  # it would list every weight of the layers that are cut off
        encoder, report = AutoModel.from_pretrained(
            folder, num_hidden_layers=num_layers, dtype=torch.float32, output_loading_info=True
        )
    missing = [key for key in report["missing_keys"] if not key.startswith("pooler.")]
    if missing:  # they are random now
        raise UserError(f"{folder} lacks {len(missing)} weights of its encoder, e.g. {min(missing)}")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    # A tokenizer saved without its length says 10^30, and a long caption then overruns the positions.
    # RoBERTa's first position is that after its padding token.
    first = config.pad_token_id + 1 if "roberta" in config.model_type else 0
    tokenizer.model_max_length = min(tokenizer.model_max_length, config.max_position_embeddings - first)
    return BertMatcher(encoder.eval().to(device), tokenizer, device)
