"""Captions by a text encoder: the mean over each caption's own tokens, whatever it is batched with."""

from pathlib import Path

import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from benchmark.core.batch import Batch
from filters.embeddings.sentence_features import SentenceFeatures
from tests.filters.checkpoints import roberta_scorer
from tests.pools import numbered_uids

CAPTIONS = ["a red ball on a green table", "", "a dog", "a red ball on a green table and another red ball"]
LIMIT = 8


def test_vectors_are_means_over_tokens(tmp_path: Path) -> None:
    folder = roberta_scorer(tmp_path / "roberta")
    features = SentenceFeatures(str(folder), max_tokens=LIMIT)
    features.setup(torch.device("cpu"))
    found = features.extract(Batch(numbered_uids(len(CAPTIONS)), CAPTIONS))["text"]
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    lengths = []
    for caption, vector in zip(CAPTIONS, found, strict=True):
        tokens = tokenizer(caption, truncation=True, max_length=LIMIT, return_tensors="pt")
        lengths.append(tokens["input_ids"].shape[1])
        with torch.inference_mode():
            mean = model(**tokens).last_hidden_state[0].mean(0)
        assert vector == pytest.approx((mean / mean.norm()).numpy(), abs=1e-5)
    assert max(lengths) == LIMIT > min(lengths)  # one is cut, others are padded
